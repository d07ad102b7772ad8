//! Relocations: those that the writer can apply itself, and those left to the loader.

use object::elf;

use super::layout::Layout;
use super::plan::{Body, RelocPlan, SectionPlan, SymbolTable};
use super::variables::CONSTANT;
use crate::error::WriteError;
use crate::model::FileKind;
use crate::reloc::RelocValue;
use crate::spec::RelocSpec;

/// Bank of [`CONSTANT`].
const CONSTANT_BANK: u32 = 3;

/// Gathers the relocations of one section after the other.
pub(super) struct Relocator<'a> {
    pub(super) layout: &'a Layout,
    pub(super) kind: FileKind,
    pub(super) symbols: &'a SymbolTable,
    /// The relocation sections made so far.
    pub(super) sections: Vec<SectionPlan>,
}

impl Relocator<'_> {
    /// Takes the relocations of a part of a section that starts at `base`; patches `bytes`, the
    /// contents of the whole section, where the value is known now. Gives those that remain.
    pub(super) fn take(
        &self,
        owner: &str,
        bytes: &mut [u8],
        base: u64,
        relocations: &[RelocSpec],
    ) -> Result<Vec<RelocPlan>, WriteError> {
        let mut rest = Vec::new();
        for relocation in relocations {
            let too_far = || WriteError::OutOfRange {
                owner: owner.to_owned(),
                what: format!("relocation at {:#x} reaches past the end", relocation.offset),
            };
            let symbol = self.symbols.need(&relocation.symbol, owner)?;
            let offset = base + u64::from(relocation.offset);
            let start = usize::try_from(offset).ok().filter(|&o| o <= bytes.len()).ok_or_else(too_far)?;
            let known = self.known_value(symbol, relocation.kind.value);
            let (value, bank) = known.unwrap_or((0, 0));
            let value = if known.is_some() { value.wrapping_add(relocation.addend as u64) } else { 0 };
            if !relocation.kind.patch(&mut bytes[start..], value, bank) {
                return Err(too_far());
            }
            if known.is_none() {
                rest.push(RelocPlan { offset, symbol, kind: relocation.kind, addend: relocation.addend });
            }
        }
        Ok(rest)
    }

    /// Value and bank of a symbol if nothing can move it any more: shared memory and constant
    /// banks of a linked file start at fixed places. What the system reserves of shared memory is
    /// not part of the value: the code adds it, as nvlink and ptxas have it.
    fn known_value(&self, symbol: u32, wanted: RelocValue) -> Option<(u64, u32)> {
        let plain = matches!(wanted, RelocValue::Address | RelocValue::ConstantOffset);
        if self.kind == FileKind::Relocatable || !plain {
            return None;
        }
        let symbol = self.symbols.get(symbol)?;
        match symbol.section.as_deref()? {
            CONSTANT => Some((symbol.value, CONSTANT_BANK)),
            name if name.starts_with(".nv.shared.") => {
                Some((symbol.value.wrapping_sub(u64::from(self.layout.reserved_shared)), 0))
            }
            _ => None,
        }
    }

    /// Makes the relocation sections for a section: REL for those without addend on targets that
    /// have it, RELA for the rest.
    pub(super) fn add_section(&mut self, section: &str, relocations: Vec<RelocPlan>) {
        let is_rel = |r: &RelocPlan| !self.layout.always_rela && r.addend == 0;
        let (rel, rela): (Vec<_>, Vec<_>) = relocations.into_iter().partition(is_rel);
        for (prefix, sh_type, entry_size, list) in [(".rel", elf::SHT_REL, 16, rel), (".rela", elf::SHT_RELA, 24, rela)]
        {
            if !list.is_empty() {
                let table = SectionPlan::table(format!("{prefix}{section}"), sh_type, Vec::new());
                let body = Body::Relocations(list);
                let plan = SectionPlan { body, align: 8, entry_size, ..table };
                self.sections.push(plan.about(section.to_owned()));
            }
        }
    }
}
