//! PTX to Ori: SASS opcodes on virtual registers, one file per chapter of the PTX manual.
//! See `docs/lower.md`.
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod abi;
mod body;
mod chapters;
mod dispatch;
mod driver;
mod error;
mod function;
mod handler;
mod module;
mod options;

pub use options::Options;

use oriole_ptx::diag::Diagnostic;

/// Lowers a module. All errors of all functions come back together.
pub fn lower(module: &oriole_ptx::ast::Module, options: &Options<'_>) -> Result<oriole_ori::Module, Vec<Diagnostic>> {
    driver::lower_module(module, options).map_err(|errors| errors.into_iter().map(|error| *error).collect())
}
