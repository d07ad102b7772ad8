//! Puts modules together.
//!
//! [`link`] merges a module into another by LLVM's linkage rules. [`link_library`] takes only what
//! is needed from a library in bitcode, and reads only the bodies of that: linking two functions of
//! libdevice reads its symbol table and those two. [`resolve_reflect`] gives `__nvvm_reflect` its
//! values, and [`strip_unused`] drops what nothing uses any more.

mod import;
mod needed;
mod reflect;
mod rules;
mod strip;

use cranelift_entity::EntitySet;

use crate::bitcode::{self, LazyModule};
use crate::ir::{Body, Linkage, Module, SymbolId};

pub use reflect::{Reflect, resolve_reflect};
pub use strip::strip_unused;

use import::{Bodies, Importer};
use needed::{needed, references};

/// Why modules do not fit together.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// Two strong definitions.
    #[error("`{name}` is defined in both `{first}` and `{second}`")]
    Duplicate {
        /// The symbol.
        name: String,
        /// The module that had it.
        first: String,
        /// The module that was added.
        second: String,
    },
    /// The same name for things that cannot be the same.
    #[error("`{name}` is {first_is} in `{first}`, but {second_is} in `{second}`")]
    Mismatch {
        /// The symbol.
        name: String,
        /// The module that had it.
        first: String,
        /// What it is there.
        first_is: String,
        /// The module that was added.
        second: String,
        /// What it is there.
        second_is: String,
    },
    /// Pointers of different widths.
    #[error("pointers have {first_bits} bits in `{first}`, but {second_bits} in `{second}`")]
    PointerWidth {
        /// The module that was there.
        first: String,
        /// Bits of its pointers.
        first_bits: u32,
        /// The module that was added.
        second: String,
        /// Bits of its pointers.
        second_bits: u32,
    },
    /// A body of a library cannot be read.
    #[error(transparent)]
    Bitcode(#[from] bitcode::Error),
}

/// Merges `from` into `into`.
///
/// A definition takes the place of a declaration, and a strong one that of a weak one; names of
/// internal symbols are changed where they clash; variables of appending linkage such as
/// `llvm.used`, named metadata and module assembly are put together. With `lazy`, only definitions
/// that `into` needs are taken, with all that these need; they become internal, and metadata that
/// describes the whole of `from` is left out.
///
/// # Errors
///
/// Two strong definitions of one symbol, or things of one name that cannot be the same.
pub fn link(into: &mut Module, mut from: Module, lazy: bool) -> Result<(), Error> {
    rules::check_layouts(into, &from)?;
    let wanted = if lazy {
        let roots = needed::undefined(into, |name| from.symbol(name).filter(|&id| from.symbols[id].is_definition()));
        let mut seen = EntitySet::new();
        needed(roots, |symbol| Ok(references(&from, symbol, &mut seen)))?
    } else {
        from.symbols.keys().collect()
    };
    let bodies = take_bodies(&mut from, &wanted);
    Importer::new(into, &from, bodies, lazy).run(&wanted)
}

/// Takes from a library what `into` needs and does not define, with all that this needs. It becomes internal.
///
/// # Errors
///
/// As of [`link`]; or a body that cannot be read.
pub fn link_library(into: &mut Module, library: &mut LazyModule) -> Result<(), Error> {
    rules::check_layouts(into, library.module())?;
    let roots = needed::undefined(into, |name| library.module().symbol(name).filter(|&id| library.is_defined(id)));
    let mut seen = EntitySet::new();
    let wanted = needed(roots, |symbol| {
        library.materialize(symbol)?;
        Ok(references(library.module(), symbol, &mut seen))
    })?;
    let from = library.module();
    let body = |&id: &SymbolId| Some((id, from.symbols[id].function()?.body.clone()?));
    let bodies: Bodies = wanted.iter().filter_map(body).collect();
    Importer::new(into, from, bodies, true).run(&wanted)
}

/// Moves the bodies of functions out of a module.
fn take_bodies(from: &mut Module, symbols: &[SymbolId]) -> Bodies {
    let mut take =
        |id: SymbolId| -> Option<(SymbolId, Box<Body>)> { Some((id, from.symbols[id].function_mut()?.body.take()?)) };
    symbols.iter().filter_map(|&id| take(id)).collect()
}

/// True for symbols that other modules do not see.
fn is_local(linkage: Linkage) -> bool {
    linkage == Linkage::Internal
}
