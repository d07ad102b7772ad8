//! The function being lowered: the builder that appends its instructions, and rooms of free functions on it.

pub(crate) mod bindings;
pub(crate) mod descriptor;
pub(crate) mod destinations;
pub(crate) mod emit;
pub(crate) mod finish;
pub(crate) mod frame;
pub(crate) mod generic;
pub(crate) mod handle;
pub(crate) mod inlined;
pub(crate) mod operands;
pub(crate) mod ops;
pub(crate) mod param_words;
pub(crate) mod params;
pub(crate) mod place;
pub(crate) mod recursion;
pub(crate) mod scope;
pub(crate) mod shared;
pub(crate) mod sources;
pub(crate) mod special;
pub(crate) mod uniform;
pub(crate) mod vectors;
pub(crate) mod word_ops;

use crate::error::{Lowered, invalid};
use crate::function::scope::{NameTable, Scopes};
use crate::module::context::ModuleCx;
use crate::module::meetings::Meeting;
use oriole_isa::{Arch, Opcode, Setting, SmDescription};
use oriole_ori::{Block, BuildError, Function, FunctionKind, Guard, LocId, Operand, RegType, VReg};
use oriole_ptx::ast::{self, Name, Span};

/// What a device function does at `ret`.
#[derive(Debug, Default)]
pub(crate) struct Returning<'a> {
    /// First register of the pair that holds the return address on entry and at RET.
    register: u16,
    /// Copy of the return address, where calls overwrite the register.
    address: Option<VReg>,
    /// The results, by place.
    results: Vec<(&'a ast::Variable, crate::abi::Passed)>,
}

/// The builder of the function being lowered: makes registers and blocks, appends instructions ([`emit`]), keeps
/// the guard and the place of the PTX instruction at hand. What reads operands ([`sources`]), asks for destinations
/// ([`destinations`]) or emits common instructions ([`ops`]) are functions on it.
pub(crate) struct FnLower<'m, 'a> {
    /// The module: symbols, variables, the target.
    pub(crate) module: &'m mut ModuleCx<'a>,
    /// The PTX module that the function stands in.
    pub(crate) ast: &'a ast::Module,
    /// The result.
    pub(crate) func: Function,
    /// Where instructions go; `None` in unreachable code.
    block: Option<Block>,
    /// What the names of the function stand for.
    pub(crate) scopes: Scopes,
    /// The function has vector registers.
    pub(crate) has_vectors: bool,
    /// Call prototypes of the body.
    pub(crate) prototypes: Vec<&'a ast::Prototype>,
    /// The guard of the PTX instruction at hand, for its lowering to apply.
    pub(crate) guard: Option<Guard>,
    /// Block after the instruction, where its guard became a branch.
    after_guard: Option<Block>,
    /// Registers with this number or above are temporaries of the instruction at hand.
    pub(crate) first_temporary: usize,
    /// Results that are copied to their registers after the instruction: a PTX register that is also
    /// a source must not change half-way.
    copies_back: Vec<destinations::CopyBack>,
    /// Where the instruction at hand stands.
    pub(crate) span: Span,
    /// Its source line, for the instructions that it becomes.
    pub(crate) loc: Option<LocId>,
    /// The function's number in the plan; none of those of the library.
    number: Option<usize>,
    /// What `ret` does.
    returning: Returning<'a>,
    /// Functions whose code stands in place of a call, the innermost last.
    inlined: Vec<inlined::Inlined<'a>>,
    /// Where the next variables of the frame go.
    pub(crate) room: frame::Room,
    /// Address that the argument area of this function's caller starts at.
    incoming_stack: Option<VReg>,
    /// The shared window of the block in its cluster (byte 3 of addresses), made at first use.
    shared_window: Option<VReg>,
    /// The condition-code register, once an instruction has named it.
    pub(crate) carry: Option<VReg>,
}

impl<'m, 'a> FnLower<'m, 'a> {
    /// An empty function without blocks.
    pub(crate) fn new(
        module: &'m mut ModuleCx<'a>,
        (ast, number): (&'a ast::Module, Option<usize>),
        function: &ast::Function,
        kind: FunctionKind,
    ) -> Self {
        let names =
            if std::ptr::eq(ast, module.ast) { std::mem::take(&mut module.names) } else { NameTable::default() };
        FnLower {
            func: Function::new(ast.text(function.name), kind),
            module,
            ast,
            block: None,
            scopes: Scopes::new(names, ast.symbols.len()),
            has_vectors: false,
            prototypes: Vec::new(),
            guard: None,
            after_guard: None,
            first_temporary: 0,
            copies_back: Vec::new(),
            span: function.span,
            loc: None,
            number,
            returning: Returning::default(),
            inlined: Vec::new(),
            room: frame::Room::default(),
            incoming_stack: None,
            shared_window: None,
            carry: None,
        }
    }

    /// Whether lanes at the instruction may meet others of the same mask at another one. The library's exchanges stand where all meet.
    pub(crate) fn meeting(&self, instruction: &ast::Instruction) -> Option<Meeting> {
        if std::ptr::eq(self.ast, self.module.ast) { self.module.meetings.of(instruction) } else { None }
    }

    /// The function that was made.
    pub(crate) fn finish(self) -> Function {
        let names = self.scopes.into_names();
        if std::ptr::eq(self.ast, self.module.ast) {
            self.module.names = names;
        }
        self.func
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

    /// Whether the target has the instruction with this setting.
    pub(crate) fn has_with(&self, opcode: Opcode, setting: Setting) -> bool {
        opcode.takes(setting, self.arch())
    }

    /// The spelling of a name.
    pub(crate) fn text(&self, name: Name) -> &'a str {
        self.ast.text(name)
    }

    /// True in kernels, false in device functions.
    pub(crate) fn is_entry(&self) -> bool {
        self.func.kind() == FunctionKind::Entry
    }

    /// The code at hand is of a kernel, not of a function that stands in place of a call.
    pub(crate) fn is_kernel_code(&self) -> bool {
        self.is_entry() && self.inlined.is_empty()
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

    /// The pair from the fixed register `first` on.
    pub(crate) fn fixed_pair(&mut self, first: u16) -> Lowered<VReg> {
        let made = self.func.fixed_vreg(RegType::Pair, first);
        self.built(made)
    }

    /// The fixed register `number` as an operand.
    pub(crate) fn fixed(&mut self, number: u16) -> Lowered<Operand> {
        let made = self.func.fixed_vreg(RegType::R, number);
        Ok(Operand::reg(self.built(made)?))
    }
}
