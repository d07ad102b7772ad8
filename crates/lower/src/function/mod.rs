//! Lowering of one function: the context that the chapters work in.

pub(crate) mod body;
pub(crate) mod emit;
pub(crate) mod finish;
pub(crate) mod generic;
pub(crate) mod handle;
pub(crate) mod operands;
pub(crate) mod ops;
pub(crate) mod params;
pub(crate) mod place;
pub(crate) mod scope;
pub(crate) mod shared;
pub(crate) mod sources;
pub(crate) mod special;
pub(crate) mod uniform;
pub(crate) mod vectors;
pub(crate) mod word_ops;

use crate::abi::RETURN_ADDRESS;
use crate::error::{Lowered, invalid};
use crate::function::scope::Scopes;
use crate::module::context::ModuleCx;
use oriole_isa::{Arch, Field, Opcode, SmDescription};
use oriole_ori::{Block, BuildError, Function, FunctionKind, Guard, LocId, Operand, RegType, VReg};
use oriole_ptx::ast::{self, Name, Span};

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
    pub(super) fn new(
        module: &'m mut ModuleCx<'a>,
        ast: &'a ast::Module,
        function: &ast::Function,
        kind: FunctionKind,
    ) -> Self {
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
