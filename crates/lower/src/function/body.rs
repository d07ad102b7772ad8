//! Walking a function's body: declarations, labels, instructions.

use crate::abi::Convention;
use crate::chapters::stack::moves_stack;
use crate::error::{LowerError, Lowered, invalid, unsupported};
use crate::function::FnLower;
use crate::function::operands::reg_type_of;
use crate::function::scope::{Binding, FrameVar, ParamVar, PtxReg};
use crate::module::context::ModuleCx;
use crate::{abi, dispatch};
use oriole_ori::{Attributes, Block, Function, FunctionKind, Guard, Inst, Operand, RegType, SourceLoc};
use oriole_ptx::ast::{
    self, FunctionDirective, Instruction, Name, RegisterDecl, Space, Statement, TargetList, Variable,
};
use smallvec::SmallVec;

/// Lowers one function. `ast` is the module that it stands in: the user's or one of the library's.
pub(crate) fn lower_function<'a>(
    module: &mut ModuleCx<'a>,
    ast: &'a ast::Module,
    function: &'a ast::Function,
    kind: FunctionKind,
    shared_bytes: u32,
) -> Result<Function, Vec<LowerError>> {
    let mut cx = FnLower::new(module, ast, function, kind);
    cx.func.attributes.shared_bytes = shared_bytes;
    let mut errors = Vec::new();
    if let Err(error) = cx.begin(function) {
        return Err(vec![error]);
    }
    if let Some(body) = &function.body {
        cx.lower_block(body, &mut errors);
    }
    if let Err(error) = cx.finish() {
        errors.push(error);
    }
    if errors.is_empty() { Ok(cx.func) } else { Err(errors) }
}

impl<'a> FnLower<'_, 'a> {
    /// Everything before the body: parameters, attributes, the descriptor of global memory.
    fn begin(&mut self, function: &'a ast::Function) -> Lowered {
        let entry = self.new_block()?;
        self.switch_to(entry);
        self.scopes.enter();
        let shared_bytes = self.func.attributes.shared_bytes;
        self.func.attributes = Attributes { shared_bytes, ..attributes_of(function) };
        if let Some(body) = &function.body {
            self.outgoing_bytes = self.outgoing_area(body)?;
            self.func.frame.local_bytes = self.outgoing_bytes;
            self.func.frame.align = 16;
            let mut moves = false;
            crate::module::names::instructions(body, &mut |instruction| moves |= moves_stack(instruction));
            self.func.frame.dynamic = moves;
        }
        if self.is_entry() {
            self.load_descriptor()?;
            self.bind_kernel_params(function)
        } else {
            let convention = Convention::of(&function.rets, &function.params)?;
            self.bind_device_params(function, &convention)
        }
    }

    /// Lowers the statements of a scope; errors are gathered and the rest goes on.
    pub(super) fn lower_block(&mut self, block: &'a ast::Block, errors: &mut Vec<LowerError>) {
        self.scopes.enter();
        errors.extend(self.declare(block).err());
        for statement in &block.statements {
            match statement {
                Statement::Label(name) => errors.extend(self.start_label(*name).err()),
                Statement::Instruction(instruction) => errors.extend(self.lower_instruction(instruction).err()),
                Statement::Block(inner) => self.lower_block(inner, errors),
                _ => {}
            }
        }
        self.scopes.leave();
    }

    /// Declares everything of a scope before its code: labels may be used before they stand.
    fn declare(&mut self, block: &'a ast::Block) -> Lowered {
        for statement in &block.statements {
            match statement {
                Statement::Label(name) => {
                    let block = self.new_block()?;
                    self.bind(*name, Binding::Label(block))?;
                }
                Statement::Registers(registers) => self.declare_registers(registers)?,
                Statement::Variable(variable) => self.declare_variable(variable)?,
                Statement::BranchTargets(list) | Statement::CallTargets(list) => self.declare_targets(list)?,
                Statement::Prototype(prototype) => {
                    self.prototypes.push(prototype);
                    self.bind(prototype.label, Binding::Prototype(self.prototypes.len() - 1))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Binds a name in the innermost scope.
    pub(super) fn bind(&mut self, name: Name, binding: Binding) -> Lowered {
        if self.scopes.bind(name.sym, binding) {
            Ok(())
        } else {
            Err(invalid(name.span, format!("'{}' is declared twice", self.text(name))))
        }
    }

    fn declare_targets(&mut self, list: &TargetList) -> Lowered {
        self.bind(list.label, Binding::Targets(list.targets.clone()))
    }

    fn declare_registers(&mut self, registers: &RegisterDecl) -> Lowered {
        let elements = registers.vector.map_or(1, |v| v.len());
        self.has_vectors |= elements > 1;
        for name in &registers.names {
            match name.count {
                Some(count) => {
                    let stem = self.text(name.name);
                    self.scopes.declare_range(stem, count, registers.ty, elements);
                }
                None => self.bind_register(name.name, registers.ty, elements)?,
            }
        }
        Ok(())
    }

    /// Binds one register with fresh Ori registers, one for each element.
    pub(super) fn bind_register(&mut self, name: Name, ty: ast::ScalarType, elements: usize) -> Lowered {
        self.has_vectors |= elements > 1;
        let made = (0..elements).map(|_| self.temp_of(reg_type_of(ty))).collect::<Lowered<_>>()?;
        self.bind(name, Binding::Reg(PtxReg { ty, elements: made }))
    }

    fn declare_variable(&mut self, variable: &'a Variable) -> Lowered {
        let Some(name) = variable.name else { return Ok(()) };
        let binding = match variable.space {
            Space::Local => Binding::Frame(self.frame_variable(variable)?),
            Space::Param => Binding::Param(self.call_parameter(variable)?),
            Space::Shared | Space::SharedCta | Space::Global | Space::Const => {
                let key = self.module.local_variable(name);
                Binding::Static(key.ok_or_else(|| unsupported(variable.span, "a variable in a library function"))?)
            }
            space => return Err(unsupported(variable.span, format!("a variable in .{space} space"))),
        };
        self.bind(name, binding)
    }

    /// Room in the frame for a `.local` variable.
    fn frame_variable(&mut self, variable: &Variable) -> Lowered<FrameVar> {
        let size = variable.size().and_then(|size| u32::try_from(size).ok());
        let frame = &mut self.func.frame;
        let align = variable.alignment();
        let offset = frame.local_bytes.checked_next_multiple_of(align);
        let end = offset.zip(size).and_then(|(offset, size)| offset.checked_add(size));
        let limit = self.module.arch().sm().max_local_per_thread;
        match (offset, end) {
            (Some(offset), Some(end)) if end <= limit => {
                frame.local_bytes = end;
                frame.align = frame.align.max(align);
                Ok(FrameVar { offset, element: variable.ty.bytes() })
            }
            _ => Err(invalid(variable.span, format!("local variables need more than {limit} bytes"))),
        }
    }

    /// Registers for a `.param` variable of a call.
    fn call_parameter(&mut self, variable: &Variable) -> Lowered<ParamVar> {
        let (size, _) = abi::extent(variable)?;
        let words = self.new_words(size)?;
        if self.is_reachable() {
            // The program need not write all of it.
            for word in &words.words {
                self.append(Inst::undef(Operand::reg(*word)))?;
            }
        }
        Ok(words)
    }

    fn start_label(&mut self, name: Name) -> Lowered {
        let block = self.label(name)?;
        self.jump(block);
        self.switch_to(block);
        Ok(())
    }

    /// The block of a label.
    pub(crate) fn label(&mut self, name: Name) -> Lowered<Block> {
        match self.binding(name)? {
            Some(Binding::Label(block)) => Ok(*block),
            _ => Err(invalid(name.span, format!("there is no label '{}' here", self.text(name)))),
        }
    }

    // ---- instructions ----

    fn lower_instruction(&mut self, instruction: &'a Instruction) -> Lowered {
        if self.block.is_none() {
            return Ok(());
        }
        if !self.has_vectors {
            return self.lower_single(instruction);
        }
        let mut failed = Ok(());
        let spread = instruction.with_vectors_spread(|name| {
            let len = self.vector_len(name);
            len.unwrap_or_else(|error| {
                failed = Err(error);
                None
            })
        });
        failed?;
        self.lower_single(&spread)
    }

    /// Lowers an instruction all of whose registers are single.
    fn lower_single(&mut self, instruction: &Instruction) -> Lowered {
        self.span = instruction.span;
        self.loc = self.location();
        self.first_temporary = usize::MAX;
        self.guard = self.guard_of(instruction)?;
        self.make_registers(instruction)?;
        self.first_temporary = self.func.vregs.len();
        let lowered = dispatch::lower(self, instruction);
        let copied = self.copy_back();
        self.guard = None;
        if let Some(after) = self.after_guard.take() {
            self.jump(after);
            self.switch_to(after);
        }
        lowered.and(copied)
    }

    fn location(&mut self) -> Option<oriole_ori::LocId> {
        if !std::ptr::eq(self.ast, self.module.ast) {
            return self.loc;
        }
        let line = self.module.line_of(self.span)?;
        Some(self.func.source_loc(SourceLoc { file: 0, line, column: 0 }))
    }

    fn guard_of(&mut self, instruction: &Instruction) -> Lowered<Option<Guard>> {
        let Some(guard) = instruction.guard else { return Ok(None) };
        let pred = self.pred(&ast::Operand::Name(guard.pred))?;
        Ok(pred.as_reg().map(|pred| Guard { pred, negated: guard.negated }))
    }

    /// Makes the registers that the instruction names first, so that they are no temporaries of it.
    fn make_registers(&mut self, instruction: &Instruction) -> Lowered {
        let mut names = SmallVec::<[Name; 8]>::new();
        crate::module::names::of_instruction(instruction, &mut |name| names.push(name));
        names.into_iter().try_for_each(|name| self.binding(name).map(|_| ()))
    }

    /// Copies results that could not be written in place.
    fn copy_back(&mut self) -> Lowered {
        for (reg, temp) in std::mem::take(&mut self.copies_back) {
            match self.func.vregs[reg].reg_type {
                RegType::P => self.mov_pred(Operand::reg(reg), Operand::reg(temp))?,
                RegType::R => self.mov(Operand::reg(reg), Operand::reg(temp))?,
                _ => {
                    for k in 0..self.func.vregs[reg].components {
                        self.mov(Operand::comp(reg, k), Operand::comp(temp, k))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The directives of a function.
fn attributes_of(function: &ast::Function) -> Attributes {
    let mut attributes = Attributes::default();
    for directive in &function.directives {
        match directive {
            FunctionDirective::MaxNTid(threads) => attributes.maxntid = Some(*threads),
            FunctionDirective::ReqNTid(threads) => attributes.reqntid = Some(*threads),
            FunctionDirective::MinNCtaPerSm(blocks) => attributes.minnctapersm = Some(*blocks),
            FunctionDirective::MaxNReg(registers) => attributes.maxnreg = Some(*registers),
            FunctionDirective::ReqNCtaPerCluster(blocks) => attributes.cluster = Some(*blocks),
            FunctionDirective::MaxClusterRank(rank) => attributes.max_cluster_rank = Some(*rank),
            FunctionDirective::ExplicitCluster => attributes.explicit_cluster = true,
            FunctionDirective::NoReturn => attributes.noreturn = true,
            FunctionDirective::MaxNCtaPerSm(_)
            | FunctionDirective::BlocksAreClusters
            | FunctionDirective::AbiPreserve(_)
            | FunctionDirective::AbiPreserveControl(_)
            | FunctionDirective::Pragma(_) => {}
        }
    }
    attributes
}
