//! Proves, from a cubin alone, that the control words of its code cover every dependence.
//!
//! [`check`] builds the control-flow graph of all code of a cubin, and follows what may not be done yet along
//! all paths: every read, overwrite and anti-dependence of a register of R, UR, P or UP must be covered by
//! enough issued cycles (`oriole_isa::latency`) or by a wait for a scoreboard (`oriole_isa::access`).
//! `docs/check.md` has the rules and their limits. Nothing is executed, and nothing of the compiler is used.
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod barrier;
mod checked;
mod convergence;
mod convergence_state;
mod copies;
mod declared;
mod finding;
mod flow;
mod graph;
mod indirect;
mod pace;
mod path;
mod program;
mod report;
mod state;
mod step;
mod timeline;
mod transfer;
mod uniform;

pub use finding::{Finding, Kind, Missing, Place};
pub use report::{CheckError, Report, check};
pub use timeline::{BlockTimeline, Bound, Dependence, Issue, Reason, Timeline, timeline};
