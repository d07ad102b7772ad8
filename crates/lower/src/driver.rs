//! Lowering of a module: its wanted functions, then the library functions that they ask for.

use crate::body::lower_function;
use crate::error::{LowerError, unsupported};
use crate::module::context::ModuleCx;
use crate::module::plan::{Plan, VarKey};
use crate::module::{bank_two, plan};
use crate::options::Options;
use oriole_isa::Arch;
use oriole_ori::{Function, FunctionKind, Module, Symbol, SymbolKind};
use oriole_ptx::ast::{self, Space, Span};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Lowers the wanted kernels of `ast` and all that they call.
pub(crate) fn lower_module(ast: &ast::Module, options: &Options<'_>) -> Result<Module, Vec<LowerError>> {
    if ast.address_size != 64 {
        return Err(vec![unsupported(Span::default(), "an address size other than 64 bits")]);
    }
    if !Arch::MODELLED.contains(&options.arch) {
        let known = Arch::MODELLED.map(Arch::name).join(" ");
        return Err(vec![unsupported(Span::default(), format!("code for {} (only for {known})", options.arch))]);
    }
    let plan = Plan::new(ast, options)?;
    let mut out = Module::new(options.arch);
    out.files.extend(options.source.map(|(name, _)| name.to_owned()));
    let mut cx = ModuleCx::new(out, ast, options, plan);
    cx.out.independent_samplers = ast.target.iter().any(|word| word == "texmode_independent");
    let mut errors = lower_functions(&mut cx);
    errors.extend(add_visible_variables(&mut cx));
    bank_two::lay_out(&mut cx.out);
    if errors.is_empty() { Ok(cx.out) } else { Err(errors) }
}

/// Lowers every wanted function and the library functions that they need.
fn lower_functions(cx: &mut ModuleCx<'_>) -> Vec<LowerError> {
    let mut errors = Vec::new();
    let wanted = cx.plan.wanted.clone();
    let places: FxHashMap<usize, usize> = wanted.iter().enumerate().map(|(place, index)| (*index, place)).collect();
    for &index in &wanted {
        if cx.inlining.is_always_called(index) {
            cx.function_symbol(index);
        }
    }
    // One that may stand in place of its calls is lowered once a call of it has been left.
    let mut ready: BTreeSet<usize> = BTreeSet::new();
    loop {
        ready.extend(std::mem::take(&mut cx.newly_named).iter().filter_map(|index| places.get(index)));
        let Some(place) = ready.pop_first() else { break };
        let index = wanted[place];
        let function = cx.plan.functions[index];
        let kind = if function.is_entry { FunctionKind::Entry } else { FunctionKind::Device };
        let shared = cx.plan.shared_bytes.get(&index).copied().unwrap_or(0);
        let shared = if cx.relocatable { 0 } else { shared };
        match lower_function(cx, (cx.ast, Some(index)), function, kind, shared) {
            Ok(lowered) => define(cx, cx.function_symbols[&index], lowered),
            Err(found) => errors.extend(found),
        }
    }
    let mut done = 0;
    while done < cx.library.len() {
        let (routine, symbol) = cx.library[done];
        match lower_function(cx, (routine.module, None), routine.function, FunctionKind::Internal, 0) {
            Ok(lowered) => define(cx, symbol, lowered),
            Err(found) => errors.extend(found),
        }
        done += 1;
    }
    errors
}

/// Puts a lowered function into the module, under its symbol.
fn define(cx: &mut ModuleCx<'_>, symbol: Symbol, function: Function) {
    let id = cx.out.functions.push(function);
    cx.out.symbols[symbol].kind = SymbolKind::Function(id);
}

/// Variables that others can see are part of the module even where no kernel names them.
fn add_visible_variables(cx: &mut ModuleCx<'_>) -> Vec<LowerError> {
    let visible = |v: &ast::Variable| plan::is_exported(v.linkage) && matches!(v.space, Space::Global | Space::Const);
    let keys: Vec<VarKey> =
        (0..cx.plan.variables.len()).filter(|&i| visible(cx.plan.variables[i].ast)).map(VarKey).collect();
    keys.into_iter().filter_map(|key| cx.variable_symbol(key).err()).collect()
}
