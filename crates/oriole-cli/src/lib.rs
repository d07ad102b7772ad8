//! The command line, and what stands behind it alone: differential fuzzing, reports, judges of others, the CUDA driver.

// They end the process where nobody can be told: `console` does not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

pub mod commands;
mod console;
mod cuda;
mod difference;
pub mod fuzz;
pub mod nvdisasm;
mod phase_index;
mod pressure;
mod product;
mod report;
mod statistics;
mod svg;
mod temporary;
mod timings;
mod uniformity;
