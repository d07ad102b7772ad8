//! What the shape of a block decides: the place of a thread along an axis is less than the block's extent.

use super::identities::combine;
use super::{Cx, Rewrite, bytes, constant, mov, mov_pred, source};
use crate::passes::launch_constants::place_bound;
use crate::passes::low_zeros::low_zeros;
use oriole_isa::{Cmp, Field, Opcode, Role, ShiftDir, ShiftType, Sign};
use oriole_ori::{BuildError, Inst, Operand, OperandKind};
use smallvec::smallvec;

/// Truth table of LOP3 for its first two sources' conjunction.
pub(super) const AND: u32 = 0xc0;

/// So many definitions lie between a place and what is decided by it: `tid >> 5 & 3 < 4`.
const DEPTH: u32 = 3;

/// Masks that take nothing away, shifts that leave nothing, comparisons whose answer is known.
pub(super) fn places(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    Ok(match inst.opcode {
        Opcode::LOP3 => masked(cx, inst),
        Opcode::SHF => shifted(cx, inst),
        Opcode::ISETP => compared(cx, inst),
        _ => None,
    })
}

/// The largest value that an operand may have, where it comes from a thread's place, a load of bytes, a mask or a shift.
fn most(cx: &Cx<'_>, operand: Operand, depth: u32) -> Option<u32> {
    let inst = cx.def_of(operand).filter(|_| !operand.has_flags())?;
    match inst.opcode {
        opcode if bytes::LOADS.contains(&opcode) => {
            let (bytes, signed) = bytes::narrow(inst.get(Field::MEM_SIZE))?;
            (!signed).then_some((1 << (8 * bytes)) - 1)
        }
        Opcode::S2R => match source(inst, Role::A)?.kind() {
            OperandKind::Special(number) => place_bound(cx.func, cx.arch, number),
            _ => None,
        },
        Opcode::SHF if depth > 0 => {
            let (value, count) = right_shift(inst)?;
            Some(most(cx, value, depth - 1).unwrap_or(u32::MAX) >> count)
        }
        Opcode::LOP3 if depth > 0 => {
            let (value, mask) = conjunction(inst)?;
            Some(most(cx, value, depth - 1).unwrap_or(u32::MAX).min(mask))
        }
        _ => None,
    }
}

/// The value and the constant of which the instruction is the conjunction.
pub(crate) fn conjunction(inst: &Inst) -> Option<(Operand, u32)> {
    let plain = source(inst, Role::Lut)?.as_imm() == Some(AND) && source(inst, Role::PD)? == Operand::pt();
    Some((source(inst, Role::A)?, constant(source(inst, Role::B)?)?)).filter(|_| plain)
}

/// The value that is shifted to the right, zeros coming in, and the count.
pub(super) fn right_shift(inst: &Inst) -> Option<(Operand, u32)> {
    let plain = inst.get(Field::SHIFT_DIR) == ShiftDir::R
        && inst.get(Field::SHIFT_TYPE) == ShiftType::U32
        && !inst.get(Field::WRAP);
    // Of the pair C:A one word; the other one must be zero.
    let (value, other) = if inst.get(Field::HI) { (Role::C, Role::A) } else { (Role::A, Role::C) };
    let count = constant(source(inst, Role::B)?).filter(|count| *count < 32)?;
    let alone = inst.get(Field::HI) || constant(source(inst, other)?) == Some(0);
    (plain && alone).then_some((source(inst, value)?, count))
}

fn masked(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    let ((value, mask), destination) = (conjunction(inst)?, source(inst, Role::D)?);
    if mask.checked_shr(low_zeros(cx.func, value, DEPTH)).unwrap_or(0) == 0 {
        return Some(smallvec![mov(destination, Operand::rz())]);
    }
    let most = most(cx, value, DEPTH)?;
    let bits = u32::MAX.checked_shr(most.leading_zeros()).unwrap_or(0);
    (bits & !mask == 0).then(|| smallvec![mov(destination, value)])
}

fn shifted(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    let ((value, count), destination) = (right_shift(inst)?, source(inst, Role::D)?);
    (most(cx, value, DEPTH)? >> count == 0).then(|| smallvec![mov(destination, Operand::rz())])
}

fn compared(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    if inst.get(Field::EX) || source(inst, Role::PD2)? != Operand::pt() {
        return None;
    }
    let limit = constant(source(inst, Role::B)?)?;
    let signed = inst.get(Field::SIGN) == Sign::S32;
    // Where some of the values are negative, the largest word is not the largest number.
    let most = most(cx, source(inst, Role::A)?, DEPTH).filter(|most| !signed || *most <= i32::MAX as u32)?;
    let number = |bits: u32| if signed { i64::from(bits as i32) } else { i64::from(bits) };
    let (limit, most) = (number(limit), number(most));
    let (all_below, all_above) = (most < limit, limit < 0);
    let holds = match inst.get(Field::CMP) {
        Cmp::LT if all_below || limit <= 0 => all_below,
        Cmp::GE if all_below || limit <= 0 => !all_below,
        Cmp::LE if most <= limit || all_above => !all_above,
        Cmp::GT if most <= limit || all_above => all_above,
        Cmp::EQ if all_below || all_above => false,
        Cmp::NE if all_below || all_above => true,
        _ => return None,
    };
    let combined = combine(inst.get(Field::BOP), holds, source(inst, Role::PA)?)?;
    Some(smallvec![mov_pred(source(inst, Role::PD)?, combined)])
}
