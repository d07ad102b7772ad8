//! Drops what nothing uses.

use cranelift_entity::EntitySet;

use crate::ir::{CallingConvention, Linkage, Module, Symbol, SymbolId};

use super::import::Importer;
use super::needed::{needed, references};
use super::take_bodies;

/// Drops definitions that only this module sees and nothing uses, and declarations that nothing uses.
///
/// Definitions that other modules may use stay, and so do kernels and what `llvm.used` names. All ids
/// of the module change, unless there is nothing to drop. Gives the number of symbols that were dropped.
pub fn strip_unused(module: &mut Module) -> usize {
    let roots: Vec<SymbolId> = module.symbols.iter().filter(|(_, symbol)| stays(symbol)).map(|(id, _)| id).collect();
    let mut seen = EntitySet::new();
    // `references` gives no errors.
    let used = needed(roots, |symbol| Ok(references(module, symbol, &mut seen))).unwrap_or_default();
    let dropped = module.symbols.len() - used.len();
    if dropped == 0 {
        return 0;
    }
    let bodies = take_bodies(module, &used);
    let mut kept = Module::default();
    kept.name = std::mem::take(&mut module.name);
    kept.triple = std::mem::take(&mut module.triple);
    kept.layout = std::mem::take(&mut module.layout);
    // Nothing is there that a symbol could clash with.
    let carried = Importer::new(&mut kept, module, bodies, false).run(&used);
    debug_assert_eq!(carried, Ok(()));
    *module = kept;
    dropped
}

/// True for symbols that are there for their own sake.
fn stays(symbol: &Symbol) -> bool {
    if symbol.function().is_some_and(|function| function.convention == CallingConvention::PtxKernel) {
        return true;
    }
    symbol.is_definition()
        && !matches!(symbol.linkage, Linkage::Internal | Linkage::LinkOnce | Linkage::AvailableExternally)
}
