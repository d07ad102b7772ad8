//! PTX lexer, syntax tree, parser, checker, printer and diagnostics.
//!
//! [`load`] does everything that a compiler needs; [`parse`], [`check`],
//! [`print()`] and [`diag::SourceMap`] are its parts. Bad input never panics.
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

pub mod ast;
mod call_order;
mod check;
pub mod diag;
mod former;
mod grammar;
mod lexer;
pub mod mentions;
mod parse;
mod print;
pub mod scope;
mod suggest;

pub use check::{check, least_version, newer_version, newest_version};
pub use parse::{MAX_ERRORS, MAX_NESTING, Parsed, parse, parse_items, parse_statements};
pub use print::{print, print_instruction, print_operand, print_variable};

/// The versions of PTX that there are, in order.
#[must_use]
pub fn versions() -> &'static [(u32, u32)] {
    grammar::versions()
}

/// Whether `.target` may name this architecture.
#[must_use]
pub fn is_target(name: &str) -> bool {
    grammar::Target::from_name(name).is_some()
}

/// Checks that a module may be compiled for `arch` (such as `sm_90`), by what
/// its `.target` says. Names that are no target are left to others.
///
/// # Errors
///
/// The place of `.target` and why it does not allow `arch`.
pub fn check_target(module: &ast::Module, arch: &str) -> Result<(), diag::Diagnostic> {
    let named = module.target.first().and_then(|name| grammar::Target::from_name(name));
    let (Some(named), Some(wanted)) = (named, grammar::Target::from_name(arch)) else { return Ok(()) };
    if named.compiles_for(wanted) {
        return Ok(());
    }
    let message = format!("a module for `{named}` cannot be compiled for `{wanted}`");
    let help = match named.number <= wanted.number {
        true => format!("`{named}` stands for that target (or its family) alone; write `.target sm_{}`", named.number),
        false => format!("compile for `{named}` or later, or lower `.target` if the module allows it"),
    };
    Err(diag::Diagnostic::new(module.header[1], message).rule(diag::Rule::Target).help(help))
}

/// Parses and checks a file. What is older than PTX 3.0, or for sm_1x, comes back in the words of PTX 3.0 for sm_20.
///
/// # Errors
///
/// All errors of the file, in order of their place. When a syntax error may
/// have hidden a declaration, names are not checked: they would be reported
/// as undefined for no fault of their own.
pub fn load(text: &str) -> Result<ast::Module, Vec<diag::Diagnostic>> {
    load_with(text, Leeway::default())
}

/// What a file may have because of what is made of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leeway {
    /// An object file, of which a linker knows what the file does not ([`diag::Rule::Linkage`]).
    pub object: bool,
    /// Static shared memory is as large as a block can have ([`diag::Rule::SharedMemory`]).
    pub extended_shared: bool,
}

impl Leeway {
    fn allows(self, error: &diag::Diagnostic) -> bool {
        match error.rule {
            Some(diag::Rule::Linkage) => self.object,
            Some(diag::Rule::SharedMemory) => self.extended_shared,
            _ => false,
        }
    }
}

/// Parses and checks a file with leeway.
///
/// # Errors
///
/// As [`load`].
pub fn load_with(text: &str, leeway: Leeway) -> Result<ast::Module, Vec<diag::Diagnostic>> {
    let Parsed { mut module, mut errors, lost_declarations } = parse(text);
    if !lost_declarations {
        errors.extend(check(&module).into_iter().filter(|error| !leeway.allows(error)));
        errors.sort_by_key(|error| error.span.start);
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    former::restate(&mut module);
    Ok(module)
}
