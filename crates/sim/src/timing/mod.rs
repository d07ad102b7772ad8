//! The cycle model (`--timing`): how long a launch would take on the chip that stands for its target.
//!
//! The functional simulation runs first, exactly as without the model, and records what each warp executed
//! (`trace`); the model then replays the warps on multiprocessors (`sm`), caches and memory (`lsu`, `memory`). So
//! results cannot depend on the model, and the model is free to run its multiprocessors on several host threads
//! (`launch`). `docs/timing.md` says what is modelled and what is not.

mod advice;
mod barrier;
mod cache;
mod code;
mod copies;
mod copy_unit;
mod front_end;
pub(crate) mod launch;
pub(crate) mod lines;
mod lsu;
mod memory;
pub(crate) mod occupancy;
pub(crate) mod phase;
mod quarter;
mod report;
pub(crate) mod request;
mod sm;
mod stats;
mod tensor_unit;
#[cfg(test)]
mod tests;
pub(crate) mod trace;
mod warp;

pub use occupancy::{Limiter, Needs, Occupancy};
pub use report::{InstTiming, MemoryFigures, TimingReport};
pub use stats::StallReason;
