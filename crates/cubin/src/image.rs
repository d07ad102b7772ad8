//! A cubin laid out in memory, with its relocations applied: what a loader makes of it.

use crate::error::CubinError;
use crate::model::{Cubin, SectionIndex, SymbolIndex};

/// Where a loader wants things.
pub trait Placement {
    /// Address of an external symbol (`vprintf`, `malloc`, …), `None` if there is none: then a
    /// relocation that uses it is an error.
    fn external(&self, name: &str) -> Option<u64>;
}

/// Start addresses of the two spaces that sections are put into one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bases {
    /// Address of the first text section.
    pub code: u64,
    /// Address of the first section of global variables.
    pub global: u64,
}

/// A cubin in memory. The sections keep their ELF indices.
#[derive(Clone, Debug)]
pub struct Image {
    /// Start address of each section: a code address for text, a global address for `.nv.global`
    /// and `.nv.global.init`, 0 for shared memory and constant banks.
    pub addresses: Vec<u64>,
    /// Contents of each section after relocation; zeros for the two kinds of global variables
    /// without contents, empty for shared memory.
    pub contents: Vec<Vec<u8>>,
    /// Value of each symbol: an address in the space of its section; 0 where it is undefined and
    /// nothing uses it.
    pub symbols: Vec<u64>,
    /// One past the last code address used.
    pub code_end: u64,
    /// One past the last global address used.
    pub global_end: u64,
}

impl Image {
    /// Lays out `cubin` and applies its relocations.
    pub fn link(_cubin: &Cubin, _bases: Bases, _placement: &dyn Placement) -> Result<Image, CubinError> {
        Err(CubinError::Elf("the loader is being written".into()))
    }

    /// Address of a section, 0 if there is no such section.
    pub fn section_address(&self, index: SectionIndex) -> u64 {
        self.addresses.get(index).copied().unwrap_or(0)
    }

    /// Value of a symbol, 0 if there is no such symbol.
    pub fn symbol_value(&self, index: SymbolIndex) -> u64 {
        self.symbols.get(index).copied().unwrap_or(0)
    }
}
