//! Modules: functions, variables, constant banks.

use crate::entity::{FuncId, Symbol};
use crate::function::Function;
use crate::space::MemSpace;
use cranelift_entity::PrimaryMap;
use oriole_isa::Arch;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Name of the symbol for what linkers add to an address that is called, where functions of several
/// linked programs can be called: `__UFT_OFFSET`.
pub const UNIFIED_OFFSET: &str = "__UFT_OFFSET";

/// Constant bank that holds the 8-byte addresses of the symbols in [`Module::address_table`].
pub const ADDRESS_BANK: u8 = 4;

/// Who can see a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// This module only.
    Internal,
    /// `.visible`: defined here, seen by others.
    Visible,
    /// `.weak`: defined here, one of several equal definitions stays.
    Weak,
    /// `.common`: merged with others of the name.
    Common,
    /// `.extern`: defined elsewhere.
    External,
}

/// How an address is stored in initialised data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataRelocKind {
    /// The address in its own space.
    Address,
    /// The generic address (`generic(symbol)`).
    Generic,
    /// Byte `n` of the address (`0xff(symbol)` masks): n = 0 is the lowest.
    Byte(u8),
}

/// An address to be filled into initialised data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataReloc {
    /// Byte offset in the data.
    pub offset: u64,
    /// Bytes written: 1, 4 or 8.
    pub size: u8,
    /// Whose address.
    pub symbol: Symbol,
    /// Added to the address.
    pub addend: i64,
    /// How the address is stored.
    pub kind: DataRelocKind,
}

/// A variable in some memory space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// `.global`, `.shared`, `.const` or `.local`.
    pub space: MemSpace,
    /// Bytes; 0 for an unsized array (dynamic shared memory).
    pub size: u64,
    /// Alignment in bytes, a power of two.
    pub align: u32,
    /// Initial bytes; empty where it is not initialised. Bytes beyond are zero.
    pub init: Vec<u8>,
    /// Addresses within the initial bytes.
    pub relocs: Vec<DataReloc>,
    /// Byte offset in its space or constant bank, once laid out ([`Module::lay_out`]).
    pub offset: Option<u64>,
}

/// Offset that a kernel's parameter has where it is a texture, sampler or surface: it takes no bytes, and its
/// name is that of the symbol.
pub const OBJECT_PARAM: u32 = 0xffff;

/// What a variable of opaque type stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// `.texref`
    Texture,
    /// `.samplerref`
    Sampler,
    /// `.surfref`
    Surface,
}

/// A texture, sampler or surface that the driver binds to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Which of them.
    pub kind: ObjectKind,
    /// A sampler's initial address modes of three axes and filter, a byte each from the lowest on, numbered as
    /// the PTX manual lists their words; 0xff: not given.
    pub modes: u32,
    /// A sampler's `force_unnormalized_coords`.
    pub unnormalized: Option<bool>,
}

/// A 32-bit word of constant bank 0, behind the parameters, with the numbers of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectSlot {
    /// Byte offset in the bank.
    pub offset: u32,
    /// What it holds: one object, or a texture and the sampler that reads it.
    pub objects: SmallVec<[Symbol; 2]>,
}

/// What a symbol names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A texture, sampler or surface. Internal ones are parameters.
    Object(Object),
    /// A number that the driver puts into code: bytes of an entry of one of its tables.
    DriverValue,
    /// A variable.
    Variable(Variable),
    /// A function with a body in this module.
    Function(FuncId),
    /// A function that is only declared (extern, or `vprintf` and such).
    ExternalFunction,
}

/// A named object of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolData {
    /// Its name, unique in the module.
    pub name: String,
    /// Who sees it.
    pub linkage: Linkage,
    /// What it is.
    pub kind: SymbolKind,
}

/// Everything that becomes one cubin.
#[derive(Clone, Debug)]
pub struct Module {
    /// The target.
    pub arch: Arch,
    /// Functions in order of definition.
    pub functions: PrimaryMap<FuncId, Function>,
    /// Variables and functions by name.
    pub symbols: PrimaryMap<Symbol, SymbolData>,
    /// Contents of constant banks that the compiler fills besides `.const` variables, by bank number.
    pub const_banks: BTreeMap<u8, Vec<u8>>,
    /// Bank 4: the 8 bytes at `8 * i` hold the address of symbol `i` of this list.
    pub address_table: Vec<Symbol>,
    /// Device functions whose address is taken, in the order of their numbers ([`Module::function_number`]).
    pub function_table: Vec<Symbol>,
    /// Words of bank 0 with the numbers of objects, by offset.
    pub object_slots: Vec<ObjectSlot>,
    /// `.target texmode_independent`: instructions name samplers, textures do not bring their own.
    pub independent_samplers: bool,
    /// Source files, as source locations number them.
    pub files: Vec<String>,
}

impl Module {
    /// An empty module for `arch`.
    pub fn new(arch: Arch) -> Self {
        Module {
            arch,
            functions: PrimaryMap::new(),
            symbols: PrimaryMap::new(),
            const_banks: BTreeMap::new(),
            address_table: Vec::new(),
            function_table: Vec::new(),
            object_slots: Vec::new(),
            independent_samplers: false,
            files: Vec::new(),
        }
    }

    /// Add a symbol.
    pub fn add_symbol(&mut self, name: &str, linkage: Linkage, kind: SymbolKind) -> Symbol {
        self.symbols.push(SymbolData { name: name.to_owned(), linkage, kind })
    }

    /// The symbol of that name.
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        self.symbols.iter().find(|(_, data)| data.name == name).map(|(symbol, _)| symbol)
    }

    /// The body of a function symbol.
    pub fn function_of(&self, symbol: Symbol) -> Option<FuncId> {
        match self.symbols[symbol].kind {
            SymbolKind::Function(id) => Some(id),
            _ => None,
        }
    }

    /// The variable behind a symbol.
    pub fn variable(&self, symbol: Symbol) -> Option<&Variable> {
        match &self.symbols[symbol].kind {
            SymbolKind::Variable(variable) => Some(variable),
            _ => None,
        }
    }

    /// Byte offset in constant bank 4 of the symbol's address; a slot is made on first request.
    pub fn address_slot(&mut self, symbol: Symbol) -> u32 {
        let at = self.address_table.iter().position(|s| *s == symbol).unwrap_or_else(|| {
            self.address_table.push(symbol);
            self.address_table.len() - 1
        });
        8 * at as u32
    }

    /// What stands for the address of a device function in a linked module: 8 times its place in
    /// [`Module::function_table`], from 1 on. Every kernel has its own copy of the function, and the 8 bytes
    /// there in its bank 2 hold the copy's offset in the kernel's code.
    pub fn function_number(&mut self, symbol: Symbol) -> u64 {
        let at = self.function_table.iter().position(|s| *s == symbol).unwrap_or_else(|| {
            self.function_table.push(symbol);
            self.function_table.len() - 1
        });
        8 * (at as u64 + 1)
    }

    /// Bytes of bank 2 in which the offsets of functions stand, with the place of none; 0 where no address is taken.
    pub fn function_table_bytes(&self) -> u32 {
        if self.function_table.is_empty() { 0 } else { 8 * (self.function_table.len() as u32 + 1) }
    }

    /// Byte offset in constant bank 0 of the word with the numbers of `objects`; a new one lies at `start` or
    /// behind the last.
    pub fn object_slot(&mut self, objects: &[Symbol], start: u32) -> u32 {
        if let Some(slot) = self.object_slots.iter().find(|slot| slot.objects.as_slice() == objects) {
            return slot.offset;
        }
        let offset = self.object_slots.last().map_or(start, |last| last.offset.saturating_add(4));
        self.object_slots.push(ObjectSlot { offset, objects: objects.into() });
        offset
    }

    /// Give every sized variable of `space` an offset, in order of definition from `base` on; returns
    /// the end. Unsized variables (dynamic shared memory) all start at the end, aligned.
    pub fn lay_out(&mut self, space: MemSpace, base: u64) -> u64 {
        let mut end = base;
        for unsized_pass in [false, true] {
            for data in self.symbols.values_mut() {
                let SymbolKind::Variable(variable) = &mut data.kind else { continue };
                if variable.space == space && (variable.size == 0) == unsized_pass {
                    let start = end.next_multiple_of(u64::from(variable.align.max(1)));
                    variable.offset = Some(start);
                    end = if unsized_pass { end } else { start + variable.size };
                }
            }
        }
        end
    }
}
