//! The sections and symbols of a file before they have places in it.

use std::collections::HashMap;

use object::elf::{self, SectionFlags, SectionType, SymbolType};

use crate::error::WriteError;
use crate::model::Binding;
use crate::reloc::RelocKind;

/// `sh_type` values of CUDA.
pub(super) const SHT_CUDA_INFO: SectionType = SectionType(0x7000_0000);
/// ptxas 13.0.88 for `--nv-host`.
pub(super) const SHT_CUDA_HOST: SectionType = SectionType(0x7000_0087);
pub(super) const SHT_CUDA_CALLGRAPH: SectionType = SectionType(0x7000_0001);
pub(super) const SHT_CUDA_PROTOTYPE: SectionType = SectionType(0x7000_0002);

/// What a planned section holds.
pub(super) enum Body {
    /// Bytes.
    Data(Vec<u8>),
    /// No bytes in the file; memory of this size.
    NoBits(u64),
    /// Relocations of the section named by [`SectionPlan::about`].
    Relocations(Vec<RelocPlan>),
    /// Pairs of words.
    Pairs(Vec<Pair>),
}

/// A symbol and what belongs to it.
pub(super) struct Pair {
    pub(super) first: u32,
    pub(super) second: Second,
}

/// The second word of a [`Pair`].
pub(super) enum Second {
    /// A number or another symbol.
    Number(u32),
    /// The place of this text in the string table.
    Text(String),
}

/// A relocation whose symbol has its index.
pub(super) struct RelocPlan {
    pub(super) offset: u64,
    pub(super) symbol: u32,
    pub(super) kind: &'static RelocKind,
    pub(super) addend: i64,
}

/// What `sh_link` of a section names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    None,
    Symtab,
}

/// A section that will be written.
pub(super) struct SectionPlan {
    pub(super) name: String,
    pub(super) sh_type: SectionType,
    pub(super) flags: SectionFlags,
    pub(super) align: u64,
    pub(super) entry_size: u64,
    pub(super) link: Link,
    /// Name of the section whose index is `sh_info`.
    pub(super) about: Option<String>,
    /// `sh_info` where it names no section.
    pub(super) info: u32,
    pub(super) body: Body,
}

impl SectionPlan {
    /// A section of program data.
    pub(super) fn data(name: String, flags: SectionFlags, align: u64, bytes: Vec<u8>) -> Self {
        SectionPlan {
            name,
            sh_type: elf::SHT_PROGBITS,
            flags,
            align,
            entry_size: 0,
            link: Link::None,
            about: None,
            info: 0,
            body: Body::Data(bytes),
        }
    }

    /// A section of memory without contents.
    pub(super) fn nobits(name: String, flags: SectionFlags, align: u64, size: u64) -> Self {
        let body = Body::NoBits(size);
        SectionPlan { sh_type: elf::SHT_NOBITS, body, ..Self::data(name, flags, align, Vec::new()) }
    }

    /// A section of this type that refers to the symbol table.
    pub(super) fn table(name: String, sh_type: SectionType, bytes: Vec<u8>) -> Self {
        SectionPlan { sh_type, link: Link::Symtab, ..Self::data(name, SectionFlags(0), 4, bytes) }
    }

    /// A table of pairs of words.
    pub(super) fn pairs(name: &str, sh_type: SectionType, pairs: Vec<Pair>) -> Self {
        SectionPlan { body: Body::Pairs(pairs), entry_size: 8, ..Self::table(name.to_owned(), sh_type, Vec::new()) }
    }

    /// The same section, about another one.
    pub(super) fn about(mut self, section: String) -> Self {
        self.flags |= elf::SHF_INFO_LINK;
        self.about = Some(section);
        self
    }

    /// Bytes in memory.
    pub(super) fn size(&self) -> u64 {
        match &self.body {
            Body::Data(bytes) => bytes.len() as u64,
            Body::NoBits(size) => *size,
            Body::Pairs(pairs) => self.entry_size * pairs.len() as u64,
            Body::Relocations(_) => 0,
        }
    }
}

/// A symbol that will be written.
pub(super) struct SymbolPlan {
    pub(super) name: String,
    pub(super) kind: SymbolType,
    pub(super) binding: Binding,
    pub(super) other: u8,
    /// Name of its section, `None` where it is external.
    pub(super) section: Option<String>,
    pub(super) value: u64,
    pub(super) size: u64,
}

impl SymbolPlan {
    /// The symbol of a section.
    pub(super) fn of_section(name: String) -> Self {
        SymbolPlan {
            section: Some(name.clone()),
            name,
            kind: elf::STT_SECTION,
            binding: Binding::Local,
            other: 0,
            value: 0,
            size: 0,
        }
    }
}

/// The symbols in their final order, with their indices by name.
pub(super) struct SymbolTable {
    pub(super) symbols: Vec<SymbolPlan>,
    index: HashMap<String, u32>,
    /// Index of the first symbol that is not local.
    pub(super) first_global: u32,
}

impl SymbolTable {
    /// Orders the symbols (local ones first, as ELF demands) and numbers them from 1.
    pub(super) fn new(symbols: Vec<SymbolPlan>) -> Result<Self, WriteError> {
        let (mut all, globals): (Vec<_>, Vec<_>) = symbols.into_iter().partition(|s| s.binding == Binding::Local);
        let first_global = 1 + all.len() as u32;
        all.extend(globals);
        let mut index = HashMap::new();
        for (number, symbol) in (1u32..).zip(&all) {
            if index.insert(symbol.name.clone(), number).is_some() {
                return Err(WriteError::DuplicateSymbol(symbol.name.clone()));
            }
        }
        Ok(SymbolTable { symbols: all, index, first_global })
    }

    /// Index of a symbol; section symbols have the name of their section.
    pub(super) fn index(&self, name: &str) -> Option<u32> {
        self.index.get(name).copied()
    }

    /// Index of a symbol that `user` needs.
    pub(super) fn need(&self, name: &str, user: &str) -> Result<u32, WriteError> {
        let missing = || WriteError::UndefinedSymbol { name: name.to_owned(), user: user.to_owned() };
        self.index(name).ok_or_else(missing)
    }

    /// The symbol with this index.
    pub(super) fn get(&self, index: u32) -> Option<&SymbolPlan> {
        self.symbols.get(usize::try_from(index.checked_sub(1)?).ok()?)
    }
}
