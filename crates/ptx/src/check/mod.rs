//! Checks a parsed module: names, instructions against the grammar, and the
//! rules of modules.
//!
//! | file | checks |
//! |---|---|
//! | `module` | version, targets, directives, aliases |
//! | `variables` | declarations of variables and parameters, initial values |
//! | `debug` | sections and places for debuggers |
//! | `calls` | arguments and results of calls |
//! | `names` | every name is declared; branch, call and guard operands |
//! | `grammar` | instructions against the grammar; version and target |
//! | `explain` | words for modifiers that fit no form |
//! | `operands` | operands against a form |
//! | `addresses` | those in brackets |
//! | `problems` | words for operands that do not fit |

mod addresses;
mod calls;
mod debug;
mod explain;
mod grammar;
mod module;
mod names;
mod operands;
mod problems;
mod shared;
mod variables;

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use debug::Places;
use grammar::Head;
use names::Names;

use crate::ast::{
    AddressBase, Block, Function, Instruction, Modifier, Module, Opcode, RegisterDecl, ScalarType, Span, Statement, Sym,
};
use crate::diag::{Diagnostic, Rule};
use crate::grammar::{Target, versions};
use crate::parse::MAX_ERRORS;
use crate::scope::{Binding, Duplicate, Scopes};
use crate::suggest::closest;
use oriole_checkpoint::checkpoint;

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
    run(module).0
}

/// The least `.version` that has everything that a module says, its target included.
///
/// # Errors
///
/// What [`check`] finds.
pub fn least_version(module: &Module) -> Result<(u32, u32), Vec<Diagnostic>> {
    let (errors, least) = run(module);
    if errors.is_empty() { Ok(least) } else { Err(errors) }
}

/// The newest `.version` that is known here.
#[must_use]
pub fn newest_version() -> (u32, u32) {
    versions().last().copied().unwrap_or_default()
}

/// A warning where a module says a `.version` that is newer than what is known here. It is read all the same: what it
/// has that is not known is refused by name.
#[must_use]
pub fn newer_version(module: &Module) -> Option<Diagnostic> {
    let ((major, minor), (known_major, known_minor)) = (module.version, newest_version());
    let is_newer = module.version > newest_version();
    is_newer.then(|| {
        let message = format!(
            "PTX {major}.{minor} is newer than the newest version known here, {known_major}.{known_minor}: what it adds is refused"
        );
        Diagnostic::new(module.header[0], message).rule(Rule::Version)
    })
}

fn run(module: &Module) -> (Vec<Diagnostic>, (u32, u32)) {
    let (scopes, duplicates) = Scopes::new(module);
    let seen = vec![0; module.symbols.len()];
    let mut checker = Checker {
        module,
        scopes,
        target: module.target.first().and_then(|name| Target::from_name(name)),
        heads: FxHashMap::default(),
        first_places: first_places(module),
        first_functions: FxHashMap::default(),
        thread_places: module.thread_names().map(|name| name.span.start).collect(),
        current: None,
        shared: 0,
        places: Places::new(module),
        least_version: (0, 0),
        errors: Vec::new(),
        unreported: 0,
        seen,
        function: 0,
        expected: "name",
    };
    checker.duplicates(&duplicates);
    checker.module();
    checker.initial_values();
    for function in module.functions() {
        checker.function(function);
    }
    checker.without_calling_convention();
    checker.errors.sort_by_key(|error| error.span.start);
    if checker.unreported > 0 {
        let at = checker.errors.last().map_or(Span::default(), |error| error.span);
        checker.errors.push(Diagnostic::new(at, format!("{} more errors are not shown", checker.unreported)));
    }
    (checker.errors, checker.least_version)
}

/// Where each function and variable at file level is declared first.
fn first_places(module: &Module) -> FxHashMap<Sym, u32> {
    let functions = module.functions().map(|function| function.name);
    let names = functions.chain(module.variables().filter_map(|variable| variable.name));
    let mut places = FxHashMap::default();
    for name in names {
        let place = places.entry(name.sym).or_insert(name.span.start);
        *place = name.span.start.min(*place);
    }
    places
}

/// The state of a check.
struct Checker<'m> {
    module: &'m Module,
    scopes: Scopes<'m>,
    /// The first word of `.target`, if it is a target.
    target: Option<Target>,
    /// What the grammar says about the heads seen so far.
    heads: FxHashMap<(Opcode, &'m [Modifier]), Rc<Head>>,
    /// Where each file-level name is declared first.
    first_places: FxHashMap<Sym, u32>,
    /// Of each name the first function that has been checked.
    first_functions: FxHashMap<Sym, &'m Function>,
    /// Where names of `.reg` and `.local` at file level are declared.
    thread_places: FxHashSet<u32>,
    /// The function whose body is checked.
    current: Option<&'m Function>,
    /// Bytes of its `.shared` variables so far.
    shared: u64,
    /// Labels of sections, and the `.loc` so far.
    places: Places,
    /// The version that what has been seen so far needs.
    least_version: (u32, u32),
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
        self.function_header(function);
        let Some(body) = &function.body else { return };
        self.function += 1;
        self.current = Some(function);
        self.shared = 0;
        let duplicates = self.scopes.enter_function(function);
        self.duplicates(&duplicates);
        self.statements(body);
        self.scopes.leave();
    }

    fn statements(&mut self, block: &'m Block) {
        for statement in &block.statements {
            checkpoint(16);
            if let Statement::Instruction(instruction) = statement {
                self.instruction(instruction);
                continue;
            }
            let duplicates = self.scopes.declare(statement);
            self.duplicates(&duplicates);
            match statement {
                Statement::Block(inner) => {
                    let duplicates = self.scopes.enter_block(inner);
                    self.duplicates(&duplicates);
                    self.statements(inner);
                    self.scopes.leave();
                }
                Statement::Registers(declaration) => self.register_type(declaration),
                Statement::Variable(variable) => self.local_variable(variable),
                Statement::Pragma(pragmas) => self.pragmas(pragmas, block.span, false),
                Statement::Prototype(prototype) => {
                    self.needs("`.callprototype`", "call_prototypes", prototype.label.span);
                    self.prototype_directives(prototype);
                }
                Statement::Loc(loc) => self.location(loc),
                Statement::CallTargets(list) => self.call_targets(list),
                Statement::BranchTargets(list) => self.branch_targets(list),
                _ => {}
            }
        }
    }

    /// Operands mean something only when all names do, and the grammar only
    /// when all modifiers do.
    fn instruction(&mut self, instruction: &'m Instruction) {
        let known = self.modifiers(instruction);
        let names = self.names(instruction);
        if known {
            self.grammar(instruction, names);
        }
        if names != Names::Undefined {
            self.parameter_access(instruction);
        }
    }

    /// Input parameters are only read, results only written.
    fn parameter_access(&mut self, instruction: &'m Instruction) {
        let Some(address) = instruction.operands.iter().find_map(|operand| operand.address()) else { return };
        let (AddressBase::Name(name), Some(function)) = (address.base, self.current) else { return };
        let Some(Binding::Variable(variable)) = self.scopes.lookup(name.sym) else { return };
        let among = |list: &[crate::ast::Variable]| list.iter().any(|param| std::ptr::eq(param, variable));
        let message = match instruction.opcode {
            Opcode::St if among(&function.params) => "a parameter cannot be written",
            Opcode::Ld if among(&function.rets) => "a result cannot be read",
            _ => return,
        };
        self.error(Diagnostic::new(name.span, message).rule(Rule::Space));
    }

    fn register_type(&mut self, declaration: &RegisterDecl) {
        self.vector_size(declaration.ty, declaration.vector, declaration.span);
        self.type_needs(declaration.ty, declaration.span);
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
