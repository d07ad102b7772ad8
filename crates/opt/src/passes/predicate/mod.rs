//! Slot 63, on SSA form: short code under a branch, and what one side of a selection computes, becomes guarded.

mod bodies;
mod selections;

use super::general::build;
use crate::{Changed, Context, PhaseError};
use oriole_isa::{Effects, Mods, Opcode, RegFile, Role};
use oriole_ori::analysis::Analyses;
use oriole_ori::terminator::{Exit, exit_of, is_terminator};
use oriole_ori::{Block, Function, Guard, Inst, InstId, Operand, VReg};

/// What is counted.
pub(crate) const RULES: &[&str] = &["bodies guarded", "exits guarded", "selections guarded"];
const BODIES: usize = 0;
const EXITS: usize = 1;
const SELECTIONS: usize = 2;

/// First branches, then selections.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    bodies::run(func, context, analyses)?;
    selections::run(func, context, analyses);
    Ok(Changed::when(context.tally.last().is_some()))
}

/// The guarded BRA that is the block's only terminator, and its guard.
pub(super) fn lone_branch(func: &Function, block: Block) -> Option<(Guard, InstId)> {
    let mut from_end = func.block_insts(block).iter().rev();
    let last = *from_end.next()?;
    let data = &func[last];
    let guard = data.guard().filter(|_| exit_of(data) == Exit::Branch)?;
    let lone = from_end.next().is_none_or(|inst| !is_terminator(&func[*inst]));
    let plain = func[guard.pred].file() == RegFile::P && data.operands.first() == Some(&Operand::pt());
    (lone && plain).then_some((guard, last))
}

/// A predicate that is made of two guards by a truth table of PLOP3.
pub(super) fn combined(to: VReg, guards: [Guard; 2], table: u32) -> Inst {
    let [a, b] = guards.map(Guard::operand);
    let sources = [(Role::PA, a), (Role::PB, b), (Role::PC, Operand::pt()), (Role::Lut, Operand::imm(table))];
    let mut logic = build(Opcode::PLOP3, Mods::new(), &sources);
    logic.set_role(Role::PD, Operand::reg(to));
    logic
}

/// Whether the instruction may run under a guard. None changes it: in SSA form it has been written before.
fn can_be_guarded(func: &Function, inst: InstId) -> bool {
    let data = &func[inst];
    if exit_of(data) == Exit::Branch {
        return data.guard().is_none();
    }
    let effects = data.opcode.info().effects;
    let unsuitable = [Effects::CONVERGENT, Effects::BRANCH, Effects::SIDE_EFFECT];
    let plain = data.guard().is_none() && data.call.is_none() && !data.is_phi() && !data.opcode.info().guard_uniform;
    plain && !unsuitable.iter().any(|effect| effects.contains(*effect))
}
