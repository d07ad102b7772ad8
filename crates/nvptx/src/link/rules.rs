//! Which of two symbols of one name stays.

use crate::ir::{Linkage, Module, Symbol, SymbolKind};

use super::error::Error;

/// What happens to a symbol of the module that is added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// The one that was there stays.
    Keep,
    /// The new one takes its place.
    Replace,
    /// The elements of both are put one behind the other.
    Append,
}

/// The weight of a strong definition.
const STRONG: u8 = 6;

/// How much a symbol's linkage weighs, declarations before definitions.
fn weight(linkage: Linkage, defined: bool) -> u8 {
    match linkage {
        Linkage::ExternWeak if !defined => 0,
        _ if !defined => 1,
        Linkage::AvailableExternally => 2,
        Linkage::LinkOnce => 3,
        Linkage::Weak | Linkage::ExternWeak => 4,
        Linkage::Common => 5,
        Linkage::External | Linkage::Internal | Linkage::Appending => STRONG,
    }
}

/// Decides between two symbols that are not internal.
pub(super) fn decide(
    into: &Module,
    old: &Symbol,
    old_defined: bool,
    from: &Module,
    new: &Symbol,
    new_defined: bool,
) -> Result<Outcome, Error> {
    debug_assert!(!is_local(old.linkage) && !is_local(new.linkage));
    if old.linkage == Linkage::Appending && new.linkage == Linkage::Appending {
        return Ok(Outcome::Append);
    }
    if old.space != new.space && !matches!(old.kind, SymbolKind::Undefined) {
        return Err(mismatch(into, old, from, new, |symbol| format!("in address space {}", symbol.space.0)));
    }
    let (old_weight, new_weight) = (weight(old.linkage, old_defined), weight(new.linkage, new_defined));
    if old_defined && new_defined && kind(old) != kind(new) && !has_alias(old, new) {
        return Err(mismatch(into, old, from, new, |symbol| kind(symbol).to_owned()));
    }
    match new_weight.cmp(&old_weight) {
        std::cmp::Ordering::Greater => Ok(Outcome::Replace),
        std::cmp::Ordering::Less => Ok(Outcome::Keep),
        std::cmp::Ordering::Equal if new_weight == STRONG => {
            Err(Error::Duplicate { name: old.name.to_string(), first: into.name.clone(), second: from.name.clone() })
        }
        // Of two common variables the larger one serves both.
        std::cmp::Ordering::Equal if new.linkage == Linkage::Common && size(from, new) > size(into, old) => {
            Ok(Outcome::Replace)
        }
        std::cmp::Ordering::Equal => Ok(Outcome::Keep),
    }
}

fn kind(symbol: &Symbol) -> &'static str {
    match symbol.kind {
        SymbolKind::Function(_) => "a function",
        SymbolKind::Variable(_) => "a variable",
        SymbolKind::Alias(_) => "an alias",
        SymbolKind::Undefined => "not declared",
    }
}

/// An alias may stand for a function or a variable.
fn has_alias(old: &Symbol, new: &Symbol) -> bool {
    [old, new].iter().any(|symbol| matches!(symbol.kind, SymbolKind::Alias(_)))
}

fn size(module: &Module, symbol: &Symbol) -> u64 {
    symbol.variable().map_or(0, |variable| module.layout.size(&module.types, variable.ty))
}

fn mismatch(into: &Module, old: &Symbol, from: &Module, new: &Symbol, is: impl Fn(&Symbol) -> String) -> Error {
    Error::Mismatch {
        name: old.name.to_string(),
        first: into.name.clone(),
        first_is: is(old),
        second: from.name.clone(),
        second_is: is(new),
    }
}

/// Modules with pointers of different widths cannot be put together.
pub(super) fn check_layouts(into: &Module, from: &Module) -> Result<(), Error> {
    let (first_bits, second_bits) = (into.layout.default_pointer_bits, from.layout.default_pointer_bits);
    if first_bits == second_bits {
        return Ok(());
    }
    let (first, second) = (into.name.clone(), from.name.clone());
    Err(Error::PointerWidth { first, first_bits, second, second_bits })
}

/// True for symbols that other modules do not see.
pub(super) fn is_local(linkage: Linkage) -> bool {
    linkage == Linkage::Internal
}
