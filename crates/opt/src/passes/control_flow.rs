//! Slot 3: blocks that nothing reaches are taken out, so that later phases see none.

use crate::{Changed, Context, PhaseError};
use oriole_ori::analysis::Analyses;
use oriole_ori::{Function, layout};

/// Remove unreachable blocks.
pub(crate) fn run(func: &mut Function, _: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    Ok(Changed::when(layout::remove_unreachable(func, &analyses.cfg(func))))
}
