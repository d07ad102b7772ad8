//! Operands resolved for fast access: sources and destinations of compiled instructions.
//!
//! The executors of an instruction turn its operands into [`Src`], [`PredSrc`] and [`Dst`] once,
//! when the instruction is compiled, and only fetch and store through them when it runs.

use crate::lanes::{Lanes, Mask, WARP, WideLanes, map};
use crate::state::{RZ, State, URZ};
use oriole_isa::{Inst, Operand, OperandFlags, RegFile, Role, Value};
use std::mem::MaybeUninit;

/// The operand of `inst` with that role; [`Operand::NONE`] if its signature has none.
pub(crate) fn operand(inst: &Inst, role: Role) -> Operand {
    let position = inst.opcode.position(role);
    position.and_then(|at| inst.operands.get(at)).copied().unwrap_or(Operand::NONE)
}

/// Room for the lanes of a source that is the same in all of them.
pub(crate) type Buffer = MaybeUninit<Lanes>;

/// Where a source's bits come from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Register(usize),
    Uniform(usize),
    Immediate(u64),
    Constant { bank: usize, offset: usize },
    Bindless { ureg: usize, offset: usize },
}

/// A register, uniform register, immediate or constant-bank source, with its flags.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Src {
    origin: Origin,
    flags: OperandFlags,
}

impl Src {
    /// The constant zero.
    pub(crate) const ZERO: Src = Src { origin: Origin::Immediate(0), flags: OperandFlags::empty() };

    /// The operand of `inst` with that role. A missing operand, and one that is no data source,
    /// reads as zero.
    pub(crate) fn of(inst: &Inst, role: Role) -> Src {
        let operand = operand(inst, role);
        let origin = match operand.value {
            Value::Reg(RegFile::R, n) => Origin::Register(usize::from(n)),
            Value::Reg(RegFile::UR, n) => Origin::Uniform(usize::from(n)),
            Value::Imm(bits) => Origin::Immediate(bits),
            Value::Const { bank, offset } => Origin::Constant { bank: usize::from(bank), offset: usize::from(offset) },
            Value::ConstBindless { ureg, offset } => {
                Origin::Bindless { ureg: usize::from(ureg), offset: usize::from(offset) }
            }
            Value::Label(address) => Origin::Immediate(address as u64),
            Value::None | Value::Reg(..) | Value::Special(_) => Origin::Immediate(0),
        };
        Src { origin, flags: operand.flags }
    }

    /// The source for an instruction that reads 64 bits of it: an immediate of 32 bits is their high
    /// word, as with doubles.
    pub(crate) fn with_high_immediate(self) -> Src {
        match self.origin {
            Origin::Immediate(bits) if bits >> 32 == 0 => Src { origin: Origin::Immediate(bits << 32), ..self },
            _ => self,
        }
    }

    /// The flag `-` stands at the operand.
    pub(crate) fn negated(&self) -> bool {
        self.flags.contains(OperandFlags::NEG)
    }

    /// The flag `|x|` stands at the operand.
    pub(crate) fn absolute(&self) -> bool {
        self.flags.contains(OperandFlags::ABS)
    }

    /// The flag `~` stands at the operand.
    pub(crate) fn inverted(&self) -> bool {
        self.flags.contains(OperandFlags::NOT)
    }

    /// It is an immediate (a missing operand too).
    pub(crate) fn is_immediate(&self) -> bool {
        matches!(self.origin, Origin::Immediate(_))
    }

    /// The bits if this is an immediate without flags.
    pub(crate) fn immediate(&self) -> Option<u64> {
        match self.origin {
            Origin::Immediate(bits) if self.flags.without(OperandFlags::REUSE).bits() == 0 => Some(bits),
            _ => None,
        }
    }

    /// The register number if this is an `R` register (`RZ` is 255).
    pub(crate) fn register(&self) -> Option<usize> {
        match self.origin {
            Origin::Register(n) => Some(n),
            _ => None,
        }
    }

    /// Raw 32 bits of each lane, flags not applied.
    #[inline(always)]
    pub(crate) fn bits(&self, state: &State) -> Lanes {
        match self.origin {
            Origin::Register(n) => *state.r(n),
            _ => [self.scalar(state); WARP],
        }
    }

    /// Raw 32 bits of each lane without a copy, flags not applied; `buffer` is where they are put if
    /// there is no register that holds them.
    #[inline(always)]
    pub(crate) fn lanes<'s>(&self, state: &'s State, buffer: &'s mut Buffer) -> &'s Lanes {
        match self.origin {
            Origin::Register(n) => state.r(n),
            _ => buffer.write([self.scalar(state); WARP]),
        }
    }

    /// Raw 64 bits of each lane, flags not applied: a register pair, 8 bytes of a constant bank, or
    /// the immediate as it stands (integer immediates are zero-extended).
    #[inline(always)]
    pub(crate) fn wide_bits(&self, state: &State) -> WideLanes {
        match self.origin {
            Origin::Register(n) => state.r_wide(n),
            _ => [self.wide_scalar(state); WARP],
        }
    }

    /// Raw 32 bits of a source that is the same in all lanes (the first active lane's for a vector
    /// register), flags not applied.
    #[inline]
    pub(crate) fn scalar(&self, state: &State) -> u32 {
        match self.origin {
            Origin::Register(n) => state.lane(n, state.first_active()),
            Origin::Uniform(n) => state.ur(n),
            Origin::Immediate(bits) => bits as u32,
            Origin::Constant { bank, offset } => state.constants.word(bank, offset),
            Origin::Bindless { ureg, offset } => state.constants.bindless_word(state.ur_wide(ureg), offset),
        }
    }

    /// Raw 64 bits of a source that is the same in all lanes; see [`Src::wide_bits`].
    #[inline]
    pub(crate) fn wide_scalar(&self, state: &State) -> u64 {
        match self.origin {
            Origin::Register(n) => state.lane_wide(n, state.first_active()),
            Origin::Uniform(n) => state.ur_wide(n),
            Origin::Immediate(bits) => bits,
            Origin::Constant { bank, offset } => {
                u64::from(state.constants.word(bank, offset)) | u64::from(state.constants.word(bank, offset + 4)) << 32
            }
            Origin::Bindless { ureg, offset } => {
                let handle = state.ur_wide(ureg);
                u64::from(state.constants.bindless_word(handle, offset))
                    | u64::from(state.constants.bindless_word(handle, offset + 4)) << 32
            }
        }
    }

    /// 32-bit integers: `|x|`, then `-x` in two's complement, then `~x`.
    #[inline(always)]
    pub(crate) fn int(&self, state: &State) -> Lanes {
        let bits = self.bits(state);
        if self.flags.without(OperandFlags::REUSE).bits() == 0 { bits } else { map(&bits, |v| self.apply_int(v)) }
    }

    /// 32-bit integer of a uniform source, flags applied as in [`Src::int`].
    #[inline]
    pub(crate) fn int_scalar(&self, state: &State) -> u32 {
        self.apply_int(self.scalar(state))
    }

    fn apply_int(&self, value: u32) -> u32 {
        let value = if self.absolute() { (value as i32).unsigned_abs() } else { value };
        let value = if self.negated() { value.wrapping_neg() } else { value };
        if self.inverted() { !value } else { value }
    }

    /// Single-precision bits with `|x|` and `-x` applied to the sign bit.
    #[inline(always)]
    pub(crate) fn f32_bits(&self, state: &State) -> Lanes {
        let (keep, flip) = self.sign(31);
        if (keep, flip) == (u64::MAX, 0) {
            return self.bits(state);
        }
        map(&self.bits(state), |v| (v & keep as u32) ^ flip as u32)
    }

    /// Double-precision bits with `|x|` and `-x` applied to the sign bit.
    #[inline(always)]
    pub(crate) fn f64_bits(&self, state: &State) -> WideLanes {
        let (keep, flip) = self.sign(63);
        map(&self.wide_bits(state), |v| (v & keep) ^ flip)
    }

    /// Masks for a sign bit: and with the first, then exclusive-or with the second.
    pub(crate) fn sign(&self, bit: u32) -> (u64, u64) {
        let sign = 1u64 << bit;
        (if self.absolute() { !sign } else { u64::MAX }, if self.negated() { sign } else { 0 })
    }
}

/// A predicate source, per thread or uniform, with its `!`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PredSrc {
    number: usize,
    uniform: bool,
    negated: bool,
}

impl PredSrc {
    /// The operand of `inst` with that role; a missing operand reads as true.
    pub(crate) fn of(inst: &Inst, role: Role) -> PredSrc {
        let operand = operand(inst, role);
        let (uniform, number) = match operand.value {
            Value::Reg(RegFile::UP, n) => (true, usize::from(n)),
            Value::Reg(RegFile::P, n) => (false, usize::from(n)),
            _ => (false, crate::state::PT),
        };
        PredSrc { number, uniform, negated: operand.flags.contains(OperandFlags::NOT) }
    }

    /// The lanes where it is true, its `!` applied; a uniform one is true in all lanes or none.
    #[inline]
    pub(crate) fn mask(&self, state: &State) -> Mask {
        let value = match self.uniform {
            true => Mask::from(state.up(self.number)).wrapping_neg(),
            false => state.p(self.number),
        };
        if self.negated { !value } else { value }
    }
}

/// A destination register of any file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dst {
    /// `R<n>`, or the first of a group.
    Register(usize),
    /// `UR<n>`, or the first of a group.
    Uniform(usize),
    /// `P<n>`.
    Predicate(usize),
    /// `UP<n>`.
    UniformPredicate(usize),
    /// The form has no such destination, or it is not a register; writes are dropped.
    Nothing,
}

impl Dst {
    /// The operand of `inst` with that role.
    pub(crate) fn of(inst: &Inst, role: Role) -> Dst {
        match operand(inst, role).value {
            Value::Reg(RegFile::R, n) => Dst::Register(usize::from(n)),
            Value::Reg(RegFile::UR, n) => Dst::Uniform(usize::from(n)),
            Value::Reg(RegFile::P, n) => Dst::Predicate(usize::from(n)),
            Value::Reg(RegFile::UP, n) => Dst::UniformPredicate(usize::from(n)),
            _ => Dst::Nothing,
        }
    }

    /// The register `n` behind the first of a group.
    pub(crate) fn following(self, n: usize) -> Dst {
        match self {
            // A group behind the zero register is the zero register.
            Dst::Register(first) if first < RZ => Dst::Register(first + n),
            Dst::Uniform(first) if first < URZ => Dst::Uniform(first + n),
            other => other,
        }
    }

    /// Write 32 bits in the active lanes; to a uniform register, the first active lane's.
    #[inline(always)]
    pub(crate) fn set(&self, state: &mut State, value: &Lanes) {
        match *self {
            Dst::Register(n) => state.set_r(n, value),
            Dst::Uniform(n) => state.set_ur(n, value[state.first_active()]),
            _ => {}
        }
    }

    /// Write 64 bits to a register pair in the active lanes; see [`Dst::set`].
    #[inline(always)]
    pub(crate) fn set_wide(&self, state: &mut State, value: &WideLanes) {
        match *self {
            Dst::Register(n) => state.set_r_wide(n, value),
            Dst::Uniform(n) => state.set_ur_wide(n, value[state.first_active()]),
            _ => {}
        }
    }

    /// Write one 32-bit value to a uniform register, or to all active lanes of a vector one.
    #[inline]
    pub(crate) fn set_scalar(&self, state: &mut State, value: u32) {
        match *self {
            Dst::Uniform(n) => state.set_ur(n, value),
            _ => self.set(state, &[value; WARP]),
        }
    }

    /// Write a predicate: the bits of the active lanes; to a uniform one, the first active lane's.
    #[inline]
    pub(crate) fn set_mask(&self, state: &mut State, value: Mask) {
        match *self {
            Dst::Predicate(n) => state.set_p(n, value),
            Dst::UniformPredicate(n) => state.set_up(n, value >> state.first_active() & 1 != 0),
            _ => {}
        }
    }
}
