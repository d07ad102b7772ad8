//! Oriole as a library: PTX text in, a cubin out.
//!
//! ```
//! let ptx = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
//! let compiled = oriole::compile(ptx, &oriole::CompileOptions::default()).expect("the module is right");
//! assert_eq!(&compiled.cubin[..4], b"\x7fELF");
//! ```

pub mod assembly;
mod emit;
mod error;
pub mod fuzz;
pub mod oracle;
mod parallel;
mod pipeline;
pub mod report;
mod selection;
pub mod statistics;

pub use emit::LineTable;
pub use error::CompileError;
pub use pipeline::{CompileOptions, Compiled, DebugInfo, Dump, FlowGraph, ParameterType};
pub use pipeline::{compile, compile_module, kernels, parameter_types, target};
pub use selection::{PassCount, optional_passes};
