//! Bodies of functions: declarations, blocks, instructions, operands.

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use fixedbitset::FixedBitSet;
use oriole_ptx::ast::{
    self, AddressBase, Block, Guard, Imm, Instruction, Modifier, Name, RegisterDecl, RegisterName, ScalarType, Space,
    Span, Statement, Sym, TargetList, Word,
};

use super::emitter::Emitter;
use super::error::Error;
use super::names;
use crate::ir::{MetaId, SymbolId};
use crate::machine::reg::{BadRegisterClass, EncodedReg};
use crate::machine::{
    Address, Base, BlockId, Form, FormId, Function, Inst, Opcode, Operand, PhysReg, Reg, RegClass, Terminator, VReg,
};
use oriole_checkpoint::checkpoint;

/// A body under construction.
pub(super) struct Body<'e, 'a> {
    pub(super) emitter: &'e mut Emitter<'a>,
    pub(super) function: &'e Function,
    /// The symbol of the function, for messages.
    pub(super) id: SymbolId,
    /// The place of the function among the module's, part of the names of labels.
    pub(super) index: usize,
    /// The names of the registers that are used.
    registers: PrimaryMap<VReg, Option<Sym>>,
    /// The labels of the blocks that are jumped to.
    labels: SecondaryMap<BlockId, Option<Sym>>,
    pub(super) out: Vec<Statement>,
    tables: usize,
    /// The `!dbg` of the instruction before.
    pub(super) location: Option<MetaId>,
}

impl<'a> Emitter<'a> {
    /// The body of a function; `index` is its place among the functions.
    pub(super) fn body(&mut self, id: SymbolId, function: &Function, index: usize) -> Result<Block, Error> {
        let used = Used::of(function);
        let (registers, counts) = self.name_registers(function, &used)?;
        let labels = self.name_labels(function, index);
        let mut body =
            Body { emitter: self, function, id, index, registers, labels, out: Vec::new(), tables: 0, location: None };
        body.frame(&used);
        body.declare_registers(&counts);
        body.demoted_variables()?;
        body.first_line();
        body.frame_pointers(&used);
        for (at, &block) in function.layout.iter().enumerate() {
            body.block(block, function.layout.get(at + 1).copied())?;
        }
        Ok(Block { statements: body.out, span: Span::default() })
    }

    /// The names of the registers of a function, and how many there are of each class.
    #[expect(clippy::type_complexity, reason = "two results of one loop")]
    fn name_registers(
        &mut self,
        function: &Function,
        used: &Used,
    ) -> Result<(PrimaryMap<VReg, Option<Sym>>, [u32; RegClass::ALL.len()]), BadRegisterClass> {
        let mut counts = [0; RegClass::ALL.len()];
        let mut names = PrimaryMap::with_capacity(function.regs.len());
        for (reg, number) in function.number_by_class(|reg| used.registers.contains(reg.index())).iter() {
            let Some(number) = *number else {
                names.push(None);
                continue;
            };
            let encoded = EncodedReg::virtual_reg(function.regs[reg], number)?;
            let class = encoded.class().ok_or(BadRegisterClass)?;
            counts[class as usize] = number + 1;
            names.push(Some(self.register(class, encoded)));
        }
        Ok((names, counts))
    }

    /// The name of a register; those of one class are made in order.
    fn register(&mut self, class: RegClass, encoded: EncodedReg) -> Sym {
        let made = &mut self.registers[class as usize];
        if let Some(&sym) = made.get(encoded.index() as usize) {
            return sym;
        }
        let sym = self.symbols.intern(&encoded.to_string());
        if made.len() == encoded.index() as usize {
            made.push(sym);
        }
        sym
    }

    /// Labels for the blocks that control does not just fall into.
    fn name_labels(&mut self, function: &Function, index: usize) -> SecondaryMap<BlockId, Option<Sym>> {
        let mut labels = SecondaryMap::<BlockId, Option<Sym>>::new();
        let mut numbers = SecondaryMap::<BlockId, usize>::new();
        for (at, &block) in function.layout.iter().enumerate() {
            numbers[block] = at;
        }
        for (at, &block) in function.layout.iter().enumerate() {
            let next = function.layout.get(at + 1).copied();
            jumps(&function.blocks[block].terminator, next, |to| {
                if labels[to].is_none() {
                    let name = format!("$L__BB{index}_{}", numbers[to]);
                    labels[to] = Some(names::own(&mut self.symbols, &self.taken, name));
                }
            });
        }
        labels
    }
}

/// Calls `f` with the blocks that a terminator jumps to when `next` follows it.
fn jumps(terminator: &Terminator, next: Option<BlockId>, mut f: impl FnMut(BlockId)) {
    let table = matches!(terminator, Terminator::Table { .. });
    terminator.for_each_successor(|to| {
        if table || Some(to) != next {
            f(to);
        }
    });
}

/// What a function uses.
struct Used {
    registers: FixedBitSet,
    generic_frame: bool,
    local_frame: bool,
}

impl Used {
    fn of(function: &Function) -> Used {
        let registers = FixedBitSet::with_capacity(function.regs.len());
        let mut used = Used { registers, generic_frame: false, local_frame: false };
        for &block in &function.layout {
            let block = &function.blocks[block];
            for inst in &block.insts {
                inst.operands.iter().for_each(|operand| operand.for_each_reg(&mut |reg| used.reg(reg)));
                inst.guard.into_iter().for_each(|(guard, _)| used.reg(Reg::Virtual(guard)));
            }
            block.terminator.used().into_iter().for_each(|reg| used.reg(Reg::Virtual(reg)));
        }
        used
    }

    fn reg(&mut self, reg: Reg) {
        match reg {
            Reg::Virtual(reg) => self.registers.insert(reg.index()),
            Reg::Physical(PhysReg::Sp) => self.generic_frame = true,
            Reg::Physical(PhysReg::Spl) => self.local_frame = true,
            Reg::Physical(PhysReg::Special(_)) => {}
        }
    }
}

impl Body<'_, '_> {
    /// Declares the variables that only this function names.
    pub(super) fn demoted_variables(&mut self) -> Result<(), Error> {
        let ir = self.emitter.ir;
        for id in self.emitter.demoted.remove(&(self.index as u32)).unwrap_or_default() {
            if let Some(variable) = ir.symbols[id].variable() {
                let variable = self.emitter.variable(id, variable)?;
                self.out.push(Statement::Variable(Box::new(variable)));
            }
        }
        Ok(())
    }

    /// The frame and the registers that point to it.
    fn frame(&mut self, used: &Used) {
        let frame = self.function.frame;
        if frame.bytes == 0 && !used.generic_frame && !used.local_frame {
            return;
        }
        let name = self.emitter.own_name(self.depot());
        self.out.push(Statement::Variable(Box::new(ast::Variable {
            space: Space::Local,
            align: Some(frame.align.max(1)),
            dims: vec![Some(frame.bytes.max(1))],
            ..super::variable::bytes(name)
        })));
        let ty = self.pointer_type();
        for register in ["%SP", "%SPL"] {
            let name = self.emitter.name_of(register);
            self.declare(ty, RegisterName { name, count: None });
        }
    }

    /// The name that the frame has unless a variable has it.
    fn depot(&self) -> String {
        format!("__local_depot{}", self.index)
    }

    /// `%SPL` and `%SP`, where they are read.
    fn frame_pointers(&mut self, used: &Used) {
        if !used.generic_frame && !used.local_frame {
            return;
        }
        let ty = self.pointer_type();
        let local = self.emitter.name_of("%SPL");
        let depot = self.emitter.own_name(self.depot());
        self.push(ast::Opcode::Mov, &[Modifier::Type(ty)], [ast::Operand::Name(local), ast::Operand::Name(depot)]);
        if used.generic_frame {
            let generic = self.emitter.name_of("%SP");
            let ty = if ty == ScalarType::B64 { ScalarType::U64 } else { ScalarType::U32 };
            let modifiers = [Modifier::Space(Space::Local), Modifier::Type(ty)];
            let local = self.emitter.name(local.sym);
            self.push(ast::Opcode::Cvta, &modifiers, [ast::Operand::Name(generic), ast::Operand::Name(local)]);
        }
    }

    fn pointer_type(&self) -> ScalarType {
        if self.emitter.ir.layout.default_pointer_bits == 32 { ScalarType::B32 } else { ScalarType::B64 }
    }

    /// One line for each class, in order of their tags.
    fn declare_registers(&mut self, counts: &[u32; RegClass::ALL.len()]) {
        for (class, &count) in RegClass::ALL.into_iter().zip(counts) {
            if count > 0 {
                let name = self.emitter.name_of(class.info().prefix);
                self.declare(declared_type(class), RegisterName { name, count: Some(count) });
            }
        }
    }

    fn declare(&mut self, ty: ScalarType, register: RegisterName) {
        let span = register.name.span;
        self.out.push(Statement::Registers(RegisterDecl { ty, vector: None, names: vec![register], span }));
    }

    fn block(&mut self, block: BlockId, next: Option<BlockId>) -> Result<(), Error> {
        if let Some(label) = self.labels[block] {
            let label = self.emitter.name(label);
            self.out.push(Statement::Label(label));
        }
        let content = &self.function.blocks[block];
        if !content.phis.is_empty() {
            return Err(self.internal("a phi at emission"));
        }
        for inst in &content.insts {
            checkpoint(8);
            self.line(inst.loc.expand());
            let id = self.id;
            self.emitter.made_for(inst.source.map(|source| (id, source)));
            self.inst(inst)?;
        }
        self.emitter.made_for(None);
        self.terminator(&content.terminator, next)
    }

    fn inst(&mut self, inst: &Inst) -> Result<(), Error> {
        match inst.opcode {
            Opcode::Copy => self.copy(inst),
            Opcode::Form(form) => {
                let operands = self.operands(&inst.operands)?;
                let instruction = self.instruction(form, operands);
                self.guarded(inst, instruction)
            }
            Opcode::Call(call) => self.call(inst, call),
            Opcode::Asm(asm) => self.inline_asm(inst, asm),
        }
    }

    /// A copy, by the copy opcodes of the class table: within the class of the source, or of its
    /// bits to another class of the same width.
    fn copy(&mut self, inst: &Inst) -> Result<(), Error> {
        let [Operand::Reg(Reg::Virtual(to)), Operand::Reg(Reg::Virtual(from))] = inst.operands.as_slice() else {
            return Err(self.internal("a copy of something that is no register"));
        };
        let (source, target) = (self.function.regs[*from], self.function.regs[*to]);
        let Some(ty) = copy_type(source.copy_opcode(target)).filter(|_| source.info().width == target.info().width)
        else {
            let (from, to) = (source.info().name, target.info().name);
            return Err(self.internal(format!("a copy from {from} to {to}")));
        };
        let operands = [self.operand(&inst.operands[0])?, self.operand(&inst.operands[1])?];
        let instruction = self.make(ast::Opcode::Mov, &[Modifier::Type(ty)], operands);
        self.guarded(inst, instruction)
    }

    /// An instruction of a form.
    pub(super) fn instruction(
        &mut self,
        form: FormId,
        operands: impl IntoIterator<Item = ast::Operand>,
    ) -> Instruction {
        let Form { opcode, modifiers, .. } = &self.emitter.forms[form];
        let (opcode, modifiers) = (*opcode, modifiers.clone());
        self.make(opcode, &modifiers, operands)
    }

    /// An instruction without guard.
    pub(super) fn make(
        &mut self,
        opcode: ast::Opcode,
        modifiers: &[Modifier],
        operands: impl IntoIterator<Item = ast::Operand>,
    ) -> Instruction {
        let span = self.emitter.place();
        let (modifiers, operands) = (modifiers.iter().copied().collect(), operands.into_iter().collect());
        Instruction { guard: None, opcode, modifiers, operands, span, opcode_span: span }
    }

    /// Puts an instruction under the guard of `inst`.
    pub(super) fn guarded(&mut self, inst: &Inst, mut instruction: Instruction) -> Result<(), Error> {
        if let Some((pred, negated)) = inst.guard {
            instruction.guard = Some(Guard { pred: self.vreg(pred)?, negated });
        }
        self.out.push(Statement::Instruction(Box::new(instruction)));
        Ok(())
    }

    fn push<const N: usize>(&mut self, opcode: ast::Opcode, modifiers: &[Modifier], operands: [ast::Operand; N]) {
        let instruction = self.make(opcode, modifiers, operands);
        self.out.push(Statement::Instruction(Box::new(instruction)));
    }

    fn terminator(&mut self, terminator: &Terminator, next: Option<BlockId>) -> Result<(), Error> {
        match terminator {
            Terminator::Goto(to) => self.goto(*to, next),
            Terminator::Branch { then, otherwise, .. } if then == otherwise => self.goto(*then, next),
            Terminator::Branch { pred, negated, then, otherwise } => {
                let (to, negated, rest) = match Some(*then) == next {
                    true => (*otherwise, !negated, *then),
                    false => (*then, *negated, *otherwise),
                };
                let pred = self.vreg(*pred)?;
                let label = self.label(to)?;
                let mut branch = self.make(ast::Opcode::Bra, &[], [ast::Operand::Name(label)]);
                branch.guard = Some(Guard { pred, negated });
                self.out.push(Statement::Instruction(Box::new(branch)));
                self.goto(rest, next)
            }
            Terminator::Table { index, targets } => self.table(*index, targets),
            Terminator::Ret => {
                self.push(ast::Opcode::Ret, &[], []);
                Ok(())
            }
            Terminator::Exit | Terminator::Trap => {
                if *terminator == Terminator::Trap {
                    self.push(ast::Opcode::Trap, &[], []);
                }
                self.push(ast::Opcode::Exit, &[], []);
                Ok(())
            }
        }
    }

    fn goto(&mut self, to: BlockId, next: Option<BlockId>) -> Result<(), Error> {
        if Some(to) != next {
            let label = self.label(to)?;
            self.push(ast::Opcode::Bra, &[Modifier::Word(Word::Uni)], [ast::Operand::Name(label)]);
        }
        Ok(())
    }

    fn table(&mut self, index: VReg, targets: &[BlockId]) -> Result<(), Error> {
        let list = self.emitter.own_name(format!("$L_brx_{}_{}", self.index, self.tables));
        self.tables += 1;
        let targets = targets.iter().map(|&to| self.label(to)).collect::<Result<_, _>>()?;
        self.out.push(Statement::BranchTargets(TargetList { label: list, targets }));
        let operands = [ast::Operand::Name(self.vreg(index)?), ast::Operand::Name(self.emitter.name(list.sym))];
        self.push(ast::Opcode::Brx, &[Modifier::Word(Word::Idx)], operands);
        Ok(())
    }

    fn label(&mut self, block: BlockId) -> Result<Name, Error> {
        match self.labels[block] {
            Some(sym) => Ok(self.emitter.name(sym)),
            None => Err(self.internal(format!("{block} is not among the blocks"))),
        }
    }

    fn vreg(&mut self, reg: VReg) -> Result<Name, Error> {
        match self.registers.get(reg).copied().flatten() {
            Some(sym) => Ok(self.emitter.name(sym)),
            None => Err(self.internal(format!("{reg} is no register of the function"))),
        }
    }

    /// A register by its name; special ones go their own way.
    fn register(&mut self, reg: Reg) -> Result<ast::Operand, Error> {
        Ok(match reg {
            Reg::Virtual(reg) => ast::Operand::Name(self.vreg(reg)?),
            Reg::Physical(PhysReg::Sp) => ast::Operand::Name(self.emitter.name_of("%SP")),
            Reg::Physical(PhysReg::Spl) => ast::Operand::Name(self.emitter.name_of("%SPL")),
            Reg::Physical(PhysReg::Special(reg)) => {
                ast::Operand::Special { reg, part: None, span: self.emitter.place() }
            }
        })
    }

    pub(super) fn operand(&mut self, operand: &Operand) -> Result<ast::Operand, Error> {
        Ok(match operand {
            Operand::Reg(reg) => self.register(*reg)?,
            Operand::Not(reg) => {
                let inner = ast::Operand::Name(self.vreg(*reg)?);
                ast::Operand::Not(Box::new(inner), self.emitter.here())
            }
            Operand::Imm(value) => ast::Operand::Imm(Imm::S64(*value), self.emitter.here()),
            Operand::F32(bits) => ast::Operand::Imm(Imm::F32(*bits), self.emitter.here()),
            Operand::F64(bits) => ast::Operand::Imm(Imm::F64(*bits), self.emitter.here()),
            Operand::Part(reg, part) => match self.register(*reg)? {
                ast::Operand::Special { reg, span, .. } => ast::Operand::Special { reg, part: Some(*part), span },
                ast::Operand::Name(name) => ast::Operand::Part(name, *part),
                other => other,
            },
            Operand::Symbol(sym, 0) => ast::Operand::Name(self.emitter.name(*sym)),
            Operand::Symbol(sym, offset) => {
                ast::Operand::Offset { name: self.emitter.name(*sym), offset: *offset, element: false }
            }
            Operand::Address(address) => ast::Operand::Address(Box::new(self.address(address)?)),
            Operand::Vector(items) => {
                let span = self.emitter.here();
                ast::Operand::Vector(self.operands(items)?.into(), span)
            }
            Operand::Pair(items) => ast::Operand::Pair(Box::new([self.operand(&items[0])?, self.operand(&items[1])?])),
            Operand::Sink => ast::Operand::Sink(self.emitter.here()),
        })
    }

    fn operands(&mut self, operands: &[Operand]) -> Result<Vec<ast::Operand>, Error> {
        operands.iter().map(|operand| self.operand(operand)).collect()
    }

    fn address(&mut self, address: &Address) -> Result<ast::Address, Error> {
        let span = self.emitter.here();
        let base = match address.base {
            Base::Absolute => AddressBase::Absolute,
            Base::Symbol(sym) => AddressBase::Name(self.emitter.name(sym)),
            Base::Reg(reg) => match self.register(reg)? {
                ast::Operand::Name(name) => AddressBase::Name(name),
                _ => return Err(self.internal("a special register as an address")),
            },
        };
        let rest = self.operands(&address.rest)?;
        Ok(ast::Address { base, offset: address.offset, rest, span })
    }

    pub(super) fn internal(&self, what: impl Into<String>) -> Error {
        Error::Internal { symbol: self.emitter.ir.symbols[self.id].name.to_string(), what: what.into() }
    }
}

/// The type that registers of a class are declared with, from the class table.
fn declared_type(class: RegClass) -> ScalarType {
    let named = Modifier::from_name(class.info().ptx_type.trim_start_matches('.'));
    match named {
        Some(Modifier::Type(ty)) => ty,
        // No class that registers can be encoded for has another.
        _ => ScalarType::B128,
    }
}

/// The type of the `mov` that a copy opcode of the class table stands for.
fn copy_type(opcode: u32) -> Option<ScalarType> {
    Some(match opcode {
        39424 => ScalarType::Pred,
        39296 | 30528 | 10688 => ScalarType::B16,
        39552 | 10816 | 10880 => ScalarType::B32,
        39680 | 11008 | 11072 => ScalarType::B64,
        30656 => ScalarType::F32,
        30784 => ScalarType::F64,
        39168 => ScalarType::B128,
        _ => return None,
    })
}
