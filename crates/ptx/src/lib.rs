//! PTX lexer, syntax tree, parser, printer and diagnostics.

pub mod ast;
pub mod diag;
mod lexer;
mod parse;
mod print;
mod suggest;

pub use parse::{MAX_ERRORS, MAX_NESTING, Parsed, parse};
pub use print::{print, print_instruction, print_operand, print_variable};
