//! Which form takes an instruction.

use super::table::{Form, NO_CODE, Place, Ranges, Slot, forms_of, low_mask};
use crate::arch::URZ;
use crate::{Arch, FieldId, Guard, Inst, Kinds, Operand, OperandSpec, RegFile, Value};

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
    Field(FieldId),
}

/// The first form that fits, or what stopped the form that came farthest.
pub(super) fn find_form(inst: &Inst, arch: Arch, pc: Option<u64>) -> Result<&'static Form, Illegal> {
    let kinds = kinds_of(inst)?;
    let mut reason = Illegal::Opcode;
    let bytes = arch.word_format().bytes;
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

/// The kinds of the operands as [`Form::kinds`] has them, of an instruction that has as many as it should, and no guard where it
/// should have none.
pub(super) fn kinds_of(inst: &Inst) -> Result<u64, Illegal> {
    let signature = inst.opcode.signature();
    if inst.operands.len() != signature.len() {
        return Err(Illegal::Count);
    }
    if inst.opcode.info().unguarded && inst.guard != Guard::ALWAYS {
        return Err(Illegal::Guard);
    }
    let operands = inst.operands.iter().zip(signature).take(16);
    Ok(operands.rev().fold(0, |all, (operand, spec)| all << 4 | Kinds::code(actual(operand, spec).value)))
}

/// Whether all instructions with these modifiers and kinds of operands that the form takes, take it: none before it takes any.
pub(super) fn is_first(form: &'static Form, inst: &Inst, kinds: u64, arch: Arch) -> bool {
    let before = forms_of(inst.opcode).iter().take_while(|other| !std::ptr::eq(*other, form));
    let mut others = before.filter(|other| arch.is_in(other.targets) && (kinds ^ other.kinds) & other.kinds_mask == 0);
    others.all(|other| fields_fit(other, inst).is_err())
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
    operands_fit(form, inst, next)?;
    fields_fit(form, inst)
}

/// Whether the form takes the operands. `next` as above.
pub(super) fn operands_fit(form: &Form, inst: &Inst, next: Option<u64>) -> Result<(), Illegal> {
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
    Ok(())
}

/// Whether it takes the modifiers.
fn fields_fit(form: &Form, inst: &Inst) -> Result<(), Illegal> {
    for (field, value, default) in form.fixed {
        if inst.mods.raw(*field).unwrap_or(*default) != *value {
            return Err(Illegal::Field(*field));
        }
    }
    for slot in form.fields {
        if slot.raw(inst.mods.raw(slot.field).unwrap_or(slot.default)) == NO_CODE {
            return Err(Illegal::Field(slot.field));
        }
    }
    for setting in inst.mods.iter() {
        let field = setting.field();
        let known = form.fields.iter().any(|f| f.field == field) || form.fixed.iter().any(|(f, ..)| *f == field);
        if !known && setting.code() != inst.opcode.default_code(field) {
            return Err(Illegal::Field(field));
        }
    }
    Ok(())
}

/// The top ten bits of both halves of a word.
const HALF_TOPS: u64 = 0xffc0_ffc0;

/// The operand, or the neutral one where it is left out.
pub(super) fn actual(operand: &Operand, spec: &OperandSpec) -> Operand {
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
pub(super) fn distance(target: i64, next: u64) -> u64 {
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
