//! Atomic operations and reductions.

use super::Unsupported;
use crate::program::Effect;
use oriole_isa::Inst;

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    let _ = inst;
    Ok(None)
}
