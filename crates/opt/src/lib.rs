//! The numbered optimisation phases over Ori.
//!
//! [`pipeline::PIPELINE`] is the list of the passes; [`slots::SLOTS`] the published table, with what fills each slot or why
//! nothing does. A pass is a plain function from a function and a [`Context`] to [`Changed`]; there is no state between
//! passes but the analyses that are held.

pub mod knobs;
mod passes;
pub mod pipeline;
pub mod slots;

use knobs::Knobs;
use oriole_isa::Arch;
use oriole_ori::Function;
use oriole_ori::analysis::Analyses;
pub use oriole_passes::Changed;
use oriole_passes::Pass;
use pipeline::{Code, PIPELINE};
use std::time::{Duration, Instant};

/// What a phase may know besides the function.
#[derive(Clone, Debug)]
pub struct Context {
    /// The target.
    pub arch: Arch,
    /// `-O` level, 0 to 3.
    pub opt_level: u8,
    /// Tunable numbers.
    pub knobs: Knobs,
    /// What the function's calls do to convergence barriers.
    pub calls: CallBarriers,
    /// Run the verifier before the first phase and after each one.
    pub verify: bool,
}

/// What the calls of a function do to the warp's convergence barriers, a bit for each of the sixteen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallBarriers {
    /// Barriers that they may come back with changed.
    pub changed: u16,
    /// Barriers that they may use at all; those that are not in `changed` are saved meanwhile.
    pub used: u16,
}

impl CallBarriers {
    /// The barriers that a function gives back as they were: B6 and up, as ptxas's code has it.
    pub const KEPT: u16 = 0xffc0;
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

/// Run the passes of the level on `func`: those that correct code needs, and of the others those that
/// `admits` lets run. `after` sees the function after each of them.
pub fn run_passes(
    func: &mut Function,
    context: &Context,
    admits: impl Fn(&Pass<Code>) -> bool,
    mut after: impl FnMut(&Pass<Code>, &Function, Changed, Duration),
) -> Result<(), PhaseError> {
    let mut analyses = Analyses::default();
    for pass in PIPELINE {
        if context.opt_level < pass.level || !pass.needed && !admits(pass) {
            continue;
        }
        let start = Instant::now();
        let Code { run, keeps } = pass.run;
        let changed = run(func, context, &mut analyses)?;
        if changed == Changed::Yes {
            analyses.changed(keeps);
        }
        if context.verify && (changed == Changed::Yes || pass.number() == 0) {
            passes::check::verify_after(func, context, pass.name, &analyses)?;
        }
        after(pass, func, changed, start.elapsed());
    }
    Ok(())
}
