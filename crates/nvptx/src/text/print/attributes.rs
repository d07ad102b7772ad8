//! Attributes.

use std::fmt::Write;

use crate::ir::{Attributes, MemoryEffects, ParamFlags, TypeId};

use super::super::attributes::{FUNCTION_FLAGS, GRID_CONSTANT, PARAM_FLAGS};
use super::printer::{Printer, put};
use crate::text::dialect;

impl Printer<'_> {
    /// Attributes of a parameter, argument or result of type `ty`, each with a blank behind.
    pub(super) fn param_attributes(&mut self, attributes: &Attributes, ty: TypeId) {
        for &(word, flag) in PARAM_FLAGS {
            if attributes.param.contains(flag) {
                put!(self, "{} ", word.as_str());
            }
        }
        for (word, ty) in [("byval", attributes.by_val), ("sret", attributes.sret)] {
            if let Some(ty) = ty {
                put!(self, "{word}({}) ", self.module.types.text(ty));
            }
        }
        if attributes.align != 0 {
            put!(self, "align {} ", attributes.align);
        }
        if attributes.stack_align != 0 {
            put!(self, "alignstack({}) ", attributes.stack_align);
        }
        if attributes.dereferenceable != 0 {
            put!(self, "dereferenceable({}) ", attributes.dereferenceable);
        }
        if let Some((low, high)) = attributes.range.filter(|_| self.has(dialect::RANGE)) {
            let element = self.module.types.scalar(ty);
            let bits = self.module.types.int_bits(element).unwrap_or(128);
            let (low, high) = (signed(bits, low), signed(bits, high));
            put!(self, "range({} {low}, {high}) ", self.module.types.text(element));
        }
        if attributes.param.contains(ParamFlags::GRID_CONSTANT) {
            put!(self, "\"{GRID_CONSTANT}\" ");
        }
        for pair in &attributes.strings {
            self.string_attribute(pair);
            self.out.push(' ');
        }
    }

    /// Attributes of a function, call or variable, each with a blank before.
    pub(super) fn function_attributes(&mut self, attributes: &Attributes) {
        for &(word, flag) in FUNCTION_FLAGS {
            if attributes.function.contains(flag) {
                put!(self, " {}", word.as_str());
            }
        }
        self.out.push_str(match attributes.memory {
            MemoryEffects::None => " memory(none)",
            MemoryEffects::ReadArgs => " memory(argmem: read)",
            MemoryEffects::Read => " memory(read)",
            MemoryEffects::Inaccessible => " memory(inaccessiblemem: readwrite)",
            MemoryEffects::Args => " memory(argmem: readwrite)",
            MemoryEffects::Any => "",
        });
        if attributes.stack_align != 0 {
            put!(self, " alignstack({})", attributes.stack_align);
        }
        for pair in &attributes.strings {
            self.out.push(' ');
            self.string_attribute(pair);
        }
    }

    fn string_attribute(&mut self, (key, value): &(Box<str>, Box<str>)) {
        self.quoted(key.as_bytes());
        if !value.is_empty() {
            self.out.push('=');
            self.quoted(value.as_bytes());
        }
    }
}

/// An integer of `bits` bits as LLVM writes it.
pub(super) fn signed(bits: u32, value: u128) -> i128 {
    let unused = 128 - bits.min(128);
    ((value << unused) as i128) >> unused
}
