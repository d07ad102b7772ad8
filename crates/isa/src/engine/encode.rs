//! Instructions to 128-bit words, and which instructions have an encoding.

use super::control_word::fault_of;
use super::table::{Form, Halves, NO_CODE, Place, Ranges, Slot, forms_of, halves, inverted, low_mask};
use crate::arch::URZ;
use crate::{
    Arch, Carries, ControlFault, Field, Guard, Inst, Kinds, Operand, OperandFlags, OperandSpec, RegFile, Value,
};

/// Why an instruction has no encoding on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Illegal {
    /// The target lacks the opcode, or the spec has no encoding of it.
    #[error("the target has no such instruction")]
    Opcode,
    /// The number of operands is not that of the signature.
    #[error("wrong number of operands")]
    Count,
    /// The instruction has no guard.
    #[error("it has no guard")]
    Guard,
    /// No form takes this operand (position in the signature) beside the ones before it: its kind,
    /// register number, immediate or flags.
    #[error("operand {0} is not encodable here")]
    Operand(usize),
    /// No form has this modifier value with these operands.
    #[error("modifier '{}' is not encodable here", .0.name())]
    Field(Field),
}

/// The instruction cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// It has no form on the target.
    #[error("{mnemonic}: {reason}")]
    Illegal {
        /// The mnemonic.
        mnemonic: &'static str,
        /// What no form takes.
        reason: Illegal,
    },
    /// It must not carry what its control word has.
    #[error("{mnemonic}: {fault}")]
    Control {
        /// The mnemonic.
        mnemonic: &'static str,
        /// What it has.
        fault: ControlFault,
    },
}

/// The word of an instruction at byte address `pc` of its function.
pub fn encode(inst: &Inst, arch: Arch, pc: u64) -> Result<u128, EncodeError> {
    let form = find_form(inst, arch, Some(pc))
        .map_err(|reason| EncodeError::Illegal { mnemonic: inst.opcode.name(), reason })?;
    if let Some(fault) = fault_of(form.control, inst, arch) {
        return Err(EncodeError::Control { mnemonic: inst.opcode.name(), fault });
    }
    let format = arch.word_format();
    let guard = match inst.guard {
        _ if inst.opcode.info().unguarded => 0,
        guard => u128::from(guard.predicate & 7) | u128::from(guard.negated) << 3,
    };
    let control = u128::from(inst.control.to_bits());
    let spare = if format.is_bundled() { u128::from(inst.control.spare & 15) << format.reuse() } else { 0 };
    let mut word = halves(form.value | guard << format.guard | control << format.control | spare);
    for slot in form.fields {
        let value = inst.mods.get(slot.field).unwrap_or(slot.default);
        slot.ranges.put(&mut word, slot.raw(value).into());
    }
    let signature = inst.opcode.signature();
    for ((slot, spec), operand) in form.slots.iter().zip(signature).zip(&inst.operands) {
        put(&mut word, slot, actual(operand, spec), pc.wrapping_add(format.bytes));
    }
    Ok(u128::from(word[1]) << 64 | u128::from(word[0]))
}

/// Whether the instruction has an encoding on the target, whatever its address; branch distances are
/// not judged.
pub fn legal(inst: &Inst, arch: Arch) -> Result<(), Illegal> {
    find_form(inst, arch, None).map(|_| ())
}

/// What the control word of `inst` may carry; `None` where the instruction has no encoding on the target.
pub fn carries(inst: &Inst, arch: Arch) -> Option<Carries> {
    form_of(inst, arch).map(|form| form.control)
}

/// The first thing in the control word of `inst` that must not be there.
pub fn control_fault(inst: &Inst, arch: Arch) -> Option<ControlFault> {
    form_of(inst, arch).and_then(|form| fault_of(form.control, inst, arch))
}

/// The form of an instruction, whatever its address.
fn form_of(inst: &Inst, arch: Arch) -> Option<&'static Form> {
    find_form(inst, arch, None).ok()
}

/// The first form that fits, or what stopped the form that came farthest.
fn find_form(inst: &Inst, arch: Arch, pc: Option<u64>) -> Result<&'static Form, Illegal> {
    if inst.operands.len() != inst.opcode.signature().len() {
        return Err(Illegal::Count);
    }
    if inst.opcode.info().unguarded && inst.guard != Guard::ALWAYS {
        return Err(Illegal::Guard);
    }
    let mut reason = Illegal::Opcode;
    let bytes = arch.word_format().bytes;
    let signature = inst.opcode.signature();
    let operands = inst.operands.iter().zip(signature).take(16);
    let kinds = operands.rev().fold(0, |all, (operand, spec)| all << 4 | Kinds::code(actual(operand, spec).value));
    for form in forms_of(inst.opcode).iter().filter(|form| arch.is_in(form.targets)) {
        let wrong = (kinds ^ form.kinds) & form.kinds_mask;
        let result = match wrong {
            0 => fits(form, inst, pc.map(|pc| pc.wrapping_add(bytes))),
            _ => Err(Illegal::Operand(wrong.trailing_zeros() as usize / 4)),
        };
        match result {
            Ok(()) => return Ok(form),
            Err(why) if progress(why) > progress(reason) => reason = why,
            Err(_) => {}
        }
    }
    Err(reason)
}

/// How far a form came before it failed.
fn progress(why: Illegal) -> usize {
    match why {
        Illegal::Opcode | Illegal::Count | Illegal::Guard => 0,
        Illegal::Operand(index) => 1 + index,
        Illegal::Field(_) => usize::MAX,
    }
}

/// `next`: address of the next instruction, to judge branch distances by.
fn fits(form: &Form, inst: &Inst, next: Option<u64>) -> Result<(), Illegal> {
    let signature = inst.opcode.signature();
    for (index, slot) in form.slots.iter().enumerate() {
        let operand = actual(&inst.operands[index], &signature[index]);
        let fitting = match slot.place {
            Place::Nowhere => operand == form.unplaced[index],
            Place::Same(other) if inst.operands[usize::from(other)].value != operand.value => false,
            _ => takes(slot, operand, next),
        };
        if !fitting {
            return Err(Illegal::Operand(index));
        }
    }
    for (field, value, default) in form.fixed {
        if inst.mods.get(*field).unwrap_or(*default) != *value {
            return Err(Illegal::Field(*field));
        }
    }
    for slot in form.fields {
        if slot.raw(inst.mods.get(slot.field).unwrap_or(slot.default)) == NO_CODE {
            return Err(Illegal::Field(slot.field));
        }
    }
    for (field, value) in inst.mods.iter() {
        let known = form.fields.iter().any(|f| f.field == field) || form.fixed.iter().any(|(f, ..)| *f == field);
        if !known && value != inst.opcode.default_of(field) {
            return Err(Illegal::Field(field));
        }
    }
    Ok(())
}

/// The top ten bits of both halves of a word.
const HALF_TOPS: u64 = 0xffc0_ffc0;

/// The operand, or the neutral one where it is left out.
fn actual(operand: &Operand, spec: &OperandSpec) -> Operand {
    match (operand.value, spec.neutral) {
        (Value::None, Some(neutral)) => neutral,
        _ => *operand,
    }
}

fn takes(slot: &Slot, operand: Operand, next: Option<u64>) -> bool {
    let fitting = match (slot.place, operand.value) {
        (Place::Reg(file, ranges) | Place::Inverted(file, ranges), Value::Reg(is, number)) => {
            file == is && u64::from(number) >> ranges.len() == 0
        }
        (Place::Uniform(ranges), Value::Reg(RegFile::UR, number)) => uniform_fits(&ranges, number),
        (Place::Imm { ranges, signed, word, shift }, Value::Imm(value)) => {
            immediate_fits(&ranges, if word { extended(value) } else { value }, signed, shift)
        }
        (Place::Same(_), _) => true,
        (Place::HalfTops(_), Value::Imm(value)) => value & !HALF_TOPS == 0,
        (Place::HighWord(_, bits), Value::Imm(value)) => value << bits == 0,
        (Place::Const { ranges, shift }, Value::Const { bank, offset }) => {
            u32::from(bank) >> ranges.part(0).len() == 0 && immediate_fits(&ranges.part(1), offset.into(), false, shift)
        }
        (Place::Bindless { ranges, shift }, Value::ConstBindless { ureg, offset }) => {
            uniform_fits(&ranges.part(0), ureg) && immediate_fits(&ranges.part(1), offset.into(), false, shift)
        }
        (Place::Special(_), Value::Special(_)) => true,
        (Place::Label { ranges, shift }, Value::Label(target)) => {
            next.is_none_or(|next| immediate_fits(&ranges, distance(target, next), true, shift))
        }
        _ => false,
    };
    fitting && slot.may_be(operand.value) && slot.flags.contains(operand.flags)
}

/// Bytes from the next instruction to the target.
fn distance(target: i64, next: u64) -> u64 {
    target.wrapping_sub(next as i64) as u64
}

/// The register has a number of that many bits; all ones mean `URZ`.
fn uniform_fits(ranges: &Ranges, number: u16) -> bool {
    number == URZ || u64::from(number) < low_mask(ranges.len() as u8)
}

/// A 32-bit pattern as a signed number.
fn extended(value: u64) -> u64 {
    if value >> 32 == 0 { i64::from(value as u32 as i32) as u64 } else { value }
}

/// The value is a multiple of the scale and has room; 32-bit patterns may come sign-extended.
fn immediate_fits(ranges: &Ranges, value: u64, signed: bool, shift: u8) -> bool {
    let scaled = (value as i64) >> shift;
    if (scaled << shift) as u64 != value {
        return false;
    }
    let len = ranges.len();
    if len >= 64 {
        return true;
    }
    let as_signed = scaled >> (len - 1);
    let fits_signed = as_signed == 0 || as_signed == -1;
    let fits_unsigned = scaled >> len == 0;
    if signed { fits_signed } else { fits_unsigned || (len == 32 && fits_signed) }
}

fn put(word: &mut Halves, slot: &Slot, operand: Operand, next: u64) {
    match (slot.place, operand.value) {
        (Place::Reg(_, ranges) | Place::Uniform(ranges), Value::Reg(_, number)) => ranges.put(word, number.into()),
        (Place::Inverted(_, ranges), Value::Reg(_, number)) => ranges.put(word, inverted(number.into(), &ranges)),
        (Place::Imm { ranges, shift, .. }, Value::Imm(value)) => ranges.put(word, value >> shift),
        (Place::HalfTops(ranges), Value::Imm(value)) => ranges.put(word, value >> 6 & 0x3ff | value >> 22 << 10),
        (Place::HighWord(ranges, bits), Value::Imm(value)) => ranges.put(word, value >> (64 - bits)),
        (Place::Const { ranges, shift }, Value::Const { bank, offset }) => {
            ranges.part(0).put(word, bank.into());
            ranges.part(1).put(word, u64::from(offset) >> shift);
        }
        (Place::Bindless { ranges, shift }, Value::ConstBindless { ureg, offset }) => {
            ranges.part(0).put(word, ureg.into());
            ranges.part(1).put(word, u64::from(offset) >> shift);
        }
        (Place::Special(ranges), Value::Special(number)) => ranges.put(word, number.into()),
        (Place::Label { ranges, shift }, Value::Label(target)) => ranges.put(word, distance(target, next) >> shift),
        (Place::Same(_), _) => {}
        _ => return,
    }
    let flags = operand.flags;
    if flags == OperandFlags::empty() {
        return;
    }
    let marks = [
        (slot.neg, OperandFlags::NEG),
        (slot.abs, OperandFlags::ABS),
        (slot.not, OperandFlags::NOT),
        (slot.reuse, OperandFlags::REUSE),
    ];
    for (at, flag) in marks {
        if at != 255 && flags.contains(flag) {
            word[usize::from(at >> 6)] |= 1 << (at & 63);
        }
    }
}
