//! Bits that lie otherwise in memory than in registers.
//!
//! In registers each element of a vector of `i1` or `i12` has a word of its own; in memory, and for a bit cast, they lie
//! without gaps. An integer of more than 64 bits ends within its second word. Such values are written from *fields*,
//! which are words and where their bits belong.

use super::error::Error;
use super::legal::{Vt, is_bit_packed};
use super::lower::Lower;
use super::memory::{Access, access_align};
use super::word_table::{Part, Word, Words};
use crate::ir::{Type, TypeId, Types};
use crate::machine::{Operand, VReg};

/// Bits from `start` on of a value, as the low bits of a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    word: Word,
    start: u64,
    bits: u32,
}

/// True for a scalar or vector that memory holds by fields.
fn is_by_fields(types: &Types, ty: TypeId) -> bool {
    is_bit_packed(types, ty) || types.int_bits(ty).is_some_and(|bits| bits > 64 && bits != 128)
}

/// True when a part of the type, or all of it, is an integer or vector of an odd width.
pub(super) fn has_odd_part(types: &Types, ty: TypeId) -> bool {
    match &types[ty] {
        Type::Array(element, _) => has_odd_part(types, *element),
        Type::Struct { fields, .. } => fields.iter().any(|&field| has_odd_part(types, field)),
        Type::Int(bits) => *bits < 8 || !bits.is_power_of_two(),
        _ => is_bit_packed(types, ty),
    }
}

impl Lower<'_> {
    /// The fields of a scalar or vector.
    fn fields(&mut self, ty: TypeId, words: &[Word]) -> Result<Vec<Field>, Error> {
        let width = self.ir.layout.bits(&self.ir.types, self.ir.types.scalar(ty));
        let mut fields = Vec::new();
        for (at, element) in self.elements_of(ty, words)?.into_iter().enumerate() {
            for (part, word) in (0..).zip(element) {
                let bits = (width - 64 * part).min(64) as u32;
                fields.push(Field { word, start: at as u64 * width + 64 * part, bits });
            }
        }
        Ok(fields)
    }

    /// Writes the words of a type, those that are read, from the fields that hold its bits.
    fn write_from_fields(&mut self, ty: TypeId, words: &[Word], fields: &[Field]) -> Result<(), Error> {
        let width = self.ir.layout.bits(&self.ir.types, self.ir.types.scalar(ty));
        let mut start = 0;
        // The words of one element, of which only the last is not full.
        let each = if width > 64 { 2 } else { 1 };
        for (at, word) in words.iter().enumerate() {
            let lanes = word.vt.lanes() as u64;
            let bits = if each == 2 { (width - 64 * (at as u64 % 2)).min(64) } else { width * lanes };
            if let Some(dst) = self.packed_dst(*word) {
                if lanes > 1 && width != u64::from(word.vt.lane().bytes()) * 8 {
                    self.write_lanes(*word, dst, (start, width as u32), fields)?;
                } else {
                    self.write_field(dst, word.vt, (start, bits as u32), fields)?;
                }
            }
            start += bits;
        }
        Ok(())
    }

    /// A packed word whose lanes are wider than the elements.
    fn write_lanes(&mut self, word: Word, dst: VReg, first: (u64, u32), fields: &[Field]) -> Result<(), Error> {
        let (start, width) = first;
        let lane = word.vt.lane();
        let mut parts = [Part::Undef; 4];
        for (at, part) in (0..).zip(&mut parts[..word.vt.lanes()]) {
            let reg = self.new_reg(lane);
            self.demand(Part::Reg(reg));
            self.write_field(reg, lane, (start + at * u64::from(width), width), fields)?;
            *part = Part::Reg(reg);
        }
        self.pack_lanes(word.vt, dst, &parts)
    }

    /// Writes a register with the bits of a range; what stands above them is not defined.
    fn write_field(&mut self, dst: VReg, vt: Vt, range: (u64, u32), fields: &[Field]) -> Result<(), Error> {
        let value = self.gather(vt, range, fields)?;
        let (t, b) = (value.vt.typed(false), value.vt.untyped());
        let src = self.src(value)?;
        match vt {
            Vt::Pred => {
                let bit = self.value(format_args!("and.{b}"), value.vt, [src, Operand::Imm(1)])?;
                self.op(format_args!("setp.ne.{}", value.vt.typed(true)), dst, [bit.into(), Operand::Imm(0)])
            }
            Vt::I8 | Vt::I16 => self.op(format_args!("cvt.u16.{t}"), dst, [src]),
            Vt::I32 | Vt::I64 if value.vt == vt => self.assign(dst, value),
            Vt::I32 => self.op(format_args!("cvt.u32.u64"), dst, [src]),
            _ => {
                let int = match vt.bits() {
                    16 => Vt::I16,
                    32 => Vt::I32,
                    _ => Vt::I64,
                };
                let bits = match int == value.vt {
                    true => self.reg(value)?,
                    false => self.value(format_args!("cvt.{}.{t}", int.typed(false)), int, [src])?,
                };
                self.copy(dst, bits);
                Ok(())
            }
        }
    }

    /// The bits of a range as an integer of 32 or 64 bits, with zeros above what the fields have.
    fn gather(&mut self, vt: Vt, range: (u64, u32), fields: &[Field]) -> Result<Word, Error> {
        let (start, bits) = range;
        let end = start + u64::from(bits);
        let inside = |field: &&Field| field.start < end && start < field.start + u64::from(field.bits);
        let fields: Vec<Field> = fields.iter().filter(inside).copied().collect();
        let wide = bits > 32 || vt.bits() == 64 || fields.iter().any(|field| field.word.vt.bits() == 64);
        let whole = if wide { Vt::I64 } else { Vt::I32 };
        let (u, b) = (whole.typed(false), whole.untyped());
        let (mut known, mut sum) = (0u64, None);
        for field in fields {
            if let Part::Bits(_) | Part::Undef = field.word.part {
                let value = if let Part::Bits(value) = field.word.part { value } else { 0 };
                let value = value & (u64::MAX >> (64 - field.bits));
                known |=
                    if field.start < start { value >> (start - field.start) } else { value << (field.start - start) };
                continue;
            }
            let mut value = self.field_value(field, whole)?;
            if field.start < start {
                let amount = Operand::Imm((start - field.start) as i64);
                value = self.value(format_args!("shr.{u}"), whole, [value.into(), amount])?;
            } else if field.start > start {
                let amount = Operand::Imm((field.start - start) as i64);
                value = self.value(format_args!("shl.{b}"), whole, [value.into(), amount])?;
            }
            sum = Some(match sum {
                None => value,
                Some(low) => self.value(format_args!("or.{b}"), whole, [VReg::into(low), value.into()])?,
            });
        }
        let known = known & (u64::MAX >> (64 - bits));
        let part = match sum {
            None => Part::Bits(known),
            Some(sum) if known == 0 => Part::Reg(sum),
            Some(sum) => {
                let constant = self.constant(whole, known);
                Part::Reg(self.value(format_args!("or.{b}"), whole, [sum.into(), constant])?)
            }
        };
        Ok(Word { vt: whole, part })
    }

    /// The bits of a field, zero-extended to 32 or 64 bits.
    fn field_value(&mut self, field: Field, whole: Vt) -> Result<VReg, Error> {
        let Field { word, bits, .. } = field;
        let t = whole.typed(false);
        if word.vt == Vt::Pred {
            let operands = [Operand::Imm(1), Operand::Imm(0), self.reg(word)?.into()];
            return self.value(format_args!("selp.{}", whole.untyped()), whole, operands);
        }
        let int = match word.vt.bits() {
            16 => Vt::I16,
            32 => Vt::I32,
            _ => Vt::I64,
        };
        let word = if word.vt.class() == int.class() {
            self.extended(word, bits, false)?
        } else {
            let source = self.reg(word)?;
            Word { vt: int, part: Part::Reg(self.copied(int, source)) }
        };
        let reg = self.reg(word)?;
        if int == whole {
            return Ok(reg);
        }
        self.value(format_args!("cvt.{t}.{}", int.typed(false)), whole, [reg.into()])
    }

    /// A bit cast between types whose words do not lie alike.
    pub(super) fn bitcast_by_fields(&mut self, from: (TypeId, &[Word]), to: (TypeId, &[Word])) -> Result<(), Error> {
        let fields = self.fields(from.0, from.1)?;
        self.write_from_fields(to.0, to.1, &fields)
    }

    /// Loads what memory holds by fields; false for everything else.
    pub(super) fn load_fields(&mut self, access: &Access, ty: TypeId, words: &[Word]) -> Result<bool, Error> {
        if !is_by_fields(&self.ir.types, ty) {
            return Ok(false);
        }
        let mut fields = Vec::new();
        for (start, bits, vt) in self.chunks(ty) {
            let reg = self.new_reg(vt);
            self.demand(Part::Reg(reg));
            let word = Word { vt, part: Part::Reg(reg) };
            self.load_by_parts(access, start / 8, bits.div_ceil(8), word)?;
            fields.push(Field { word, start, bits });
        }
        self.write_from_fields(ty, words, &fields)?;
        Ok(true)
    }

    /// Stores what memory holds by fields, with zeros above its bits; false for everything else.
    pub(super) fn store_fields(&mut self, access: &Access, ty: TypeId, words: &[Word]) -> Result<bool, Error> {
        if !is_by_fields(&self.ir.types, ty) {
            return Ok(false);
        }
        let fields = self.fields(ty, words)?;
        for (start, bits, vt) in self.chunks(ty) {
            let word = self.gather(vt, (start, bits), &fields)?;
            let word = self.extended(word, bits, false)?;
            self.store_by_parts(access, start / 8, bits.div_ceil(8), word)?;
        }
        Ok(true)
    }

    /// The integers that the bits of a type are moved by: where each starts, how many bits it has, and its register.
    fn chunks(&self, ty: TypeId) -> Vec<(u64, u32, Vt)> {
        let total = self.ir.layout.bits(&self.ir.types, ty);
        let vt = if total > 32 { Vt::I64 } else { Vt::I32 };
        (0..total.div_ceil(64)).map(|at| (64 * at, (total - 64 * at).min(64) as u32, vt)).collect()
    }

    /// Calls `f` for each element of an aggregate that has parts of odd widths: with where it is, its type and its words.
    /// False for everything else.
    pub(super) fn each_part(
        &mut self,
        access: &Access,
        ty: TypeId,
        words: &[Word],
        mut f: impl FnMut(&mut Self, &Access, TypeId, &[Word]) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let types = &self.ir.types;
        let count = match &types[ty] {
            Type::Array(_, len) => *len,
            Type::Struct { fields, .. } => fields.len() as u64,
            _ => return Ok(false),
        };
        if !has_odd_part(types, ty) {
            return Ok(false);
        }
        let mut rest = words;
        for at in 0..count {
            let offset = self.ir.layout.element_offset(&self.ir.types, ty, at);
            let element = self.ir.types.element(ty, at).ok_or_else(|| Error::new("indices beyond an aggregate"))?;
            let len = super::legal::pieces(&self.ir.types, &self.ir.layout, element)?.len();
            let (own, others) = rest.split_at(len.min(rest.len()));
            let own: Words = own.into();
            rest = others;
            f(self, &access.behind(offset), element, &own)?;
        }
        Ok(true)
    }
}

impl Access {
    /// The same access, so many bytes further on.
    fn behind(&self, offset: u64) -> Access {
        Access { place: self.place.behind(offset), words: self.words.clone(), align: access_align(self.align, offset) }
    }
}
