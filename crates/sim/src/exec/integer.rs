//! Integer arithmetic, logic, shifts and comparisons.

use super::{Compute, Unsupported};
use oriole_isa::Inst;

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Compute>, Unsupported> {
    let _ = inst;
    Ok(None)
}
