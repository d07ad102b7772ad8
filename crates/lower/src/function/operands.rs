//! The operands of instructions: the one at an index, and the types that they are handed around in.

use crate::error::{Lowered, invalid};
use oriole_ori::{Operand, VReg};
use oriole_ptx::ast;

/// A 64-bit source: its halves, and the register pair if it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wide {
    /// Lower 32 bits.
    pub(crate) lo: Operand,
    /// Upper 32 bits.
    pub(crate) hi: Operand,
    /// The pair that holds both.
    pub(crate) pair: Option<VReg>,
}

impl Wide {
    /// A register pair.
    pub(crate) fn of_pair(pair: VReg) -> Wide {
        Wide { lo: Operand::lo(pair), hi: Operand::hi(pair), pair: Some(pair) }
    }

    /// A constant.
    pub(crate) fn of_bits(bits: u64) -> Wide {
        Wide { lo: Operand::imm(bits as u32), hi: Operand::imm((bits >> 32) as u32), pair: None }
    }

    /// Two 32-bit operands.
    pub(crate) fn of_halves(lo: Operand, hi: Operand) -> Wide {
        Wide { lo, hi, pair: None }
    }

    /// The value, if it is a constant.
    pub(crate) fn bits(self) -> Option<u64> {
        let word = |half: Operand| if half.is_zero() { Some(0) } else { half.as_imm() };
        Some(u64::from(word(self.lo)?) | u64::from(word(self.hi)?) << 32)
    }
}

/// A 64-bit destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WideDst {
    /// The pair to write.
    pub(crate) pair: VReg,
    /// Its lower half.
    pub(crate) lo: Operand,
    /// Its upper half.
    pub(crate) hi: Operand,
}

impl WideDst {
    /// A register pair.
    pub(crate) fn of(pair: VReg) -> WideDst {
        WideDst { pair, lo: Operand::lo(pair), hi: Operand::hi(pair) }
    }

    /// The whole pair as an operand.
    pub(crate) fn whole(self) -> Operand {
        Operand::reg(self.pair)
    }
}

/// A 32-bit constant; zero is RZ.
pub(crate) fn word(bits: u32) -> Operand {
    if bits == 0 { Operand::rz() } else { Operand::imm(bits) }
}

/// The operand at `index` of the instruction.
pub(crate) fn operand(instruction: &ast::Instruction, index: usize) -> Lowered<&ast::Operand> {
    let missing = || invalid(instruction.span, format!("the instruction needs at least {} operands", index + 1));
    instruction.operands.get(index).ok_or_else(missing)
}
