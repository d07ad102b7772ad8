//! A cubin laid out in memory, with its relocations applied: what a loader makes of it.

mod shared;

use crate::error::CubinError;
use crate::model::{
    Binding, Cubin, FileKind, Function, Relocation, Section, SectionIndex, SectionKind, Symbol, SymbolIndex, SymbolKind,
};
use crate::reloc::{RelocKind, RelocValue};
use shared::SharedLayout;
use std::collections::BTreeSet;
use std::ops::Range;

/// What a loader decides beside the start addresses.
pub trait Placement {
    /// Address of an external symbol (`vprintf`, `malloc`, …), `None` if there is none: then a
    /// relocation that uses it is an error.
    fn external(&self, name: &str) -> Option<u64>;

    /// Generic address of an address in the space of a section of this kind. Global addresses
    /// are generic already; for the others a loader with windows adds the window's start.
    fn generic(&self, kind: &SectionKind, address: u64) -> u64 {
        let _ = kind;
        address
    }
}

/// Start addresses of the two spaces that sections are put into one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bases {
    /// Address of the first text section.
    pub code: u64,
    /// Address of the first section of global variables.
    pub global: u64,
}

/// Bytes that a constant bank can have: instructions name them with 16 bits.
const MOST_CONSTANTS: u64 = 1 << 16;

/// A cubin in memory. The sections keep their ELF indices.
#[derive(Clone, Debug)]
pub struct Image {
    /// Start address of each section: a code address for text, a global address for `.nv.global`
    /// and `.nv.global.init`, the offset in its bank for constants, 0 for shared memory and the rest. In a file that is
    /// still to be linked the parts of a bank that belong to functions lie behind each other, as nvlink puts those of a
    /// kernel and of what it calls; otherwise each kernel has a bank of its own, from 0 on.
    pub addresses: Vec<u64>,
    /// Contents of each section after relocation. Empty for sections without contents: their
    /// [`Section::size`] bytes are zero (`.nv.global`) or undefined (shared memory).
    pub contents: Vec<Vec<u8>>,
    /// Value of each symbol: an address in the space of its section; 0 where it is external and
    /// unknown.
    pub symbols: Vec<u64>,
    /// One past the last code address used.
    pub code_end: u64,
    /// One past the last global address used.
    pub global_end: u64,
    /// Global addresses of the variables that no section holds ([`Symbol::is_common`]): zero at the start.
    pub common: Range<u64>,
    shared: SharedLayout,
    /// Bytes at the start of shared memory that the system keeps, where they are still to be added.
    shared_base: u64,
}

impl Image {
    /// Lays out `cubin` and applies its relocations, except those of debug information.
    pub fn link(cubin: &Cubin, bases: Bases, placement: &dyn Placement) -> Result<Image, CubinError> {
        let mut addresses = vec![0; cubin.sections.len()];
        let is_text = |kind: &SectionKind| *kind == SectionKind::Text;
        let is_global = |kind: &SectionKind| matches!(kind, SectionKind::Global | SectionKind::GlobalInit);
        let code_end = place(&cubin.sections, &mut addresses, bases.code, is_text)?;
        let global_end = place(&cubin.sections, &mut addresses, bases.global, is_global)?;
        if cubin.kind == FileKind::Relocatable {
            let banks: BTreeSet<u32> = cubin.constant_banks.iter().map(|bank| bank.bank).collect();
            // Bank 0 has the parameters of a kernel, at fixed places.
            for bank in banks.into_iter().filter(|&bank| bank != 0) {
                let end = place(&cubin.sections, &mut addresses, 0, |kind| *kind == SectionKind::Constant { bank })?;
                if end > MOST_CONSTANTS {
                    let what = format!("the parts of constant bank {bank} are {end} bytes together");
                    return Err(CubinError::Malformed { offset: 0, what });
                }
            }
        }
        let contents = cubin.sections.iter().map(|s| s.data.clone()).collect();
        let symbols = vec![0; cubin.symbols.len()];
        let common = global_end..global_end;
        let shared = SharedLayout::default();
        let mut image = Image { addresses, contents, symbols, code_end, global_end, common, shared, shared_base: 0 };
        if cubin.kind == FileKind::Relocatable {
            image.shared = SharedLayout::of_object(cubin)?;
            image.shared_base = u64::from(crate::reserved_shared(cubin.target));
        }
        image.place_symbols(cubin, placement)?;
        for relocation in &cubin.relocations {
            if cubin.sections[relocation.section].kind != SectionKind::Debug {
                image.apply(cubin, relocation, placement)?;
            }
        }
        Ok(image)
    }

    /// Gives all symbols their values.
    fn place_symbols(&mut self, cubin: &Cubin, placement: &dyn Placement) -> Result<(), CubinError> {
        for (index, symbol) in cubin.symbols.iter().enumerate() {
            self.symbols[index] = match symbol.section {
                _ if symbol.is_common => self.place_common(symbol)?,
                Some(section) if self.is_open_shared(cubin, section) => {
                    self.shared_base.wrapping_add(self.shared.place(index).unwrap_or(0))
                }
                Some(section) => self.addresses[section].wrapping_add(symbol.value),
                None if is_number(symbol) => symbol.value,
                None => placement.external(&symbol.name).unwrap_or(0),
            };
        }
        Ok(())
    }

    /// Whether the variables of this section have no places in it yet.
    fn is_open_shared(&self, cubin: &Cubin, section: SectionIndex) -> bool {
        cubin.kind == FileKind::Relocatable && cubin.sections[section].kind == SectionKind::Shared
    }

    /// Puts a variable without a section behind all global variables; its value is its alignment.
    fn place_common(&mut self, symbol: &Symbol) -> Result<u64, CubinError> {
        let malformed = |what: &str| CubinError::Malformed { offset: 0, what: format!("`{}`: {what}", symbol.name) };
        let align = symbol.value.max(1);
        if !align.is_power_of_two() {
            return Err(malformed("alignment is no power of two"));
        }
        let address = self.common.end.checked_next_multiple_of(align);
        let end = address.and_then(|address| address.checked_add(symbol.size));
        let (Some(address), Some(end)) = (address, end) else { return Err(malformed("variable does not fit")) };
        self.common.end = end;
        self.global_end = end;
        Ok(address)
    }

    /// Bytes of static shared memory of a kernel, with what the system keeps at its start where it uses any.
    pub fn shared_size(&self, cubin: &Cubin, function: &Function) -> u64 {
        match cubin.kind {
            FileKind::Executable => function.shared_size,
            FileKind::Relocatable => match self.shared.size(function.section) {
                0 => 0,
                size => self.shared_base.saturating_add(size),
            },
        }
    }

    /// Whether `symbol` is a variable in the shared memory of a kernel.
    pub fn is_shared_variable_of(&self, cubin: &Cubin, symbol: SymbolIndex, function: &Function) -> bool {
        match cubin.kind {
            FileKind::Executable => {
                let section = cubin.symbols.get(symbol).and_then(|symbol| symbol.section);
                section.is_some() && section == function.shared_section
            }
            FileKind::Relocatable => self.shared.belongs(symbol, function.section),
        }
    }

    /// Address of a section, 0 if there is no such section.
    pub fn section_address(&self, index: SectionIndex) -> u64 {
        self.addresses.get(index).copied().unwrap_or(0)
    }

    /// Value of a symbol, 0 if there is no such symbol.
    pub fn symbol_value(&self, index: SymbolIndex) -> u64 {
        self.symbols.get(index).copied().unwrap_or(0)
    }

    fn apply(&mut self, cubin: &Cubin, relocation: &Relocation, placement: &dyn Placement) -> Result<(), CubinError> {
        let section = &cubin.sections[relocation.section];
        let fail =
            |what: String| CubinError::Relocation { section: section.name.clone(), offset: relocation.offset, what };
        let kind = relocation.kind.ok_or_else(|| fail(format!("type {} is not known", relocation.number)))?;
        let place = self.addresses[relocation.section].wrapping_add(relocation.offset);
        let symbol = &cubin.symbols[relocation.symbol];
        let value = match self.value(cubin, relocation, placement) {
            Ok(value) => value,
            Err(_) if !needs_symbol(kind) => 0,
            Err(what) => return Err(fail(what)),
        };
        let start = usize::try_from(relocation.offset).unwrap_or(usize::MAX);
        let too_short = || fail(format!("{} reaches past the end of the section", kind.name));
        let bytes = self.contents[relocation.section].get_mut(start..).ok_or_else(too_short)?;
        let addend = match relocation.addend {
            Some(addend) => addend as u64,
            None => kind.extract(bytes).ok_or_else(too_short)?,
        };
        let home = symbol.section.map(|i| &cubin.sections[i]);
        let value = value.wrapping_add(addend);
        let value = match kind.value {
            RelocValue::Nothing | RelocValue::Object => return Ok(()),
            RelocValue::Zero => 0,
            RelocValue::GenericAddress => {
                home.map_or(value, |s| placement.generic(&s.kind, value.wrapping_add(self.kept_before(s))))
            }
            RelocValue::Address
            | RelocValue::ConstantOffset
            | RelocValue::FunctionAddress
            | RelocValue::UnifiedAddress => value,
            RelocValue::PcRelative => value.wrapping_sub(place),
            RelocValue::Other => return Err(fail(format!("type {} is not supported", kind.name))),
        };
        let bytes = self.contents[relocation.section].get_mut(start..).ok_or_else(too_short)?;
        if kind.patch(bytes, value, bank_of(home)) { Ok(()) } else { Err(too_short()) }
    }

    /// What a relocation's symbol stands for in code: for shared memory the offset behind what the system keeps.
    fn value(&self, cubin: &Cubin, relocation: &Relocation, placement: &dyn Placement) -> Result<u64, String> {
        let symbol = &cubin.symbols[relocation.symbol];
        let value = self.symbols[relocation.symbol];
        match symbol.section.map(|section| &cubin.sections[section]) {
            Some(section)
                if cubin.kind == FileKind::Relocatable
                    && section.kind == SectionKind::Shared
                    && symbol.kind == SymbolKind::Section =>
            {
                Err(format!("section `{}` is named as a whole, and its variables have no places yet", section.name))
            }
            Some(section) => Ok(value.wrapping_sub(self.kept_before(section))),
            None if symbol.is_common || is_number(symbol) => Ok(value),
            None if shared::is_dynamic_shared(symbol) && cubin.kind == FileKind::Relocatable => {
                Ok(self.shared.dynamic(relocation.section).unwrap_or(0))
            }
            None if placement.external(&symbol.name).is_some() => Ok(value),
            None => Err(format!("symbol `{}` is not defined: another file must be linked to this one", symbol.name)),
        }
    }

    /// Bytes that the system keeps before the variables of this section, which code adds itself.
    fn kept_before(&self, section: &Section) -> u64 {
        if section.kind == SectionKind::Shared { self.shared_base } else { 0 }
    }
}

/// A local symbol without a section, which no other file can define: its value is a number
/// (`.nv.ptx.const0.size`).
fn is_number(symbol: &Symbol) -> bool {
    symbol.section.is_none() && symbol.binding == Binding::Local && symbol.kind == SymbolKind::Object
}

fn needs_symbol(kind: &RelocKind) -> bool {
    !matches!(kind.value, RelocValue::Nothing | RelocValue::Object | RelocValue::Zero)
}

fn bank_of(section: Option<&Section>) -> u32 {
    match section.map(|s| &s.kind) {
        Some(SectionKind::Constant { bank }) => *bank,
        _ => 0,
    }
}

/// Puts the wanted sections behind each other from `start` on; gives the end.
fn place(
    sections: &[Section],
    addresses: &mut [u64],
    start: u64,
    wanted: impl Fn(&SectionKind) -> bool,
) -> Result<u64, CubinError> {
    let mut next = start;
    for (section, address) in sections.iter().zip(addresses).filter(|(s, _)| wanted(&s.kind)) {
        let malformed = |what: &str| CubinError::Malformed { offset: section.file_offset, what: what.to_owned() };
        if !section.align.is_power_of_two() {
            return Err(malformed("alignment is no power of two"));
        }
        *address = next.checked_next_multiple_of(section.align).ok_or_else(|| malformed("section does not fit"))?;
        next = address.checked_add(section.size).ok_or_else(|| malformed("section does not fit"))?;
    }
    Ok(next)
}

/// A placement without external symbols, for cubins that need none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoExternals;

impl Placement for NoExternals {
    fn external(&self, _name: &str) -> Option<u64> {
        None
    }
}

/// The address of a variable or function by name.
pub fn address_of(cubin: &Cubin, image: &Image, name: &str) -> Option<u64> {
    let is_it = |s: &Symbol| s.section.is_some() && s.name == name;
    let index = cubin.symbols.iter().position(is_it)?;
    Some(image.symbol_value(index))
}
