//! The driver from a PTX module to a cubin: the stages in order, and emission.
//!
//! ```
//! let ptx = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
//! let compiled = oriole_codegen::compile(ptx, &oriole_codegen::CompileOptions::default()).expect("the module is right");
//! assert_eq!(&compiled.cubin[..4], b"\x7fELF");
//! ```
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod back_end;
mod both;
mod bounds;
mod by_function;
mod cold;
mod edge_copies;
mod emit;
mod error;
mod growth;
mod history;
mod jumps;
mod laps;
mod options;
mod parameters;
mod pipeline;
mod placing;
mod pressure;
mod report;
mod resources;
mod selection;
mod session;
mod throughput;
mod tries;
mod uniformity;
mod unwind;
mod zeros;

pub use emit::LineTable;
pub use error::CompileError;
pub use history::{Figures, FunctionHistory, Step};
pub use options::{CompileOptions, DebugInfo};
pub use oriole_passes::{Dump, FastCompile, LastRun, Limit, PassCount, PassInfo, Timing};
pub use oriole_regalloc::{AllocError, Shortage, Tightest};
pub use parameters::{Meaning, ParameterType, parameter_types};
pub use pipeline::{Compiled, FlowGraph, compile, compile_in, compile_module, compile_module_in, kernels, target};
pub use pressure::{
    LiveValue, OccupancyStep, PRESSURE_FILES, Peak, Pressure, PressureCounts, PressureInst, final_pressure, pressure,
};
pub use report::{Report, memory_warnings};
pub use resources::{Resources, resources, variable_bytes};
pub use selection::{optional_passes, passes, places};
pub use session::{Limits, Observer, PassEvent, Rewrite, Session, UserPass};
pub use uniformity::{UniformityInst, UniformityListing, UniformityState};
