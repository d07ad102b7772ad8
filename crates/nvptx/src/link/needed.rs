//! What a symbol needs, transitively.

use cranelift_entity::EntitySet;

use crate::ir::{Body, ConstId, Constant, Module, SymbolId, SymbolKind, Value};

use super::error::Error;

/// The symbols of `module` without a definition that a library defines, as the library's symbols.
pub(super) fn undefined(module: &Module, find: impl Fn(&str) -> Option<SymbolId>) -> Vec<SymbolId> {
    module.symbols.values().filter(|symbol| !symbol.is_definition()).filter_map(|symbol| find(&symbol.name)).collect()
}

/// `roots` and what they refer to, directly or not, in ascending order.
pub(super) fn needed(
    roots: Vec<SymbolId>,
    mut references: impl FnMut(SymbolId) -> Result<Vec<SymbolId>, Error>,
) -> Result<Vec<SymbolId>, Error> {
    let mut found = EntitySet::new();
    let mut queue = roots;
    queue.retain(|&id| found.insert(id));
    while let Some(id) = queue.pop() {
        queue.extend(references(id)?.into_iter().filter(|&id| found.insert(id)));
    }
    let mut list: Vec<SymbolId> = found.keys().filter(|&id| found.contains(id)).collect();
    list.sort_unstable();
    Ok(list)
}

/// The symbols that a symbol's definition refers to, but for those behind constants that were `seen` before.
pub(super) fn references(module: &Module, symbol: SymbolId, seen: &mut EntitySet<ConstId>) -> Vec<SymbolId> {
    let mut found = Vec::new();
    match &module.symbols[symbol].kind {
        SymbolKind::Function(function) => {
            if let Some(body) = function.body.as_deref() {
                of_body(module, body, seen, &mut found);
            }
        }
        SymbolKind::Variable(variable) => {
            if let Some(init) = variable.init {
                of_constant(module, init, seen, &mut found);
            }
        }
        SymbolKind::Alias(alias) => of_constant(module, alias.target, seen, &mut found),
        SymbolKind::Undefined => {}
    }
    found
}

fn of_body(module: &Module, body: &Body, seen: &mut EntitySet<ConstId>, found: &mut Vec<SymbolId>) {
    for (_, inst) in body.insts_in_order() {
        body[inst].op.for_each_value(|value| {
            if let Value::Const(id) = value {
                of_constant(module, id, seen, found);
            }
        });
    }
}

fn of_constant(module: &Module, id: ConstId, seen: &mut EntitySet<ConstId>, found: &mut Vec<SymbolId>) {
    if !seen.insert(id) {
        return;
    }
    match &module.constants[id] {
        Constant::Symbol(_, symbol) | Constant::BlockAddress(_, symbol, _) => found.push(*symbol),
        Constant::Aggregate(_, items) => items.iter().for_each(|&item| of_constant(module, item, seen, found)),
        Constant::Expr(_, expr) => expr.for_each_operand(|operand| of_constant(module, operand, seen, found)),
        _ => {}
    }
}
