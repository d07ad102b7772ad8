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
//! instruction does is in `exec`. Types that many files share lie on the ground (`lanes`, `state`, `space`, `effect`,
//! `instruction`), tables of families in the `mod.rs` of `exec` and its folders, and only the decoder (`program`) knows
//! those.
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod access;
mod barrier;
mod block;
mod block_state;
mod cluster;
mod cluster_state;
mod constant;
mod copies;
mod effect;
mod exec;
mod flow;
mod gradient_call;
mod grid;
mod halt;
mod helper_lanes;
#[cfg(test)]
mod hostile_tests;
mod identity;
mod instruction;
#[cfg(test)]
mod kernel_tests;
mod lanes;
mod look;
mod machine;
mod mbarrier;
mod memcheck;
mod observer;
mod old_values;
mod operand;
mod program;
mod properties;
mod resources;
mod simulator;
mod single_allocation;
mod slow_units;
mod space;
mod special;
mod state;
mod stats;
mod strict;
#[cfg(test)]
mod strict_tests;
mod syscall;
mod tensor_cells;
mod tensor_memory;
#[cfg(test)]
mod texture_tests;
mod threads;
mod timing;
mod warp;
mod warp_values;

pub use memcheck::{CheckReport, Checks, Finding, FindingKind, Site, StreamEvent, StreamPlace, Streams};
pub use observer::{Spectator, Step};
pub use simulator::{LoadError, Options, RunError, RunReport, Simulator};
pub use stats::Statistics;
pub use timing::{InstTiming, Limiter, MemoryFigures, Needs, Occupancy, StallReason, TimingReport};
