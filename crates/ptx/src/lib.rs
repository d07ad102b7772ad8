//! PTX lexer, syntax tree, parser, checker, printer and diagnostics.
//!
//! [`load`] does everything that a compiler needs; [`parse`], [`check`],
//! [`print()`] and [`diag::SourceMap`] are its parts. Bad input never panics.

pub mod ast;
mod check;
pub mod diag;
mod grammar;
mod lexer;
mod parse;
mod print;
pub mod scope;
mod suggest;

pub use check::check;
pub use parse::{MAX_ERRORS, MAX_NESTING, Parsed, parse};
pub use print::{print, print_instruction, print_operand, print_variable};

/// Parses and checks a file.
///
/// # Errors
///
/// All errors of the file, in order of their place. When a syntax error may
/// have hidden a declaration, names are not checked: they would be reported
/// as undefined for no fault of their own.
pub fn load(text: &str) -> Result<ast::Module, Vec<diag::Diagnostic>> {
    let Parsed { module, mut errors, lost_declarations } = parse(text);
    if !lost_declarations {
        errors.extend(check(&module));
        errors.sort_by_key(|error| error.span.start);
    }
    if errors.is_empty() { Ok(module) } else { Err(errors) }
}
