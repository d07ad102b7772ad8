//! The phases' code, one file per kind of work.

pub(crate) mod atomics;
pub(crate) mod back_copy;
mod bases;
pub(crate) mod branches;
pub(crate) mod check;
pub(crate) mod control_flow;
pub(crate) mod dead_code;
pub(crate) mod exits;
pub(crate) mod form;
pub(crate) mod general;
pub(crate) mod hoist;
pub(crate) mod invariants;
pub(crate) mod late_arch;
pub(crate) mod launch_constants;
mod literals;
pub(crate) mod low_zeros;
pub(crate) mod memory;
pub(crate) mod nested;
pub(crate) mod nops;
pub(crate) mod predicate;
pub(crate) mod products;
pub(crate) mod sink;
pub(crate) mod synchronise;
pub(crate) mod uniform;
pub(crate) mod unroll;
pub(crate) mod wide_loads;
pub(crate) mod zeros;
