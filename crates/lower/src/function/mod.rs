//! Lowering of one function: the context that the chapters work in.

mod body;
mod emit;
mod finish;
mod operands;
mod ops;
pub(crate) mod params;
mod scope;
mod sources;
mod vectors;

pub(crate) use emit::guard_of;
pub(crate) use operands::{Wide, WideDst};
pub(crate) use ops::lut;
pub(crate) use scope::{Binding, ParamVar};
pub(crate) use sources::{Place, word};

use crate::abi::{Convention, RETURN_ADDRESS};
use crate::error::{LowerError, Lowered, invalid};
use crate::module::ModuleCx;
use oriole_isa::{Arch, Field, Opcode, SmDescription};
use oriole_ori::{Attributes, Block, BuildError, Function, FunctionKind, Guard, LocId, Operand, RegType, VReg};
use oriole_ptx::ast::{self, FunctionDirective, Name, Span};
use scope::Scopes;

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

/// What a device function does at `ret`.
#[derive(Debug, Default)]
pub(crate) struct Returning<'a> {
    /// Copy of the return address, where calls overwrite the register.
    address: Option<VReg>,
    /// The results, by place.
    results: Vec<(&'a ast::Variable, crate::abi::Passed)>,
}

/// The function being lowered. Chapters read operands, ask for destinations and emit instructions
/// through it; see the methods of [`operands`], [`sources`], [`emit`] and [`ops`].
pub(crate) struct FnLower<'m, 'a> {
    /// The module: symbols, variables, the target.
    pub(crate) module: &'m mut ModuleCx<'a>,
    /// The PTX module that the function stands in.
    pub(crate) ast: &'a ast::Module,
    /// The result.
    pub(crate) func: Function,
    /// Where instructions go; `None` in unreachable code.
    block: Option<Block>,
    scopes: Scopes,
    /// The function has vector registers.
    has_vectors: bool,
    /// Call prototypes of the body.
    prototypes: Vec<&'a ast::Prototype>,
    /// The guard of the PTX instruction at hand, for its lowering to apply.
    guard: Option<Guard>,
    /// Block after the instruction, where its guard became a branch.
    after_guard: Option<Block>,
    /// Registers with this number or above are temporaries of the instruction at hand.
    first_temporary: usize,
    /// Results that are copied to their registers after the instruction: a PTX register that is also
    /// a source must not change half-way.
    copies_back: Vec<(VReg, VReg)>,
    /// The instruction at hand.
    span: Span,
    loc: Option<LocId>,
    returning: Returning<'a>,
    /// Bytes at the bottom of the frame for arguments of calls.
    outgoing_bytes: u32,
    /// Address that the argument area of this function's caller starts at.
    incoming_stack: Option<VReg>,
    /// The shared window of the block in its cluster (byte 3 of addresses), made at first use.
    shared_window: Option<VReg>,
    /// The condition-code register, once an instruction has named it.
    pub(crate) carry: Option<VReg>,
}

impl<'m, 'a> FnLower<'m, 'a> {
    fn new(module: &'m mut ModuleCx<'a>, ast: &'a ast::Module, function: &ast::Function, kind: FunctionKind) -> Self {
        FnLower {
            func: Function::new(ast.text(function.name), kind),
            module,
            ast,
            block: None,
            scopes: Scopes::default(),
            has_vectors: false,
            prototypes: Vec::new(),
            guard: None,
            after_guard: None,
            first_temporary: 0,
            copies_back: Vec::new(),
            span: function.span,
            loc: None,
            returning: Returning::default(),
            outgoing_bytes: 0,
            incoming_stack: None,
            shared_window: None,
            carry: None,
        }
    }

    /// The target.
    pub(crate) fn arch(&self) -> Arch {
        self.module.arch()
    }

    /// What the target's multiprocessor offers.
    pub(crate) fn sm(&self) -> &'static SmDescription {
        self.arch().sm()
    }

    /// Whether the target has the instruction.
    pub(crate) fn has(&self, opcode: Opcode) -> bool {
        opcode.exists_on(self.arch())
    }

    /// Whether the target has the instruction with this value of the field.
    pub(crate) fn has_with(&self, opcode: Opcode, field: Field, value: u8) -> bool {
        opcode.takes(field, value, self.arch())
    }

    /// Where the instruction at hand stands.
    pub(crate) fn span(&self) -> Span {
        self.span
    }

    /// The spelling of a name.
    pub(crate) fn text(&self, name: Name) -> &'a str {
        self.ast.text(name)
    }

    /// True in kernels, false in device functions.
    pub(crate) fn is_entry(&self) -> bool {
        self.func.kind == FunctionKind::Entry
    }

    /// An error of building Ori, at the instruction at hand.
    pub(crate) fn built<T>(&self, result: Result<T, BuildError>) -> Lowered<T> {
        result.map_err(|error| invalid(self.span, error.to_string()))
    }

    /// A fresh register that only the instruction at hand uses.
    pub(crate) fn temp_of(&mut self, reg_type: RegType) -> Lowered<VReg> {
        let made = self.func.new_vreg(reg_type);
        self.built(made)
    }

    /// A fresh 32-bit register.
    pub(crate) fn temp(&mut self) -> Lowered<Operand> {
        Ok(Operand::reg(self.temp_of(RegType::R)?))
    }

    /// A fresh 64-bit register.
    pub(crate) fn temp64(&mut self) -> Lowered<VReg> {
        self.temp_of(RegType::Pair)
    }

    /// A fresh predicate.
    pub(crate) fn temp_pred(&mut self) -> Lowered<Operand> {
        Ok(Operand::reg(self.temp_of(RegType::P)?))
    }

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
            crate::module::instructions(body, &mut |instruction| moves |= crate::chapters::moves_stack(instruction));
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

    /// The register of the block's shared window, once made.
    pub(crate) fn shared_window_register(&self) -> Option<VReg> {
        self.shared_window
    }

    /// Keeps the register of the block's shared window.
    pub(crate) fn set_shared_window(&mut self, window: VReg) {
        self.shared_window = Some(window);
    }

    /// A call prototype of the body.
    pub(crate) fn prototype(&self, index: usize) -> Option<&'a ast::Prototype> {
        self.prototypes.get(index).copied()
    }

    /// The pair that holds the return address on entry and at RET.
    pub(crate) fn return_address(&mut self) -> Lowered<VReg> {
        let made = self.func.fixed_vreg(RegType::Pair, RETURN_ADDRESS);
        self.built(made)
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
