//! What LLVM IR has and PTX has not, as functions of a small run-time library.
//!
//! [`expand`] replaces such instructions by calls: division of 128 bits, remainders of floats, copies of any length,
//! atomic operations of types without an instruction. The library is LLVM assembly in `ir/`, with `$T` and the like where
//! types, widths and address spaces stand. A function is instantiated when a module needs it, and calls nothing outside of
//! the library; what it does itself may be expanded in turn.
//!
//! | file | what it does |
//! |---|---|
//! | `expand` | what is written out in place instead |
//! | `rules` | which instructions are replaced, by what |
//! | `atomic`, `memory` | the same for atomic operations, and for copies and fills |
//! | `mathematics` | the same for `sin` and its like: instructions, approximations made of them, functions of libdevice |
//! | `predicated`, `constrained` | the same for vectors of which some lanes count, and for arithmetic with a mode of rounding |
//! | `narrow` | the same for conversions of four-bit floats |
//! | `written` | functions whose text is written for one intrinsic |
//! | `template` | the library's text for given types |
//! | `request`, `writer` | a call of the library, and how it or what is written out is put in place |
//! | `replace` | both, for all instructions of a function |
//! | `block_addresses` | numbers for addresses of blocks, before the SSA clean-up |
//! | `constants` | constant expressions as instructions, after it |

mod atomic;
mod block_addresses;
mod constants;
mod constrained;
mod expand;
mod mathematics;
mod memory;
mod narrow;
mod predicated;
mod replace;
mod request;
mod rules;
mod target;
mod template;
mod writer;
mod written;

use rustc_hash::FxHashMap;

use crate::ir::{Module, SymbolId};
use crate::{link, text};

pub use block_addresses::number_blocks;
pub use constants::compute_constants;
pub use target::Target;
use template::Instance;

/// Why the library does not fit a module.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A function of the library cannot be read: a mistake in the library.
    #[error("the run-time library: {0}")]
    Text(#[from] Box<text::Diagnostic>),
    /// The module has a function of this name already.
    #[error(transparent)]
    Link(#[from] Box<link::Error>),
}

/// Replaces what selection does not take. True if there was something.
///
/// # Errors
///
/// When the module defines names of the library differently.
pub fn expand(module: &mut Module, target: Target) -> Result<bool, Error> {
    let mut changed = false;
    loop {
        let mut needed: FxHashMap<String, Instance> = FxHashMap::default();
        let mut expanded = false;
        let order: Vec<SymbolId> = module.definitions().map(|(id, ..)| id).collect();
        for symbol in order {
            expanded |= replace::function(module, symbol, target, &mut needed);
        }
        changed |= expanded || !needed.is_empty();
        if !expanded && needed.is_empty() {
            return Ok(changed);
        }
        let mut names: Vec<String> = needed.keys().cloned().collect();
        names.sort_unstable();
        for name in names {
            let defined = module.symbol(&name).is_some_and(|id| module.symbols[id].is_definition());
            if let Some(instance) = needed.get(&name).filter(|_| !defined) {
                let mut library = text::parse(&instance.text(), instance.file())?;
                library.layout = module.layout.clone();
                link::link(module, library, true).map_err(Box::new)?;
            }
        }
    }
}
