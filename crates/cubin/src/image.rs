//! A cubin laid out in memory, with its relocations applied: what a loader makes of it.

use crate::error::CubinError;
use crate::model::{Cubin, FileKind, Relocation, Section, SectionIndex, SectionKind, Symbol, SymbolIndex};
use crate::reloc::{RelocKind, RelocValue};
use std::collections::BTreeSet;

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
        let symbols = cubin.symbols.iter().map(|symbol| match symbol.section {
            Some(section) => addresses[section].wrapping_add(symbol.value),
            None => placement.external(&symbol.name).unwrap_or(0),
        });
        let symbols = symbols.collect();
        let contents = cubin.sections.iter().map(|s| s.data.clone()).collect();
        let mut image = Image { addresses, contents, symbols, code_end, global_end };
        for relocation in &cubin.relocations {
            if cubin.sections[relocation.section].kind != SectionKind::Debug {
                image.apply(cubin, relocation, placement)?;
            }
        }
        Ok(image)
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
        if symbol.section.is_none() && needs_symbol(kind) && placement.external(&symbol.name).is_none() {
            return Err(fail(format!("symbol `{}` is not defined", symbol.name)));
        }
        let start = usize::try_from(relocation.offset).unwrap_or(usize::MAX);
        let too_short = || fail(format!("{} reaches past the end of the section", kind.name));
        let bytes = self.contents[relocation.section].get_mut(start..).ok_or_else(too_short)?;
        let addend = match relocation.addend {
            Some(addend) => addend as u64,
            None => kind.extract(bytes).ok_or_else(too_short)?,
        };
        let home = symbol.section.map(|i| &cubin.sections[i]);
        let value = self.symbols[relocation.symbol].wrapping_add(addend);
        let value = match kind.value {
            RelocValue::Nothing | RelocValue::Object => return Ok(()),
            RelocValue::Zero => 0,
            RelocValue::GenericAddress => home.map_or(value, |s| placement.generic(&s.kind, value)),
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
