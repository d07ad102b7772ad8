//! Slot 75, on SSA form and behind all rules that fold constants: what the target reads in places of its own.

use super::{bases, literals};
use crate::{Changed, Context, PhaseError};
use oriole_ori::Function;
use oriole_ori::analysis::Analyses;

/// What is counted.
pub(crate) const RULES: &[&str] =
    &["upper words as immediates", "constants in bank 2", "sums in accesses", "products of several sums"];
pub(super) const IMMEDIATES: usize = 0;
pub(super) const BANK: usize = 1;
pub(super) const SUMS: usize = 2;
pub(super) const PRODUCTS: usize = 3;

/// Constants of double-precision arithmetic, and uniform bases of addresses.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let literals = literals::run(func, context)?;
    Ok(literals.or(bases::run(func, context, analyses)?))
}
