//! Checks that need only names and types: undefined and duplicate names,
//! operands of the wrong kind or type.
//!
//! | file | checks |
//! |---|---|
//! | `names` | every name is declared; branch, call and guard operands |
//! | `rules` | which operand types each opcode takes, as a table |
//! | `types` | operands against that table |

mod names;
mod rules;
mod types;

use crate::ast::{Block, Function, Instruction, Module, RegisterDecl, ScalarType, Space, Span, Statement, Sym};
use crate::diag::Diagnostic;
use crate::parse::MAX_ERRORS;
use crate::scope::{Binding, Duplicate, Scopes};
use crate::suggest::closest;

/// Types that a register may have (measured with ptxas 13.0; the manual's
/// "fundamental types" without those that exist only in memory).
const REGISTER_TYPES: [ScalarType; 18] = {
    use ScalarType::*;
    [Pred, B8, B16, B32, B64, B128, U8, U16, U32, U64, S8, S16, S32, S64, F16, F16x2, F32, F64]
};

/// How many messages get a "did you mean": each compares all names in force.
const MOST_SUGGESTIONS: usize = 16;
/// How many names are compared for one suggestion.
const MOST_CANDIDATES: usize = 4000;

/// Checks a parsed module. The diagnostics come in order of their place.
#[must_use]
pub fn check(module: &Module) -> Vec<Diagnostic> {
    let (scopes, duplicates) = Scopes::new(module);
    let seen = vec![0; module.symbols.len()];
    let mut checker =
        Checker { module, scopes, errors: Vec::new(), unreported: 0, seen, function: 0, expected: "name" };
    checker.duplicates(&duplicates);
    checker.initial_values();
    for function in module.functions() {
        checker.function(function);
    }
    checker.errors.sort_by_key(|error| error.span.start);
    if checker.unreported > 0 {
        let at = checker.errors.last().map_or(Span::default(), |error| error.span);
        checker.errors.push(Diagnostic::new(at, format!("{} more errors are not shown", checker.unreported)));
    }
    checker.errors
}

/// The state of a check.
struct Checker<'m> {
    module: &'m Module,
    scopes: Scopes<'m>,
    errors: Vec<Diagnostic>,
    unreported: usize,
    /// By symbol: the function (counted from 1) that already has an error
    /// about this name being undefined.
    seen: Vec<u32>,
    function: u32,
    /// How messages call an undefined name at the current place.
    expected: &'static str,
}

impl<'m> Checker<'m> {
    fn error(&mut self, diagnostic: Diagnostic) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(diagnostic);
        } else {
            self.unreported += 1;
        }
    }

    fn text(&self, sym: Sym) -> &'m str {
        self.module.symbols.text(sym)
    }

    fn duplicates(&mut self, duplicates: &[Duplicate]) {
        for duplicate in duplicates {
            let text = self.text(duplicate.name.sym);
            let kind = match self.scopes.lookup(duplicate.name.sym) {
                Some(Binding::Label(_)) => "label ",
                Some(Binding::Register(_)) => "register ",
                Some(Binding::Function(_)) => "function ",
                Some(Binding::Variable(_)) => "variable ",
                _ => "",
            };
            let message = format!("{kind}`{text}` is declared twice");
            self.error(
                Diagnostic::new(duplicate.name.span, message)
                    .label("second declaration")
                    .related(duplicate.first.span, "first declaration"),
            );
        }
    }

    fn function(&mut self, function: &'m Function) {
        if function.is_entry {
            self.entry_parameters(function);
        }
        let Some(body) = &function.body else { return };
        self.function += 1;
        let duplicates = self.scopes.enter_function(function);
        self.duplicates(&duplicates);
        self.statements(body);
        self.scopes.leave();
    }

    /// A kernel has its parameters in `.param` space and returns nothing.
    fn entry_parameters(&mut self, function: &Function) {
        if let Some(ret) = function.rets.first() {
            self.error(Diagnostic::new(ret.span, "a kernel cannot return a value").help("store the result in memory"));
        }
        for param in function.params.iter().filter(|param| param.space != Space::Param) {
            let message = format!("a kernel parameter must be in `.param` space, not `.{}`", param.space);
            self.error(Diagnostic::new(param.span, message));
        }
    }

    fn statements(&mut self, block: &'m Block) {
        for statement in &block.statements {
            let duplicates = self.scopes.declare(statement);
            self.duplicates(&duplicates);
            match statement {
                Statement::Instruction(instruction) => self.instruction(instruction),
                Statement::Block(inner) => {
                    let duplicates = self.scopes.enter_block(inner);
                    self.duplicates(&duplicates);
                    self.statements(inner);
                    self.scopes.leave();
                }
                Statement::Registers(declaration) => self.register_type(declaration),
                Statement::CallTargets(list) => self.call_targets(list),
                Statement::BranchTargets(list) => self.branch_targets(list),
                _ => {}
            }
        }
    }

    /// The types mean something only when all names do.
    fn instruction(&mut self, instruction: &'m Instruction) {
        self.modifiers(instruction);
        if self.names(instruction) {
            self.types(instruction);
        }
    }

    fn register_type(&mut self, declaration: &RegisterDecl) {
        if !REGISTER_TYPES.contains(&declaration.ty) {
            let message = format!("a register cannot have type `.{}`", declaration.ty);
            let help =
                format!("declare it as untyped bits of the same size, such as `.b{}`", declaration.ty.bits().max(16));
            self.error(Diagnostic::new(declaration.span, message).help(help));
        }
    }

    /// The declared name most like `text`.
    fn suggestion(&self, text: &str) -> Option<&'m str> {
        if self.errors.len() >= MOST_SUGGESTIONS {
            return None;
        }
        closest(text, self.scopes.visible().take(MOST_CANDIDATES))
    }
}
