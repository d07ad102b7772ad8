//! Operands and instructions.

use cranelift_entity::entity_impl;
use cranelift_entity::packed_option::PackedOption;
use oriole_ptx::ast::{ScalarType, Selector, SpecialReg, Sym};
use smallvec::SmallVec;

use super::form::FormId;
use super::reg::{PhysReg, Reg, VReg};
use crate::ir::{InstId, MetaId};
use oriole_checkpoint::checkpoint;

/// A call of a function, by index into [`super::Function::calls`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(u32);
entity_impl!(CallId, "call");

/// Inline assembly, by index into [`super::Function::asms`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AsmId(u32);
entity_impl!(AsmId, "asm");

/// What an address is relative to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Base {
    /// A register.
    Reg(Reg),
    /// A variable or parameter.
    Symbol(Sym),
    /// Nothing: the offset is the address.
    Absolute,
}

/// `[base+offset, rest…]`
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Address {
    /// What the offset is added to.
    pub base: Base,
    /// Bytes.
    pub offset: i64,
    /// What follows the first comma: a sampler, coordinates.
    pub rest: Box<[Operand]>,
}

/// One operand.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub enum Operand {
    /// A register.
    Reg(Reg),
    /// `!%p`
    Not(VReg),
    /// An integer.
    Imm(i64),
    /// The bits of an f32.
    F32(u32),
    /// The bits of an f64.
    F64(u64),
    /// A part of a special register: `%tid.x`.
    Part(Reg, Selector),
    /// The address of a variable, function or parameter, plus bytes.
    Symbol(Sym, i64),
    /// `[…]`
    Address(Box<Address>),
    /// `{a, b}`
    Vector(Box<[Operand]>),
    /// `a|b`
    Pair(Box<[Operand; 2]>),
    /// `_`
    Sink,
}

/// What an instruction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Opcode {
    /// A copy of the second operand, a register, to the first: by the copy opcodes of the class table.
    Copy,
    /// A PTX instruction.
    Form(FormId),
    /// A call with its parameters: the results of [`Call::results`], then what [`Call::args`] stores,
    /// and behind them the function pointer of an indirect call.
    Call(CallId),
    /// Inline assembly: results, then inputs.
    Asm(AsmId),
}

/// One instruction: the first [`Inst::defs`] operands are written, the others read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inst {
    /// What it is.
    pub opcode: Opcode,
    /// How many of the operands, from the first, are results. Vectors and pairs count once.
    pub defs: u16,
    /// `@%p` or, with true, `@!%p`.
    pub guard: Option<(VReg, bool)>,
    /// Results and operands, in PTX order.
    pub operands: SmallVec<[Operand; 4]>,
    /// `!dbg`
    pub loc: PackedOption<MetaId>,
    /// The instruction of the IR that it was selected for, for messages.
    pub source: PackedOption<InstId>,
}

/// A `.param` variable of a call, or a parameter of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParamDecl {
    /// Bytes of an aggregate; `None` for a scalar of type [`ParamDecl::ty`].
    pub bytes: Option<u64>,
    /// The type of a scalar; `b8` for aggregates.
    pub ty: ScalarType,
    /// Alignment of an aggregate, in bytes.
    pub align: u32,
}

/// One `st.param` or `ld.param` of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParamMove {
    /// Which parameter.
    pub param: u32,
    /// Where in it, in bytes.
    pub offset: u64,
    /// `st.param.v2.b32` and the like.
    pub form: FormId,
}

/// How a call is made.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The function; `None` when the last operand is its address.
    pub callee: Option<Sym>,
    /// The parameters.
    pub params: Vec<ParamDecl>,
    /// The `.param` that returns the result.
    pub ret: Option<ParamDecl>,
    /// How each result is loaded, in the order of the operands.
    pub results: Vec<ParamMove>,
    /// How each argument is stored, in the order of the operands.
    pub args: Vec<ParamMove>,
    /// The callee never returns.
    pub no_return: bool,
    /// Arguments beyond those of the declaration go to one more parameter.
    pub varargs: bool,
}

/// A piece of inline assembly.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AsmPiece {
    /// Text as it is.
    Text(Box<str>),
    /// Operand `n` of the instruction.
    Operand(u32),
    /// `${:uid}`: a number that no other place has.
    Unique,
}

/// Inline assembly, its text taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asm {
    /// The pieces in order.
    pub pieces: Vec<AsmPiece>,
    /// Inputs that live in the register of a result: `(result, input)` as numbers of operands. Before the text
    /// the result's register gets the input's value, by a copy unless both are one register.
    pub ties: Vec<(u32, u32)>,
    /// Has effects beyond its results.
    pub side_effects: bool,
    /// May not be moved across control flow.
    pub convergent: bool,
    /// Reads or writes memory (`~{memory}`, or the call says so).
    pub memory: bool,
}

impl Operand {
    /// Calls `f` with each register that the operand names.
    pub fn for_each_reg(&self, f: &mut impl FnMut(Reg)) {
        match self {
            Operand::Reg(reg) | Operand::Part(reg, _) => f(*reg),
            Operand::Not(reg) => f(Reg::Virtual(*reg)),
            Operand::Address(address) => {
                if let Base::Reg(reg) = address.base {
                    f(reg);
                }
                address.rest.iter().for_each(|item| item.for_each_reg(f));
            }
            Operand::Vector(items) => items.iter().for_each(|item| item.for_each_reg(f)),
            Operand::Pair(items) => items.iter().for_each(|item| item.for_each_reg(f)),
            Operand::Imm(_) | Operand::F32(_) | Operand::F64(_) | Operand::Symbol(..) | Operand::Sink => {}
        }
    }

    /// Calls `f` with each virtual register that the operand names, to change it.
    pub fn for_each_vreg_mut(&mut self, f: &mut impl FnMut(&mut VReg)) {
        match self {
            Operand::Reg(Reg::Virtual(reg)) | Operand::Part(Reg::Virtual(reg), _) | Operand::Not(reg) => f(reg),
            Operand::Address(address) => {
                if let Base::Reg(Reg::Virtual(reg)) = &mut address.base {
                    f(reg);
                }
                address.rest.iter_mut().for_each(|item| item.for_each_vreg_mut(f));
            }
            Operand::Vector(items) => items.iter_mut().for_each(|item| item.for_each_vreg_mut(f)),
            Operand::Pair(items) => items.iter_mut().for_each(|item| item.for_each_vreg_mut(f)),
            _ => {}
        }
    }

    /// True for special registers that do not keep their value while a thread runs: clocks, counters,
    /// and where the thread happens to be (the PTX manual calls `%warpid` and `%smid` volatile).
    #[must_use]
    pub fn varies_by_itself(&self) -> bool {
        use SpecialReg::*;
        let (Operand::Reg(Reg::Physical(PhysReg::Special(reg)))
        | Operand::Part(Reg::Physical(PhysReg::Special(reg)), _)) = self
        else {
            return false;
        };
        matches!(
            reg,
            Clock
                | ClockHi
                | Clock64
                | Globaltimer
                | GlobaltimerLo
                | GlobaltimerHi
                | Warpid
                | Smid
                | Pm0
                | Pm1
                | Pm2
                | Pm3
                | Pm4
                | Pm5
                | Pm6
                | Pm7
                | Pm0_64
                | Pm1_64
                | Pm2_64
                | Pm3_64
                | Pm4_64
                | Pm5_64
                | Pm6_64
                | Pm7_64
        )
    }

    /// The virtual register, when the operand is just one.
    #[must_use]
    pub fn vreg(&self) -> Option<VReg> {
        match self {
            Operand::Reg(reg) => reg.vreg(),
            _ => None,
        }
    }

    /// `[base+offset]`
    #[must_use]
    pub fn address(base: Base, offset: i64) -> Operand {
        Operand::Address(Box::new(Address { base, offset, rest: Box::default() }))
    }
}

impl From<VReg> for Operand {
    fn from(reg: VReg) -> Operand {
        Operand::Reg(Reg::Virtual(reg))
    }
}

impl Inst {
    /// The results.
    #[must_use]
    pub fn defs(&self) -> &[Operand] {
        &self.operands[..usize::from(self.defs)]
    }

    /// What is read, but for the guard.
    #[must_use]
    pub fn uses(&self) -> &[Operand] {
        &self.operands[usize::from(self.defs)..]
    }

    /// Calls `f` with each virtual register that is written.
    pub fn for_each_def(&self, mut f: impl FnMut(VReg)) {
        for operand in self.defs() {
            operand.for_each_reg(&mut |reg| reg.vreg().into_iter().for_each(&mut f));
        }
    }

    /// Calls `f` with each virtual register that is read: the guard's too, and what a guarded
    /// instruction writes, since it keeps its old value where the guard is false.
    pub fn for_each_use(&self, mut f: impl FnMut(VReg)) {
        checkpoint(1);
        if let Some((guard, _)) = self.guard {
            f(guard);
            self.for_each_def(&mut f);
        }
        for operand in self.uses() {
            operand.for_each_reg(&mut |reg| reg.vreg().into_iter().for_each(&mut f));
        }
    }

    /// Calls `f` with each virtual register that is named, to change it.
    pub fn for_each_vreg_mut(&mut self, mut f: impl FnMut(&mut VReg)) {
        if let Some((guard, _)) = &mut self.guard {
            f(guard);
        }
        self.operands.iter_mut().for_each(|operand| operand.for_each_vreg_mut(&mut f));
    }

    /// The source and destination of a copy.
    #[must_use]
    pub fn as_copy(&self) -> Option<(VReg, VReg)> {
        match (self.opcode, self.operands.as_slice(), self.guard) {
            (Opcode::Copy, [to, from], None) => Some((from.vreg()?, to.vreg()?)),
            _ => None,
        }
    }
}
