//! The numbered optimisation phases over Ori.
//!
//! [`pipeline::PIPELINE`] is the list of the passes; [`slots::SLOTS`] the published table, with what fills each slot or why
//! nothing does. A pass is a plain function from a function and a [`Context`] to [`Changed`]; there is no state between
//! passes but the analyses that are held.
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

pub mod knobs;
mod manager;
mod passes;
pub mod pipeline;
pub mod slots;
mod uniform_calls;

pub use manager::{Options, Watcher, dump, run};
pub use passes::products::settle_products;
pub use passes::synchronise::run as synchronise;
pub use passes::zeros::{made_zero, zero_pair};

use knobs::Knobs;
use oriole_isa::Arch;
use oriole_ori::{EntitySet, RegMask, Symbol};
pub use oriole_passes::Changed;
use oriole_passes::Tally;

/// What a pass may know besides the function.
#[derive(Debug)]
pub struct Context {
    /// The target.
    pub arch: Arch,
    /// Tunable numbers.
    pub knobs: Knobs,
    /// The functions that leave uniform registers alone.
    pub leaving_uniform: EntitySet<Symbol>,
    /// Where rewrites are counted, and which says whether they may go on.
    pub tally: Tally,
}

/// What the calls of a function do to the warp's convergence barriers, a bit for each of the sixteen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallBarriers {
    /// Barriers that they may come back with changed.
    pub changed: u16,
    /// Barriers that they may use at all, among them `changed`; the others are saved meanwhile.
    pub used: u16,
}

impl CallBarriers {
    /// The barriers that a function gives back as they were.
    pub const KEPT: u16 = RegMask::KEPT_BARRIERS;
    /// Of a function that calls nothing.
    pub const NONE: CallBarriers = CallBarriers { changed: 0, used: 0 };
    /// Of calls of any function with the standard interface.
    pub const STANDARD: CallBarriers = CallBarriers { changed: !Self::KEPT, used: 0xffff };

    /// Those of either.
    pub fn or(self, other: CallBarriers) -> CallBarriers {
        CallBarriers { changed: self.changed | other.changed, used: self.used | other.used }
    }
}

/// A phase met what it cannot deal with.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PhaseError {
    /// A limit of the IR.
    #[error(transparent)]
    Limit(#[from] oriole_ori::BuildError),
    /// A pass of the caller's own fails, or leaves what is no function.
    #[error("function '{function}': the caller's pass behind {place}: {reason}")]
    User {
        /// The function.
        function: String,
        /// The pass behind which it ran.
        place: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Who looks on has ended it.
    #[error("the passes were ended early")]
    Stopped,
    /// The function is not well formed: an internal fault.
    #[error("function '{function}' after phase {phase}: {fault}")]
    Verify {
        /// The function.
        function: String,
        /// The phase.
        phase: &'static str,
        /// The verifier's words.
        fault: String,
    },
}

impl PhaseError {
    /// Whether a pass of the caller's own is to blame.
    pub fn is_the_callers(&self) -> bool {
        matches!(self, PhaseError::User { .. })
    }
}
