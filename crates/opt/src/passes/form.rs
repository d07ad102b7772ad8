//! Slots 23 and 73: into SSA form and out of it.

use super::exits;
use crate::{Changed, Context, PhaseError};
use oriole_ori::analysis::Analyses;
use oriole_ori::{Function, ssa};

/// Slot 23: every value of R, UR, P and UP gets one definition.
pub(crate) fn enter(func: &mut Function, _: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let (cfg, dominators, live) = (analyses.cfg(func), analyses.dominators(func), analyses.live(func));
    ssa::construct(func, &cfg, &dominators, &live)?;
    Ok(Changed::Yes)
}

/// Slot 73: values share registers, MovPhis become copies.
pub(crate) fn leave(func: &mut Function, _: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let (cfg, dominators, live) = (analyses.cfg(func), analyses.dominators(func), analyses.live(func));
    let loops = analyses.loops(func);
    ssa::destruct(func, &cfg, &dominators, &loops, &live)?;
    exits::clear(func, &cfg, &loops)?;
    Ok(Changed::Yes)
}
