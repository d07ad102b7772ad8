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
    inst.guard().is_some() || tested_predicates(inst).any(|at| conditional(&inst.operands[at]))
}

/// The places of the predicate operands that the instruction reads, its guard aside.
pub fn tested_predicates(inst: &Inst) -> impl Iterator<Item = usize> + use<> {
    let tested = inst.opcode.predicates() & !inst.opcode.destinations();
    (0..inst.operands.len().min(32)).filter(move |at| tested >> at & 1 != 0)
}
