//! LLVM assembly: reader and printer.
//!
//! [`parse`] takes what clang, rustc, Triton, NVVM and LLVM's own tools from version 7 to 23 write;
//! `docs/nvptx-ir.md` lists what it refuses. [`print()`] writes what LLVM reads.
//!
//! | file | what it reads |
//! |---|---|
//! | `lexer`, `words` | tokens |
//! | `parser` | the steps that all others are made of, names, strings, errors |
//! | `module` | the top level |
//! | `types`, `attributes`, `constants`, `metadata` | what the names say |
//! | `globals` | variables, aliases, and heads of functions |
//! | `dialect` | which release of LLVM has which forms, for the printer |
//! | `function`, `instructions`, `memory`, `calls` | bodies |

mod attributes;
mod calls;
mod constants;
mod diagnostic;
pub mod dialect;
mod floats;
mod fold;
mod function;
mod globals;
mod instructions;
mod lexer;
mod memory;
mod metadata;
mod module;
mod names;
mod numbering;
mod parser;
mod print;
mod types;
mod words;

use crate::ir::Module;

pub use diagnostic::Diagnostic;
pub use print::{print, print_for, print_instruction};

/// Reads LLVM assembly.
///
/// `file_name` is what errors call the file.
///
/// # Errors
///
/// The first error of the text, with its place; or what of LLVM IR no GPU has.
pub fn parse(text: &str, file_name: &str) -> Result<Module, Box<Diagnostic>> {
    parser::Parser::new(text)
        .and_then(|parser| parser.module(file_name))
        .map_err(|report| Box::new(Diagnostic::new(file_name, text, *report)))
}
