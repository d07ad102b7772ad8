//! Divisions of words by what turns out to be a constant.
//!
//! Lowering divides by a reciprocal: `I2F.RP`, `MUFU.RCP`, two units of the last place less, `F2I`, and one step of Newton's make a
//! number that is not above `2^32 / divisor` and little below it. Quotients by that are one or two too small, and are corrected. So any number
//! as near will do: for a constant, `floor(2^32 / divisor)`.

use super::bounds::right_shift;
use super::{Cx, Rewrite, constant, mask_of, mov, mul_field, shift_of, source, word};
use oriole_isa::{Field, Ifmt, Mufu, Mul, Opcode, RndInt, Role, ShiftDir, Sign};
use oriole_ori::{BuildError, Inst, Operand};
use rustc_apfloat::ieee::Single;
use rustc_apfloat::{Float, Round};
use smallvec::smallvec;

/// What is added to the bits of the divisor's reciprocal: it is times 2^32 then, less two units of the last place.
const SCALE: u32 = 0x0fff_fffe;

/// The reciprocal of a constant is one.
pub(super) fn reciprocal(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    Ok(divisor(cx, inst).and_then(|divisor| {
        let reciprocal = u32::try_from((1u64 << 32) / u64::from(divisor)).unwrap_or(u32::MAX);
        Some(smallvec![mov(source(inst, Role::D)?, word(reciprocal))])
    }))
}

/// The constant of which the instruction makes the reciprocal.
fn divisor(cx: &Cx<'_>, inst: &Inst) -> Option<u32> {
    let (first, addend) = (source(inst, Role::A)?, source(inst, Role::C)?);
    if !is_high_product(inst) || addend.has_flags() {
        return None;
    }
    let [low, high] = cx.pair(addend)?;
    let is_zero = cx.copied(Operand::reg(low)).is_some_and(|low| low.is_zero());
    let high = cx.copied(Operand::reg(high)).unwrap_or(Operand::reg(high));
    if !is_zero || high != first {
        return None;
    }
    let error = cx.def_of(source(inst, Role::B)?)?;
    let plain = error.opcode == Opcode::IMAD && mul_field(error) == Mul::LO && !error.get(Field::X);
    if !plain || source(error, Role::A)? != first || source(error, Role::C)? != Operand::rz() {
        return None;
    }
    let divisor = constant(source(error, Role::B)?)?.wrapping_neg();
    let whole = cx.def_of(first)?;
    let rounds = whole.opcode == Opcode::F2I
        && whole.get(Field::FTZ)
        && whole.get(Field::DST_INT) == Ifmt::U32
        && whole.get(Field::RND_INT) == RndInt::TRUNC;
    let scaled = cx.def_of(source(whole, Role::B).filter(|_| rounds)?)?;
    let is_scaled = scaled.opcode == Opcode::IADD3 && !scaled.get(Field::X);
    let (inverse, by, rest) = (source(scaled, Role::A)?, source(scaled, Role::B)?, source(scaled, Role::C)?);
    if !is_scaled || constant(by) != Some(SCALE) || !rest.is_zero() || inverse.has_flags() {
        return None;
    }
    let inverse =
        cx.def_of(inverse).filter(|inst| inst.opcode == Opcode::MUFU && inst.get(Field::MUFU) == Mufu::RCP)?;
    let float = constant(source(inverse, Role::B)?)?;
    let rounded = Single::from_u128_r(divisor.into(), Round::TowardPositive).value.to_bits() as u32;
    (divisor != 0 && float == rounded).then_some(divisor)
}

/// `IMAD.HI.U32` without carries.
fn is_high_product(inst: &Inst) -> bool {
    let plain = inst.opcode == Opcode::IMAD && mul_field(inst) == Mul::HI && !inst.get(Field::X);
    plain && inst.get(Field::SIGN) == Sign::U32 && source(inst, Role::PD) == Some(Operand::pt())
}

/// The high word of a product with a power of two is a shift; what that, times the power, leaves of the dividend is its lower bits.
pub(super) fn by_power(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let new = match mul_field(inst) {
        Mul::HI => shifted(inst),
        Mul::LO => lower_bits(cx, inst),
        _ => None,
    };
    Ok(new.filter(|new| cx.is_legal(new)).map(|new| smallvec![new]))
}

fn shifted(inst: &Inst) -> Option<Inst> {
    let power = constant(source(inst, Role::B)?).filter(|power| power.is_power_of_two() && *power > 1)?;
    if !is_high_product(inst) || !source(inst, Role::C)?.is_zero() {
        return None;
    }
    let count = u32::BITS - power.trailing_zeros();
    Some(shift_of(source(inst, Role::D)?, source(inst, Role::A)?, ShiftDir::R, count))
}

fn lower_bits(cx: &Cx<'_>, inst: &Inst) -> Option<Inst> {
    let power = constant(source(inst, Role::B)?)?.wrapping_neg();
    let dividend = source(inst, Role::C)?;
    if inst.get(Field::X) || !power.is_power_of_two() || dividend.has_flags() {
        return None;
    }
    let quotient = cx.def_of(source(inst, Role::A)?).filter(|inst| inst.opcode == Opcode::SHF)?;
    if right_shift(quotient)? != (dividend, power.trailing_zeros()) {
        return None;
    }
    Some(mask_of(source(inst, Role::D)?, dividend, power - 1))
}
