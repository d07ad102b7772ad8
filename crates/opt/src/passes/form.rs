//! Slots 23 and 73: into SSA form and out of it.

use super::dead_code::{LOOKED_AT, SWEPT};
use super::{exits, late_steps};
use crate::{Changed, Context, PhaseError};
use oriole_isa::RegFile;
use oriole_ori::analysis::Analyses;
use oriole_ori::{EntityRef, Function, ssa};

/// Slot 23: every value of R, UR, P and UP gets one definition.
pub(crate) fn enter(func: &mut Function, _: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let (cfg, dominators, live) = (analyses.cfg(func), analyses.dominators(func), analyses.live(func));
    ssa::construct(func, &cfg, &dominators, &live)?;
    Ok(Changed::Yes)
}

/// Slot 73: values share registers, MovPhis become copies.
pub(crate) fn leave(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let (cfg, dominators, mut live) = (analyses.cfg(func), analyses.dominators(func), analyses.live(func));
    let loops = analyses.loops(func);
    let nothing_is_dead = analyses.is_settled(SWEPT, func) && is_all_known(func);
    if late_steps::run(func, context, &cfg, &loops, &live).across_blocks {
        live = analyses.live(func);
    }
    let done = ssa::destruct(func, &cfg, &dominators, &loops, &live)?;
    exits::clear(func, &cfg, &loops)?;
    if nothing_is_dead && !done.may_have_dead_code {
        // Each copy is for a MovPhi that somebody needs.
        analyses.settle(LOOKED_AT, func);
    }
    Ok(Changed::Yes)
}

/// Whether what is dead on SSA form is all that is: there are only values, and each predicate is read. (Of an instruction with
/// other results, a predicate that nobody reads is dead on other forms alone.)
fn is_all_known(func: &Function) -> bool {
    let Some(uses) = func.def_use() else { return false };
    let is_unread = |reg| uses.definition(reg).is_some() && uses.count(reg) == 0;
    func.first_value().is_some_and(|first| first.index() == 0)
        && !func.regs().iter().any(|(reg, data)| data.file() == RegFile::P && is_unread(reg))
}
