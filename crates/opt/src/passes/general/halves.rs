//! Half-precision instructions choose halves of their operands themselves: no PRMT, shift or mask needs to put them in place.

use super::bytes::{Byte, bytes_of};
use super::{Cx, Rewrite, constant, source};
use oriole_isa::{Field, FieldId, Opcode, Role, Setting, Swizzle, SwzB};
use oriole_ori::{BuildError, Inst, Operand};
use smallvec::smallvec;

/// Those that have a choice for each operand.
pub(super) const CHOOSING: [Opcode; 6] =
    [Opcode::HADD2, Opcode::HMUL2, Opcode::HFMA2, Opcode::HSETP2, Opcode::HSET2, Opcode::HMNMX2];

/// An operand, the field of its choice, and how that is set.
type Choice = (Role, FieldId, fn(Swizzle) -> Setting);

const CHOICES: [Choice; 3] = [
    (Role::A, FieldId::SwzA, |choice| Field::SWZ_A.is(choice)),
    (Role::B, FieldId::SwzB, |choice| Field::SWZ_B.is(SwzB::from_code(choice.code()))),
    (Role::C, FieldId::SwzC, |choice| Field::SWZ_C.is(choice)),
];

/// An operand that an instruction put together of halves is what those are of; one that is a known word becomes two known halves.
pub(super) fn chosen(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let new = CHOICES.into_iter().find_map(|choice| chosen_at(cx, inst, choice));
    Ok(new.map(|new| smallvec![new]))
}

fn chosen_at(cx: &Cx<'_>, inst: &Inst, (role, field, set): Choice) -> Option<Inst> {
    let operand = source(inst, role)?;
    if !inst.opcode.has_field(field) {
        return None;
    }
    // The low half's number, and the high one's.
    let wanted = match Swizzle::from_code(inst.raw(field)) {
        Swizzle::H1_H0 => [0, 1],
        Swizzle::H0_H0 => [0, 0],
        Swizzle::H1_H1 => [1, 1],
        _ => return None,
    };
    if let Some(word) = cx.copied(operand.plain()).and_then(constant).filter(|_| !operand.has_flags()) {
        let [low, high] = wanted.map(|half| word >> (16 * half) & 0xffff);
        let mut new = inst.clone();
        new.set_role(role, Operand::imm(low | high << 16));
        new.mods.apply(set(Swizzle::H1_H0));
        return cx.is_legal(&new).then_some(new);
    }
    let bytes = bytes_of(cx.def_of(operand.plain())?)?;
    let [low, high] = wanted.map(|half: usize| half_of(bytes[2 * half], bytes[2 * half + 1]));
    let ((word, low), (other, high)) = (low?, high?);
    let choice = match (low, high) {
        _ if word.is_zero() => Swizzle::H1_H0,
        (0, 1) => Swizzle::H1_H0,
        (0, 0) => Swizzle::H0_H0,
        (1, 1) => Swizzle::H1_H1,
        _ => return None,
    };
    if word != other || !cx.is_stable(word) {
        return None;
    }
    let mut new = inst.clone();
    new.set_role(role, operand.flags_onto(word));
    new.mods.apply(set(choice));
    cx.is_legal(&new).then_some(new)
}

/// The word of which two bytes are a half, and which.
fn half_of(low: Byte, high: Byte) -> Option<(Operand, u32)> {
    if low.operand.is_zero() && high.operand.is_zero() {
        return Some((low.operand, 0));
    }
    let neighbours = low.operand == high.operand && low.number.is_multiple_of(2) && high.number == low.number + 1;
    (neighbours && !low.sign && !high.sign).then_some((low.operand, low.number / 2))
}
