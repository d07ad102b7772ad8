//! SSA form: what stands between slots 23 and 73.
//!
//! A *value* is a 32-bit register (or a predicate) with one definition, which dominates its uses. Wide operands are
//! tuples of values, a guarded write names what stays where it does not happen, blocks begin with MovPhis.
//! Registers with a fixed place, barriers and what a function receives are no values: they stay as they are.
//! `docs/ori.md` has the reasons.

mod construct;
mod destruct;

pub use construct::construct;
pub use destruct::{Destructed, destruct};
