//! 128-bit words to instructions.

use super::table::{
    CANDIDATES, DISPATCH, FORMS, Form, Halves, NO_CODE, Place, Ranges, Slot, halves, inverted, low_mask,
};
use crate::arch::{URZ, WordFormat};
use crate::{Arch, Control, Guard, Inst, Mods, Opcode, Operand, OperandFlags, RegFile, Setting, Value};
use smallvec::SmallVec;

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
    let format = arch.word_format();
    let bits = (word >> format.opcode) as u16 & 0xfff;
    let candidates = CANDIDATES[usize::from(DISPATCH[arch as usize][usize::from(bits)])];
    // The instruction is made where it is returned: to move it right after its parts were stored would
    // wait for the stores, which costs as much as all the rest.
    let mut result = Ok(Inst {
        opcode: Opcode::ALL[0],
        guard: Guard::ALWAYS,
        mods: Mods::new(),
        operands: SmallVec::new(),
        control: Control::NONE,
    });
    let found = match &mut result {
        Ok(inst) => candidates.iter().any(|index| {
            let form = &FORMS[usize::from(*index)];
            word & form.mask == form.value && read(form, word, format, pc, inst)
        }),
        Err(_) => false,
    };
    if !found {
        result = Err(if candidates.is_empty() { DecodeError::Opcode(bits) } else { DecodeError::Reserved(bits) });
    }
    result
}

/// Makes `inst` the instruction; false if the form does not allow what the word has.
#[inline]
fn read(form: &Form, word: u128, format: WordFormat, pc: u64, inst: &mut Inst) -> bool {
    let halves = &halves(word);
    inst.mods.clear();
    for slot in form.fields {
        let value = slot.value(halves);
        if value == NO_CODE {
            return false;
        }
        if value != slot.default {
            // Fields of a form are in field order.
            inst.mods.push(Setting::raw(slot.field, value));
        }
    }
    for (field, value, default) in form.fixed {
        if value != default {
            inst.mods.apply(Setting::raw(*field, *value));
        }
    }
    let next = pc.wrapping_add(format.bytes);
    inst.operands.clear();
    inst.operands.extend_from_slice(form.unplaced);
    let operands = inst.operands.as_mut_slice();
    for index in form.placed.iter().map(|index| usize::from(*index)) {
        let slot = &form.slots[index];
        // Most operands are registers; a shorter way for them.
        let found = match slot.place {
            Place::Reg(file, ranges) => {
                let value = Value::Reg(file, ranges.get(halves) as u16);
                operands[index] = Operand { value, flags: flags(slot, halves) };
                slot.may_be(value)
            }
            _ => operand(slot, operands, halves, next).map(|operand| operands[index] = operand).is_some(),
        };
        if !found {
            return false;
        }
    }
    inst.opcode = form.opcode;
    inst.control = Control::from_bits((word >> format.control) as u32);
    if format.is_bundled() {
        inst.control.spare = spare(form, (word >> format.reuse()) as u8 & 15, format.reuse(), operands);
    }
    inst.guard = match (word >> format.guard) as u8 {
        _ if form.opcode.info().unguarded => Guard::ALWAYS,
        bits => Guard { predicate: bits & 7, negated: bits >> 3 & 1 == 1 },
    };
    true
}

/// Those of a 64-bit word's reuse bits that the operands do not show; the highest hides all of them.
fn spare(form: &Form, bits: u8, first: u8, operands: &mut [Operand]) -> u8 {
    if bits >> 3 == 1 {
        operands.iter_mut().for_each(|o| o.flags = o.flags.without(OperandFlags::REUSE));
        return bits;
    }
    let shown = form.slots.iter().filter(|slot| slot.reuse != 255).fold(0, |all, slot| all | 1 << (slot.reuse - first));
    bits & !shown
}

/// Nothing if the form does not allow what the word has. `before` holds the operands that come first,
/// `next` is the address of the next instruction.
fn operand(slot: &Slot, before: &[Operand], word: &Halves, next: u64) -> Option<Operand> {
    let value = match slot.place {
        Place::Nowhere => return Some(Operand::NONE),
        Place::Same(other) => before[usize::from(other)].value,
        Place::Reg(file, ranges) => Value::Reg(file, ranges.get(word) as u16),
        Place::Inverted(file, ranges) => Value::Reg(file, inverted(ranges.get(word), &ranges) as u16),
        Place::Uniform(ranges) => Value::Reg(RegFile::UR, widened(ranges.get(word), ranges)),
        Place::Imm { ranges, signed, word: low, shift } => {
            let value = scaled(&ranges, word, signed, shift);
            Value::Imm(if low { value & 0xffff_ffff } else { value })
        }
        Place::HalfTops(ranges) => {
            let tops = ranges.get(word);
            Value::Imm((tops & 0x3ff) << 6 | tops >> 10 << 22)
        }
        Place::HighWord(ranges, bits) => Value::Imm(ranges.get(word) << (64 - bits)),
        Place::Const { ranges, shift } => {
            Value::Const { bank: ranges.part(0).get(word) as u8, offset: (ranges.part(1).get(word) << shift) as u16 }
        }
        Place::Bindless { ranges, shift } => {
            let ureg = widened(ranges.part(0).get(word), ranges.part(0));
            Value::ConstBindless { ureg, offset: (ranges.part(1).get(word) << shift) as u16 }
        }
        Place::Special(ranges) => Value::Special(ranges.get(word) as u8),
        Place::Label { ranges, shift } => {
            let distance = scaled(&ranges, word, true, shift) as i64;
            Value::Label((next as i64).wrapping_add(distance))
        }
    };
    slot.may_be(value).then(|| Operand { value, flags: flags(slot, word) })
}

/// The number of a uniform register: `URZ` is all ones in every width.
fn widened(raw: u64, ranges: Ranges) -> u16 {
    if raw == low_mask(ranges.len() as u8) { URZ } else { raw as u16 }
}

fn flags(slot: &Slot, word: &Halves) -> OperandFlags {
    if slot.flags == OperandFlags::empty() {
        return slot.flags;
    }
    let bit = |at: u8, flag: OperandFlags| ((word[usize::from(at >> 6 & 1)] >> (at & 63)) as u8 & 1) * flag.bits();
    let bits = bit(slot.neg, OperandFlags::NEG)
        | bit(slot.abs, OperandFlags::ABS)
        | bit(slot.not, OperandFlags::NOT)
        | bit(slot.reuse, OperandFlags::REUSE);
    // Flags that the slot lacks gave the bit of some other place.
    OperandFlags::from_bits(bits & slot.flags.bits())
}

/// A number of the word, sign-extended to 64 bits if `signed`.
fn scaled(ranges: &Ranges, word: &Halves, signed: bool, shift: u8) -> u64 {
    let raw = ranges.get(word);
    let unused = 64 - ranges.len();
    let value = if signed { ((raw << unused) as i64 >> unused) as u64 } else { raw };
    value << shift
}

impl Control {
    /// From the 17 scheduling bits of an instruction, lowest first: stall, stay, the two scoreboards,
    /// wait mask. Higher bits are ignored.
    pub fn from_bits(bits: u32) -> Control {
        Control {
            stall: bits as u8 & 15,
            stay: bits >> 4 & 1 == 1,
            write_scoreboard: (bits >> 5) as u8 & 7,
            read_scoreboard: (bits >> 8) as u8 & 7,
            wait_mask: (bits >> 11) as u8 & 63,
            spare: 0,
        }
    }

    /// The 17 scheduling bits, as [`Control::from_bits`] takes them.
    pub fn to_bits(self) -> u32 {
        u32::from(self.stall & 15)
            | u32::from(self.stay) << 4
            | u32::from(self.write_scoreboard & 7) << 5
            | u32::from(self.read_scoreboard & 7) << 8
            | u32::from(self.wait_mask & 63) << 11
    }
}
