//! Integers of more than 128 bits: none is left behind this pass, which runs before all others.
//!
//! A value becomes limbs of 64 bits, the lowest first; where it is part of an aggregate, a parameter or a result, an
//! array of the same size and alignment. Division and the intrinsics that are longer than a few operations are functions
//! of `ir/integer.ll`, written with the wide type itself and taken apart like all others. A `switch` on more than 64 bits
//! becomes comparisons.
//!
//! | file | what it does |
//! |---|---|
//! | `library` | calls of the functions in `ir/integer.ll` |
//! | `switch` | comparisons for `switch` |
//! | `types` | arrays for integers in types and constants |
//! | `function` | the instructions of a function, one by one |
//! | `limbs` | arithmetic on limbs |
//! | `bits` | shifts, counts and orders of bits |

mod bits;
mod constant;
mod function;
mod library;
mod limbs;
mod switch;
mod types;

use crate::ir::{Module, SymbolId, SymbolKind, Type, TypeId};
use crate::select::Error;

pub(crate) use constant::from_words;

/// The widest integers that other passes take.
const WIDEST: u32 = 128;
/// Bits of a limb.
const LIMB: u32 = 64;

/// The width of an integer that other passes do not take.
fn wide_bits(module: &Module, ty: TypeId) -> Option<u32> {
    module.types.int_bits(ty).filter(|&bits| bits > WIDEST)
}

/// Takes all integers of more than 128 bits apart.
///
/// # Errors
///
/// The first operation on them that is not supported.
pub(crate) fn expand(module: &mut Module) -> Result<(), Error> {
    for symbol in definitions(module) {
        switch::compare(module, symbol);
    }
    if !module.types.ids().any(|ty| matches!(module.types[ty], Type::Int(bits) if bits > WIDEST)) {
        return Ok(());
    }
    library::call(module)?;
    for symbol in definitions(module) {
        function::split(module, symbol)?;
    }
    for symbol in module.symbols.keys().collect::<Vec<_>>() {
        declaration(module, symbol)?;
    }
    Ok(())
}

fn definitions(module: &Module) -> Vec<SymbolId> {
    module.definitions().map(|(id, ..)| id).collect()
}

/// The types of a symbol itself, and its initial value.
fn declaration(module: &mut Module, symbol: SymbolId) -> Result<(), Error> {
    let mut kind = std::mem::replace(&mut module.symbols[symbol].kind, SymbolKind::Undefined);
    match &mut kind {
        SymbolKind::Function(function) => {
            types::map(module, &mut function.signature);
            types::map(module, &mut function.ret);
            function.ret_attributes.for_each_type_mut(|ty| types::map(module, ty));
            for param in &mut function.params {
                types::map(module, &mut param.ty);
                param.attributes.for_each_type_mut(|ty| types::map(module, ty));
            }
        }
        SymbolKind::Variable(variable) => {
            if module.symbols[symbol].align == 0 && types::has_wide(module, variable.ty) {
                module.symbols[symbol].align = module.layout.align(&module.types, variable.ty);
            }
            if let Some(init) = &mut variable.init {
                *init = types::map_constant(module, *init)?;
            }
            types::map(module, &mut variable.ty);
        }
        SymbolKind::Alias(alias) => types::map(module, &mut alias.ty),
        SymbolKind::Undefined => {}
    }
    module.symbols[symbol].kind = kind;
    Ok(())
}
