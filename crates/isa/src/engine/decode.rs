//! 128-bit words to instructions.

use super::table::{CANDIDATES, DISPATCH, FORMS, Form, Halves, Place, Ranges, Slot, halves};
use crate::{Arch, Control, Guard, Inst, Mods, Operand, OperandFlags, Value};

/// The word is no instruction that the spec knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// No form has these opcode bits on the target.
    #[error("unknown opcode {0:#05x}")]
    Opcode(u16),
    /// Forms with these opcode bits exist, but fixed or unused bits differ.
    #[error("opcode {0:#05x}: reserved bits are set")]
    Reserved(u16),
}

/// The instruction that a word stands for; `pc` is its byte address in its function. Modifiers that
/// have the opcode's default value are left out.
pub fn decode(word: u128, arch: Arch, pc: u64) -> Result<Inst, DecodeError> {
    let bits = (word & 0xfff) as u16;
    let (first, count) = DISPATCH[arch as usize][usize::from(bits)];
    let candidates = &CANDIDATES[usize::from(first)..][..usize::from(count)];
    for index in candidates {
        let form = &FORMS[usize::from(*index)];
        if word & form.mask == form.value
            && let Some(inst) = read(form, word, pc)
        {
            return Ok(inst);
        }
    }
    Err(if candidates.is_empty() { DecodeError::Opcode(bits) } else { DecodeError::Reserved(bits) })
}

/// The instruction, unless a field's code is reserved.
fn read(form: &Form, word: u128, pc: u64) -> Option<Inst> {
    let halves = &halves(word);
    let mut mods = Mods::new();
    for slot in form.fields {
        let value = slot.decode[slot.ranges.get(halves) as usize];
        if value == 255 {
            return None;
        }
        if value != slot.default {
            // Fields of a form are in field order.
            mods.push(slot.field, value);
        }
    }
    for (field, value, default) in form.fixed {
        if value != default {
            mods.set(*field, *value);
        }
    }
    let signature = form.opcode.signature();
    let operands =
        form.slots.iter().zip(signature).map(|(slot, spec)| operand(slot, spec.neutral, halves, pc)).collect();
    let guard = Guard { predicate: (word >> 12) as u8 & 7, negated: word >> 15 & 1 == 1 };
    Some(Inst { opcode: form.opcode, guard, mods, operands, control: Control::from_word(word) })
}

fn operand(slot: &Slot, neutral: Option<Operand>, word: &Halves, pc: u64) -> Operand {
    let value = match slot.place {
        Place::Neutral => return neutral.unwrap_or(Operand::NONE),
        Place::Fixed(fixed) => return fixed,
        Place::Reg(file, ranges) => Value::Reg(file, ranges.get(word) as u16),
        Place::Imm { ranges, signed, shift } => Value::Imm(scaled(&ranges, word, signed, shift)),
        Place::HighWord(ranges, bits) => Value::Imm(ranges.get(word) << (64 - bits)),
        Place::Const(ranges) => {
            Value::Const { bank: ranges.part(0).get(word) as u8, offset: ranges.part(1).get(word) as u16 }
        }
        Place::Bindless(ranges) => {
            Value::ConstBindless { ureg: ranges.part(0).get(word) as u16, offset: ranges.part(1).get(word) as u16 }
        }
        Place::Special(ranges) => Value::Special(ranges.get(word) as u8),
        Place::Label { ranges, shift } => {
            let distance = scaled(&ranges, word, true, shift) as i64;
            Value::Label((pc as i64).wrapping_add(16).wrapping_add(distance))
        }
    };
    Operand { value, flags: flags(slot, word) }
}

fn flags(slot: &Slot, word: &Halves) -> OperandFlags {
    let bit =
        |at: u8, flag: u8| if at == 255 { 0 } else { ((word[usize::from(at >> 6)] >> (at & 63)) as u8 & 1) * flag };
    OperandFlags::from_bits(
        bit(slot.neg, OperandFlags::NEG.bits())
            | bit(slot.abs, OperandFlags::ABS.bits())
            | bit(slot.not, OperandFlags::NOT.bits())
            | bit(slot.reuse, OperandFlags::REUSE.bits()),
    )
}

/// A number of the word, sign-extended to 64 bits if `signed`.
fn scaled(ranges: &Ranges, word: &Halves, signed: bool, shift: u32) -> u64 {
    let raw = ranges.get(word);
    let unused = 64 - ranges.len();
    let value = if signed { ((raw << unused) as i64 >> unused) as u64 } else { raw };
    value << shift
}

impl Control {
    /// The scheduling bits of a word.
    pub fn from_word(word: u128) -> Control {
        let bits = (word >> 105) as u32;
        Control {
            stall: bits as u8 & 15,
            stay: bits >> 4 & 1 == 1,
            write_scoreboard: (bits >> 5) as u8 & 7,
            read_scoreboard: (bits >> 8) as u8 & 7,
            wait_mask: (bits >> 11) as u8 & 63,
        }
    }

    /// The scheduling bits, in their place in the word.
    pub fn to_word(self) -> u128 {
        let bits = u32::from(self.stall & 15)
            | u32::from(self.stay) << 4
            | u32::from(self.write_scoreboard & 7) << 5
            | u32::from(self.read_scoreboard & 7) << 8
            | u32::from(self.wait_mask & 63) << 11;
        u128::from(bits) << 105
    }
}
