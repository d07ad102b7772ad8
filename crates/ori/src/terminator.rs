//! Which instructions end blocks.

use crate::inst::Inst;
use crate::operand::{Operand, OperandKind};
use oriole_isa::{Effects, Kinds};

/// How an instruction leaves its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It does not.
    No,
    /// To its block operands.
    Branch,
    /// Through a table in memory or an address in a register, to the block's listed successors.
    Indirect,
    /// Out of the function.
    Leave,
}

/// Mnemonics that end a block, and how.
const EXITS: [(&str, Exit); 9] = [
    ("BRA", Exit::Branch),
    ("JMP", Exit::Branch),
    ("BRX", Exit::Indirect),
    ("BRXU", Exit::Indirect),
    ("JMX", Exit::Indirect),
    ("JMXU", Exit::Indirect),
    ("EXIT", Exit::Leave),
    ("RET", Exit::Leave),
    ("KILL", Exit::Leave),
];

/// How the instruction leaves its block, if it executes.
pub fn exit_of(inst: &Inst) -> Exit {
    if !inst.opcode.info().effects.contains(Effects::BRANCH) {
        return Exit::No;
    }
    let name = inst.opcode.name();
    EXITS.iter().find(|(mnemonic, _)| *mnemonic == name).map_or(Exit::No, |(_, exit)| *exit)
}

/// Whether it ends a block (guarded or not).
pub fn is_terminator(inst: &Inst) -> bool {
    exit_of(inst) != Exit::No
}

/// Whether control may go on after it: it is guarded, or has a predicate operand other than PT.
pub fn may_fall_through(inst: &Inst) -> bool {
    let predicates = Kinds::P.with(Kinds::UP);
    let conditional = |operand: &Operand| match operand.kind() {
        OperandKind::Pt | OperandKind::Upt => operand.is_not(),
        OperandKind::Reg(..) | OperandKind::Phys { .. } => true,
        _ => false,
    };
    let mut slots = inst.operands.iter().zip(inst.opcode.signature());
    inst.guard().is_some()
        || slots.any(|(operand, spec)| !spec.is_def && !spec.kinds.is_disjoint(predicates) && conditional(operand))
}
