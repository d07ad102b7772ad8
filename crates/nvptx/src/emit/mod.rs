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
//! | `lines`, `locations` | source lines: files and names, and the `.loc`s |
//! | `emitter` | what all of these work with |

pub mod abi;
mod body;
mod call;
mod emitter;
mod error;
mod function;
mod initial;
mod inline_asm;
mod lines;
mod locations;
mod mentions;
pub mod names;
mod variable;

use oriole_ptx::ast::{self, Item, Span};
use oriole_ptx::diag::{Diagnostic, Rule};

pub use emitter::EmitOptions;
pub use error::Error;

use emitter::{Demoted, Emitter, Fragment, Source};

use lines::Lines;
use mentions::Mentions;
use rustc_hash::FxHashSet;

use crate::analysis::View;
use crate::ir::{self, SymbolId};
use crate::machine::{self, Forms, Opcode, Operand};
use crate::text;

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
