//! The driver from a PTX module to a cubin: the stages in order, and emission.
//!
//! ```
//! let ptx = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
//! let compiled = oriole_codegen::compile(ptx, &oriole_codegen::CompileOptions::default()).expect("the module is right");
//! assert_eq!(&compiled.cubin[..4], b"\x7fELF");
//! ```

mod emit;
mod error;
mod parallel;
mod pipeline;
mod selection;

pub use emit::LineTable;
pub use error::CompileError;
pub use pipeline::{CompileOptions, Compiled, DebugInfo, Dump, FlowGraph, ParameterType};
pub use pipeline::{compile, compile_module, kernels, parameter_types, target};
pub use selection::{PassCount, optional_passes};
