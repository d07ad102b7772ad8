//! Oriole as a library: PTX text in, a cubin out.

pub use oriole_codegen::{CompileError, CompileOptions, Compiled, compile};
