//! Puts modules together.
//!
//! [`link`] merges a module into another by LLVM's linkage rules. [`link_library`] takes only what
//! is needed from a library in bitcode, and reads only the bodies of that: linking two functions of
//! libdevice reads its symbol table and those two. [`resolve_reflect`] gives `__nvvm_reflect` its
//! values, and [`strip_unused`] drops what nothing uses any more.

mod error;
mod import;
mod needed;
mod reflect;
mod rules;
mod strip;

use cranelift_entity::EntitySet;

use crate::bitcode::LazyModule;
use crate::ir::{Body, Module, SymbolId};

pub use error::Error;
pub use reflect::{Reflect, resolve_reflect};
pub use strip::strip_unused;

use import::{Bodies, Importer};
use needed::{needed, references};

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
