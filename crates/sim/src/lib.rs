//! SASS simulator: executes the instructions of a cubin, ours or another compiler's, from its bytes
//! alone.
//!
//! ```text
//! Simulator::new(&cubin, Options)  decode lazily, lay out, relocate
//!     .launch(kernel, &Launch, &mut Memory) -> RunReport | RunError
//! ```
//!
//! [`Simulator`] loads a module; a launch runs its blocks on host threads (`grid`), a block its
//! warps in turn (`block`), a warp its groups of threads (`warp`, `threads`). What each
//! instruction does is in `exec` and `flow`.

mod access;
mod barrier;
mod block;
mod cluster;
mod constant;
mod exec;
mod flow;
mod grid;
mod helpers;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod kernel_tests;
mod machine;
mod memcheck;
mod operand;
mod piece;
mod program;
mod properties;
mod simulator;
mod space;
mod special;
mod state;
mod stats;
mod strict;
#[cfg(test)]
mod strict_tests;
mod syscall;
mod tensor_memory;
#[cfg(test)]
mod texture_tests;
mod threads;
mod timing;
mod warp;

pub use memcheck::{CheckReport, Checks, Finding, FindingKind, Site};
pub use simulator::{LoadError, Options, RunError, RunReport, Simulator};
pub use stats::Statistics;
pub use timing::{InstTiming, Limiter, MemoryFigures, Needs, Occupancy, StallReason, TimingReport};
