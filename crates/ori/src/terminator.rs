//! Which instructions end blocks.

use crate::inst::Inst;
use crate::operand::{Operand, OperandKind};
pub use oriole_isa::Exit;

/// How the instruction leaves its block, if it executes.
#[inline]
pub fn exit_of(inst: &Inst) -> Exit {
    inst.opcode.exit()
}

/// Whether it ends a block (guarded or not).
pub fn is_terminator(inst: &Inst) -> bool {
    exit_of(inst) != Exit::No
}

/// Whether control may go on after it: it is guarded, or has a predicate operand other than PT.
pub fn may_fall_through(inst: &Inst) -> bool {
    let conditional = |operand: &Operand| match operand.kind() {
        OperandKind::Pt | OperandKind::Upt => operand.is_not(),
        OperandKind::Reg(..) | OperandKind::Phys { .. } => true,
        _ => false,
    };
    let tested = inst.opcode.predicates() & !inst.opcode.destinations();
    let mut operands = inst.operands.iter().enumerate();
    inst.guard().is_some() || operands.any(|(i, operand)| i < 32 && tested >> i & 1 != 0 && conditional(operand))
}
