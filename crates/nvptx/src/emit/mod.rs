//! Machine instructions to a PTX module.
//!
//! The result is a tree of `oriole-ptx`; [`oriole_ptx::print()`] makes text of it. Places in the tree
//! count names from 0 in order: the checker asks them whether something is declared before it is
//! used, and lowering tells variables of functions apart by them.
//!
//! | file | what it makes |
//! |---|---|
//! | [`names`] | PTX names of symbols, parameters and results |
//! | [`abi`] | shapes of parameters and results |
//! | `mentions` | which function names what: the order of declarations follows from it |
//! | `function` | headers and declarations of functions |
//! | `body` | blocks, instructions, operands |
//! | `call` | calls and prototypes |
//! | `inline_asm` | inline assembly, and assembly outside of functions |
//! | `variable` | variables |
//! | `initial` | initial values |
//! | `lines` | source lines |

pub mod abi;
mod body;
mod call;
mod function;
mod initial;
mod inline_asm;
mod lines;
mod mentions;
pub mod names;
mod variable;

use cranelift_entity::SecondaryMap;
use oriole_ptx::ast::{self, Item, Name, Span, Sym, SymbolTable};
use oriole_ptx::diag::{Diagnostic, Rule};

use crate::analysis::View;
use crate::ir::{self, Annotations, SymbolId};
use crate::machine::reg::BadRegisterClass;
use crate::machine::{self, Forms, Opcode, Operand};
use crate::text;
use lines::Lines;
use mentions::Mentions;
use rustc_hash::FxHashSet;
use variable::Demoted;

/// What a module is emitted for.
#[derive(Clone, Debug)]
pub struct EmitOptions {
    /// `.target`, such as `sm_90a`.
    pub arch: String,
    /// `.version`; the least that the target and the module's instructions need when absent.
    pub ptx_version: Option<(u32, u32)>,
    /// `.maxnreg` of kernels that have none of their own.
    pub max_registers: Option<u32>,
    /// Source lines as `.loc`, whatever the module's compile unit asks for.
    pub line_info: bool,
}

impl Default for EmitOptions {
    fn default() -> EmitOptions {
        EmitOptions { arch: "sm_80".to_owned(), ptx_version: None, max_registers: None, line_info: false }
    }
}

/// Why a module cannot be emitted.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Error {
    /// A register of a class that has no encoding.
    #[error(transparent)]
    BadRegisterClass(#[from] BadRegisterClass),
    /// PTX has no way to say it, or Oriole does not know one yet.
    #[error("`{symbol}`: {what}")]
    Unsupported {
        /// The function or variable.
        symbol: String,
        /// What it is that cannot be said.
        what: String,
    },
    /// Inline assembly that is no PTX.
    #[error("inline assembly in `{function}`: {}\n{text}", first_message(.diagnostics))]
    Asm {
        /// The function.
        function: String,
        /// The text with the operands put in.
        text: String,
        /// What is wrong with it; places are in `text`.
        diagnostics: Vec<Diagnostic>,
    },
    /// An earlier stage handed over what makes no sense.
    #[error("internal error in `{symbol}`: {what}")]
    Internal {
        /// The function or variable.
        symbol: String,
        /// What is wrong.
        what: String,
    },
}

fn first_message(diagnostics: &[Diagnostic]) -> &str {
    diagnostics.first().map_or("", |diagnostic| &diagnostic.message)
}

/// Makes the PTX module of `machine`, whose names [`names::assign`] has given. `ir` supplies the
/// variables, the properties of functions and the debug information.
///
/// # Errors
///
/// The first thing that cannot be said in PTX.
pub fn module(ir: &ir::Module, machine: machine::Module, options: &EmitOptions) -> Result<ast::Module, Error> {
    let machine::Module { symbols, names, taken, forms, functions } = machine;
    let annotations = ir.annotations();
    let mentions = Mentions::of(ir, &symbols, &names, &functions);
    let mut emitter = Emitter {
        options,
        ir,
        annotations,
        names,
        taken,
        forms,
        symbols,
        mentions,
        demoted: Demoted::default(),
        given: FxHashSet::default(),
        lines: Lines::new(ir, options.line_info, options.ptx_version),
        registers: Default::default(),
        position: 0,
        fragments: Vec::new(),
        sources: Vec::new(),
        prototypes: 0,
    };
    let mut items = Vec::new();
    emitter.find_demoted();
    emitter.module_asm(&mut items)?;
    emitter.declarations(&functions, &mut items)?;
    emitter.variables(&mut items)?;
    for (index, (symbol, function)) in functions.iter().enumerate() {
        let function = emitter.definition(*symbol, function, index)?;
        items.push(Item::Function(Box::new(function)));
    }
    emitter.aliases(&mut items)?;
    let for_lines = emitter.lines.as_ref().map_or((0, 0), Lines::least_version);
    if let Some(lines) = emitter.lines.take() {
        lines.finish(&mut items, |sym| emitter.name(sym));
    }
    let Emitter { symbols, forms, fragments, sources, .. } = emitter;
    let mut target = vec![options.arch.clone()];
    if has_samplers(&functions, &forms) {
        target.push("texmode_independent".to_owned());
    }
    let mut module = ast::Module {
        version: options.ptx_version.unwrap_or_else(oriole_ptx::newest_version),
        target,
        address_size: ir.layout.default_pointer_bits,
        header: [Span::default(); 3],
        items,
        symbols,
    };
    let least = oriole_ptx::least_version(&module).map_err(|errors| blame(ir, &module, fragments, &sources, errors))?;
    if options.ptx_version.is_none() {
        module.version = least.max(for_lines);
    }
    Ok(module)
}

/// True when a texture is read with a sampler of its own: `[texture, sampler, {…}]`.
fn has_samplers(functions: &[(SymbolId, machine::Function)], forms: &Forms) -> bool {
    let insts = functions.iter().flat_map(|(_, function)| function.blocks.values()).flat_map(|block| &block.insts);
    insts.into_iter().any(|inst| {
        let Opcode::Form(form) = inst.opcode else { return false };
        let reads = matches!(forms[form].opcode, ast::Opcode::Tex | ast::Opcode::Tld4);
        reads && inst.uses().iter().any(|use_| matches!(use_, Operand::Address(address) if address.rest.len() > 1))
    })
}

/// Whose fault it is that the module does not pass the checks: inline assembly may be wrong in what
/// it says, intrinsics may be declared with types that they do not have, and anything may be too new for the version or
/// target that is asked for.
fn blame(
    ir: &ir::Module,
    module: &ast::Module,
    fragments: Vec<Fragment>,
    sources: &[Source],
    mut errors: Vec<Diagnostic>,
) -> Error {
    let Some(first) = errors.first() else {
        return Error::Internal { symbol: String::new(), what: "a check that fails without an error".to_owned() };
    };
    let place = first.span.start;
    let function = module.functions().take_while(|function| function.name.span.start <= place).last();
    let function = function.map_or_else(String::new, |function| module.text(function.name).to_owned());
    let fragment = fragments.into_iter().rev().find(|fragment| fragment.start <= place);
    if let Some(Fragment { start, text }) = fragment.filter(|f| place - f.start <= f.text.len() as u32) {
        errors.retain(|error| (start..=start + text.len() as u32).contains(&error.span.start));
        let diagnostics = errors.into_iter().map(|error| error.moved_back(start)).collect();
        return Error::Asm { function, text, diagnostics };
    }
    let what = first.message.clone();
    let rule = first.rule;
    let source = sources.partition_point(|source| source.start < place).checked_sub(1).and_then(|at| sources[at].inst);
    let body = |symbol: SymbolId| ir.symbols[symbol].function().and_then(|function| function.body.as_deref());
    let Some((symbol, body, inst)) = source.and_then(|(symbol, inst)| Some((symbol, body(symbol)?, inst))) else {
        // Declarations are as the module says: a variable may be too large, a name too long.
        return Error::Unsupported { symbol: function, what };
    };
    let text = text::print_instruction(ir, body, inst);
    let view = View { module: ir, symbol, body };
    let called = view.call(inst).and_then(|call| view.callee(call)).filter(|callee| callee.name.starts_with("llvm."));
    let symbol = ir.symbols[symbol].name.to_string();
    match (rule, called) {
        (Some(Rule::Target | Rule::Version | Rule::Linkage), _) => {
            Error::Unsupported { symbol, what: format!("`{text}`: {what}") }
        }
        (_, Some(callee)) => {
            let what = format!("`{text}`: `{}` cannot be called with these types: {what}", callee.name);
            Error::Unsupported { symbol, what }
        }
        _ => Error::Internal { symbol, what: format!("`{text}`: {what}") },
    }
}

/// What names of the tree are made for.
struct Source {
    /// Names behind this place are.
    start: u32,
    /// A function and an instruction of its body; none for what stands for no single instruction.
    inst: Option<(SymbolId, ir::InstId)>,
}

/// Inline assembly that is in the tree.
struct Fragment {
    /// Where its places start.
    start: u32,
    text: String,
}

/// What emission of a module works with.
struct Emitter<'a> {
    options: &'a EmitOptions,
    ir: &'a ir::Module,
    annotations: Annotations,
    names: SecondaryMap<SymbolId, Option<Sym>>,
    /// All of them.
    taken: FxHashSet<Sym>,
    forms: Forms,
    symbols: SymbolTable,
    mentions: Mentions,
    demoted: Demoted,
    /// What assembly outside of functions declares.
    given: FxHashSet<Sym>,
    /// What line information refers to, where there is any.
    lines: Option<Lines>,
    /// By tag of the class less 1: the names of registers with small numbers.
    registers: [Vec<Sym>; 9],
    /// How many names the tree has so far.
    position: u32,
    /// The inline assembly so far, in order.
    fragments: Vec<Fragment>,
    /// What the names from a place on are made for: an instruction of the IR, or nothing that has one.
    sources: Vec<Source>,
    /// How many indirect calls there are.
    prototypes: u32,
}

impl Emitter<'_> {
    /// A name at the next place.
    fn name(&mut self, sym: Sym) -> Name {
        Name { sym, span: self.place() }
    }

    /// A name by its text, at the next place.
    fn name_of(&mut self, text: &str) -> Name {
        let sym = self.symbols.intern(text);
        self.name(sym)
    }

    /// A name of what a function declares itself, at the next place.
    fn own_name(&mut self, text: String) -> Name {
        let sym = names::own(&mut self.symbols, &self.taken, text);
        self.name(sym)
    }

    /// The next place.
    fn place(&mut self) -> Span {
        self.position += 1;
        Span::new(self.position, self.position + 1)
    }

    /// The next place, for what has no name of its own.
    fn here(&self) -> Span {
        Span::new(self.position + 1, self.position + 2)
    }

    /// Notes what the names from here on are made for.
    fn made_for(&mut self, inst: Option<(SymbolId, ir::InstId)>) {
        if self.sources.last().and_then(|source| source.inst) != inst {
            self.sources.push(Source { start: self.position, inst });
        }
    }

    /// The PTX name of a symbol.
    fn symbol(&self, id: SymbolId) -> Result<Sym, Error> {
        self.names[id].ok_or_else(|| self.unsupported(id, "an intrinsic has no address"))
    }

    fn unsupported(&self, id: SymbolId, what: impl Into<String>) -> Error {
        Error::Unsupported { symbol: self.ir.symbols[id].name.to_string(), what: what.into() }
    }
}
