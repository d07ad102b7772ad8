//! Shapes of the generated tables.

use crate::arch::URZ;
use crate::{Arch, Carries, FieldId, ImmFormat, Kinds, Opcode, Operand, OperandFlags, RegFile, Value};
use std::fmt;

include!(concat!(env!("OUT_DIR"), "/tables.rs"));

/// An instruction word as its low and its high half.
pub(crate) type Halves = [u64; 2];

/// The halves of a word.
#[inline]
pub(crate) fn halves(word: u128) -> Halves {
    [word as u64, (word >> 64) as u64]
}

/// The bits of one range, which lies in one half.
#[inline]
fn piece(word: &Halves, (at, len): (u8, u8)) -> u64 {
    word[usize::from(at >> 6 & 1)] >> (at & 63) & low_mask(len)
}

/// Up to three bit ranges (position, length) of a word, low part first; length 0 ends the list.
/// None of them crosses the middle of the word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranges([(u8, u8); 3]);

impl Ranges {
    /// The value that the word has there.
    #[inline]
    pub(crate) fn get(&self, word: &Halves) -> u64 {
        let [first, second, _] = self.0;
        let value = piece(word, first);
        if second.1 == 0 { value } else { value | self.upper(word) << first.1 }
    }

    /// The value of the second and third range.
    fn upper(&self, word: &Halves) -> u64 {
        let [_, second, third] = self.0;
        piece(word, second) | piece(word, third) << second.1
    }

    /// Set the word's bits to a value; bits of it that have no place are dropped.
    #[inline]
    pub(crate) fn put(&self, word: &mut Halves, mut value: u64) {
        for (at, len) in self.0 {
            if len == 0 {
                break;
            }
            word[usize::from(at >> 6 & 1)] |= (value & low_mask(len)) << (at & 63);
            value = value.checked_shr(len.into()).unwrap_or(0);
        }
    }

    /// Bits in all.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.0.iter().map(|r| u32::from(r.1)).sum()
    }

    /// The range with that number.
    #[inline]
    pub(crate) fn part(&self, number: usize) -> Ranges {
        Ranges([self.0[number], (0, 0), (0, 0)])
    }
}

impl fmt::Display for Ranges {
    /// `16:8`, `64:3+72:5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (at, len)) in self.0.iter().filter(|r| r.1 != 0).enumerate() {
            write!(f, "{}{at}:{len}", if number == 0 { "" } else { "+" })?;
        }
        Ok(())
    }
}

/// `len` ones.
#[inline]
pub(crate) fn low_mask(len: u8) -> u64 {
    if len >= 64 { u64::MAX } else { (1 << len) - 1 }
}

/// The number with all bits of its place inverted.
#[inline]
pub(crate) fn inverted(value: u64, ranges: &Ranges) -> u64 {
    value ^ low_mask(ranges.len() as u8)
}

/// Where an operand is in a form.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "which of them occur depends on the spec")]
pub(crate) enum Place {
    /// Nowhere: [`Form::unplaced`] has the operand.
    Nowhere,
    /// Nowhere: the value is that of the operand with this index, which comes before.
    Same(u8),
    /// A register.
    Reg(RegFile, Ranges),
    /// A register whose number is stored with all bits inverted.
    Inverted(RegFile, Ranges),
    /// A uniform register in fewer than eight bits: all ones are `URZ`.
    Uniform(Ranges),
    /// An immediate, stored without its low `shift` bits; `word`: the operand is its low 32 bits.
    Imm { ranges: Ranges, signed: bool, word: bool, shift: u8 },
    /// The top ten bits of each half of a 32-bit immediate.
    HalfTops(Ranges),
    /// The top bits (their number) of a 64-bit immediate.
    HighWord(Ranges, u8),
    /// `c[first range][second range]`, the offset stored without its low `shift` bits.
    Const { ranges: Ranges, shift: u8 },
    /// `cx[first range][second range]`, the offset stored likewise.
    Bindless { ranges: Ranges, shift: u8 },
    /// A special register's number.
    Special(Ranges),
    /// A signed distance from the next instruction, stored without its low `shift` bits.
    Label { ranges: Ranges, shift: u8 },
}

/// An operand of a form; bit 255 means that the form lacks the flag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) place: Place,
    pub(crate) neg: u8,
    pub(crate) abs: u8,
    pub(crate) not: u8,
    pub(crate) reuse: u8,
    /// Those of the four that it has.
    pub(crate) flags: OperandFlags,
    /// It may not be the zero register or the true predicate; of the barrier file it is a register of the warp's state.
    pub(crate) nonzero: bool,
}

impl Slot {
    /// The form takes the value there, as far as zero registers go; and the six scoreboards are all there are.
    #[inline]
    pub(crate) fn may_be(&self, value: Value) -> bool {
        match value {
            Value::Reg(RegFile::R | RegFile::UR, URZ) | Value::Reg(RegFile::P | RegFile::UP, 7) => !self.nonzero,
            Value::Reg(RegFile::B, number) => !self.nonzero || number >= 16,
            Value::Reg(RegFile::SB, number) => number < 6,
            _ => true,
        }
    }
}

/// A field of a form. Small on purpose: the tables of a program's instructions stay in the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldSlot {
    pub(crate) field: FieldId,
    pub(crate) ranges: Ranges,
    pub(crate) default: u8,
    /// One more than the largest value.
    values: u8,
    /// Where in `CODES` the value of each raw code is, and the raw code of each value; 255: there is none.
    decode: u16,
    encode: u16,
}

/// What [`FieldSlot::value`] and [`FieldSlot::raw`] say of what is not there.
pub(crate) const NO_CODE: u8 = 255;

impl FieldSlot {
    /// The value that the word has, or [`NO_CODE`].
    #[inline]
    pub(crate) fn value(&self, word: &Halves) -> u8 {
        CODES[usize::from(self.decode) + self.ranges.get(word) as usize]
    }

    /// The raw code of a value, or [`NO_CODE`].
    #[inline]
    pub(crate) fn raw(&self, value: u8) -> u8 {
        if value < self.values { CODES[usize::from(self.encode) + usize::from(value)] } else { NO_CODE }
    }
}

/// One way to encode an opcode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) opcode: Opcode,
    /// Bit per target.
    pub(crate) targets: u32,
    /// Bits that have the same value in all words of the form.
    pub(crate) mask: u128,
    /// That value.
    pub(crate) value: u128,
    /// Four bits per operand: [`Kinds::code`] of what the form takes there.
    pub(crate) kinds: u64,
    /// The bits of `kinds` that matter.
    pub(crate) kinds_mask: u64,
    /// One per operand of the signature.
    pub(crate) slots: &'static [Slot],
    /// One per operand of the signature: what it is where the form has no bits for it.
    pub(crate) unplaced: &'static [Operand],
    /// Positions of the others.
    pub(crate) placed: &'static [u8],
    /// In field order.
    pub(crate) fields: &'static [FieldSlot],
    /// Fields that the choice of the form implies: value and the opcode's default.
    pub(crate) fixed: &'static [(FieldId, u8, u8)],
    /// What the control word may carry.
    pub(crate) control: Carries,
}

/// All forms of an opcode, in the order in which the encoder tries them.
pub(crate) fn forms_of(opcode: Opcode) -> &'static [Form] {
    let (first, count) = FORMS_OF[opcode as usize];
    &FORMS[usize::from(first)..][..usize::from(count)]
}

/// The target's templates of an opcode; the first is the one that is printed.
pub(crate) fn syntax_of(opcode: Opcode, arch: Arch) -> impl Iterator<Item = &'static Syntax> {
    SYNTAX[opcode as usize].iter().filter(move |syntax| arch.is_in(syntax.targets))
}

/// A syntax template, for some targets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Syntax {
    pub(crate) targets: u32,
    pub(crate) items: &'static [Item],
}

/// When the offset of an address is printed as a signed number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OffsetSign {
    /// Always.
    Always,
    /// Where registers stand before it.
    UnlessAlone,
    /// Where a general register stands before it.
    WithRegister,
}

/// A piece of a syntax template.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "which of them occur depends on the spec")]
pub(crate) enum Item {
    /// Literal text.
    Text(&'static str),
    /// A dot and the field's value, if that has a text.
    Field(FieldId),
    /// The field's value alone, in the place of an operand.
    Word(FieldId),
    /// An operand, with a field as its suffix; `half`: in the style of half-precision instructions.
    Operand { index: usize, suffix: Option<FieldId>, half: bool },
    /// An operand whose 32-bit immediates are printed so; the high bits of shorter ones are signs.
    Number(usize, ImmFormat),
    /// Parts of an address.
    Address { parts: &'static [(usize, Option<FieldId>)], sign: OffsetSign },
    /// An operand that the target does not print; read as the zero register where there is none yet.
    Hidden(usize),
    /// The register so many after that of the operand, which no operand of its own names.
    Next(usize, u16),
    /// The numbers of the bits that are set in an immediate, the highest first: `{5,0}`.
    Set(usize),
    /// A constant bank with a general register in its offset: `c[0x0][R2+0x10]`.
    Indexed { bank: usize, base: usize, signed: bool },
    /// Printed when all terms of one list hold.
    Group { when: &'static [&'static [Term]], items: &'static [Item] },
}

/// A condition of a template.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "which of them occur depends on the spec")]
pub(crate) enum Term {
    /// The field has (or has not) the value.
    Field { field: FieldId, value: u8, equal: bool },
    /// The operand is not neutral (or is).
    Present { index: usize, present: bool },
    /// The operand's value is (or is not) this one.
    Value { index: usize, value: Option<Operand>, equal: bool },
    /// The operand is (or is not) an immediate 2, 4, … 2^30.
    PowerOfTwo { index: usize, is: bool },
    /// The operand's kind is (or is not) one of these.
    Kind { index: usize, kinds: Kinds, within: bool },
}
