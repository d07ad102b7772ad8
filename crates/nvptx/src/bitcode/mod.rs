//! Reads LLVM bitcode (`.bc`) of LLVM 3.x to 22, with typed and opaque pointers.
//!
//! [`read`] gives a whole module. [`LazyModule`] reads what is outside of
//! functions and each body when it is asked for: of a library such as
//! libdevice only what a program calls is ever decoded.
//!
//! | file | what it reads |
//! |---|---|
//! | `bits`, `stream` | the bitstream container: blocks, abbreviations, records |
//! | `budget` | bounds what small records unpack to |
//! | `codes` | numbers of blocks and records |
//! | `types`, `attributes` | the tables that other records refer to (`type_table`, `attribute_list`) |
//! | `module` | variables, functions, aliases, and the order in which all is put together |
//! | `constants`, `values` | constants, and the numbering of values |
//! | `metadata`, `debug` | metadata nodes and attachments (`metadata_table`) |
//! | `function`, `inst`, `memory`, `call` | function bodies |
//!
//! A file may hold several modules; the first is read.

mod attribute_list;
mod attributes;
mod bits;
mod budget;
mod call;
mod codes;
mod constants;
mod debug;
mod error;
mod function;
mod inst;
mod memory;
mod metadata;
mod metadata_table;
mod module;
mod stream;
mod symtab;
mod type_table;
mod types;
mod values;

use rustc_hash::FxHashMap;

use crate::ir::{AddressSpace, BlockId, Module, SymbolId, SyncScope};

pub use error::Error;

use attribute_list::{AttributeList, Groups};
use budget::Budget;
use metadata_table::MetadataTable;
use stream::{BlockHead, BlockInfo};
use type_table::{TypeIndex, TypeTable};
use values::Values;

/// A module of which function bodies are read on demand.
#[derive(Clone, Debug)]
pub struct LazyModule<'a> {
    file: String,
    /// The bitcode from its magic number on.
    bytes: &'a [u8],
    info: BlockInfo,
    module: Module,
    table: TypeTable,
    groups: Groups,
    attributes: Vec<AttributeList>,
    values: Values,
    metadata: MetadataTable,
    /// Scopes of atomic operations by number; `Err` has the name of one that is not supported.
    scopes: Vec<std::result::Result<SyncScope, Box<str>>>,
    /// Names of operand bundles by number.
    bundle_tags: Vec<String>,
    /// Where `alloca` puts things.
    alloca_space: AddressSpace,
    /// Whether records count back from the next value to the one they mean.
    relative: bool,
    /// The entries of the functions' types.
    signatures: FxHashMap<SymbolId, TypeIndex>,
    /// Bodies that were not read yet.
    bodies: FxHashMap<SymbolId, BlockHead>,
    /// Functions with blocks whose addresses are taken, and the last of those.
    block_addresses: FxHashMap<SymbolId, BlockId>,
    budget: Budget,
}

/// Reads a bitcode file completely. `file_name` is for messages, and the module's name if it has none.
///
/// # Errors
///
/// What is malformed, or what the back end does not support, with its place.
pub fn read(bytes: &[u8], file_name: &str) -> std::result::Result<Module, Error> {
    let mut lazy = LazyModule::open(bytes, file_name)?;
    lazy.materialize_all()?;
    Ok(lazy.into_module())
}

impl<'a> LazyModule<'a> {
    /// Reads everything but function bodies.
    ///
    /// # Errors
    ///
    /// As of [`read`].
    pub fn open(bytes: &'a [u8], file_name: &str) -> std::result::Result<LazyModule<'a>, Error> {
        LazyModule::open_module(bytes, file_name).map_err(|error| error.in_file(file_name))
    }

    /// The module as far as it was read. Functions that are defined but not read have no body;
    /// [`LazyModule::is_defined`] tells them from declarations.
    #[must_use]
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The module as far as it was read.
    #[must_use]
    pub fn into_module(self) -> Module {
        self.module
    }

    /// True when the file defines the symbol, whether its body was read or not.
    #[must_use]
    pub fn is_defined(&self, symbol: SymbolId) -> bool {
        self.bodies.contains_key(&symbol) || self.module.symbols[symbol].is_definition()
    }

    /// Reads the body of a function, unless that was done before or there is none.
    ///
    /// # Errors
    ///
    /// As of [`read`].
    pub fn materialize(&mut self, symbol: SymbolId) -> std::result::Result<(), Error> {
        match self.bodies.remove(&symbol) {
            Some(head) => self.read_body(symbol, head).map_err(|error| error.in_file(&self.file)),
            None => Ok(()),
        }
    }

    /// Reads all bodies.
    ///
    /// # Errors
    ///
    /// As of [`read`].
    pub fn materialize_all(&mut self) -> std::result::Result<(), Error> {
        let mut symbols: Vec<SymbolId> = self.bodies.keys().copied().collect();
        symbols.sort_unstable();
        symbols.into_iter().try_for_each(|symbol| self.materialize(symbol))
    }
}
