//! Slots 23 and 73: into SSA form and out of it.

use crate::{Changed, Context, PhaseError};
use oriole_ori::analysis::{Cfg, DomTree, Liveness};
use oriole_ori::{Function, ssa};

/// Slot 23: every value of R, UR, P and UP gets one definition.
pub(crate) fn enter(func: &mut Function, _: &Context) -> Result<Changed, PhaseError> {
    let cfg = Cfg::new(func);
    let live = Liveness::new(func, &cfg);
    ssa::construct(func, &cfg, &DomTree::dominators(&cfg), &live)?;
    Ok(Changed::Yes)
}

/// Slot 73: values share registers, MovPhis become copies.
pub(crate) fn leave(func: &mut Function, _: &Context) -> Result<Changed, PhaseError> {
    let cfg = Cfg::new(func);
    let live = Liveness::new(func, &cfg);
    ssa::destruct(func, &cfg, &DomTree::dominators(&cfg), &live)?;
    Ok(Changed::Yes)
}
