//! Conversions: of constants, between words and floats of 32 bits; and of words by the units for arithmetic.

use super::bytes::extended_from;
use super::{Cx, Rewrite, build, constant, mov, source, word};
use oriole_isa::{Ffmt, Field, Ifmt, Opcode, PartB, Rnd, RndInt, Role};
use oriole_ori::{BuildError, Inst, Operand};
use rustc_apfloat::ieee::Single;
use rustc_apfloat::{Float, Round, Status};
use smallvec::smallvec;

/// What is evaluated here.
pub(super) const OPCODES: [Opcode; 3] = [Opcode::F2I, Opcode::I2F, Opcode::I2FP];

/// The rule.
pub(super) fn constants(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let result = source(inst, Role::B).and_then(|b| {
        let bits = constant(b.plain()).or_else(|| cx.copied(b.plain()).and_then(constant))?;
        match inst.opcode {
            Opcode::F2I => to_word(inst, float_of(b, bits)),
            _ => to_float(inst, bits),
        }
    });
    Ok(result.and_then(|bits| Some(smallvec![mov(source(inst, Role::D)?, word(bits))])))
}

/// `I2FP` where there is one (from sm_86 on): the units for arithmetic convert a word, rounded to the nearest or towards zero, as they
/// add, while `I2F` has a quarter of their rate and comes at no fixed time. What stands in a register extended is a word.
pub(super) fn of_words(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    Ok(converted_by_arithmetic(cx, inst))
}

fn converted_by_arithmetic(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    let number = source(inst, Role::B)?;
    let (bytes, signed) = match inst.get(Field::SRC_INT) {
        Ifmt::U8 => (1, false),
        Ifmt::S8 => (1, true),
        Ifmt::U16 => (2, false),
        Ifmt::S16 => (2, true),
        Ifmt::U32 => (4, false),
        Ifmt::S32 => (4, true),
        _ => return None,
    };
    let rounded = matches!(inst.get(Field::RND), Rnd::RN | Rnd::RZ) && inst.get(Field::PART_B) == PartB::LOW;
    let is_whole = |(own, sign): (u32, bool)| own <= bytes && sign == signed || own < bytes && !sign;
    let whole = bytes == 4 || extended_from(cx, number).is_some_and(is_whole);
    if !(rounded && whole) || inst.get(Field::DST_FMT) != Ffmt::F32 {
        return None;
    }
    let format = if signed { Ifmt::S32 } else { Ifmt::U32 };
    let fields = [Field::SRC_INT.is(format), Field::RND.is(inst.get(Field::RND))];
    let new =
        build(Opcode::I2FP, fields.into_iter().collect(), &[(Role::D, source(inst, Role::D)?), (Role::B, number)]);
    cx.is_legal(&new).then(|| smallvec![new])
}

/// The float with the sign and absolute value that the operand asks for.
fn float_of(operand: Operand, bits: u32) -> Single {
    let float = Single::from_bits(bits.into());
    let float = if operand.is_abs() { float.abs() } else { float };
    if operand.is_neg() { -float } else { float }
}

/// The word that a float becomes, if it is one: what is out of range, and NaN, stays with the instruction.
fn to_word(inst: &Inst, float: Single) -> Option<u32> {
    let round = match inst.get(Field::RND_INT) {
        RndInt::RN => Round::NearestTiesToEven,
        RndInt::FLOOR => Round::TowardNegative,
        RndInt::CEIL => Round::TowardPositive,
        RndInt::TRUNC => Round::TowardZero,
        _ => return None,
    };
    let subnormal = inst.get(Field::FTZ) && float.is_denormal();
    if inst.get(Field::SRC_FMT) != Ffmt::F32 || subnormal {
        return None;
    }
    let converted = match inst.get(Field::DST_INT) {
        Ifmt::S32 => float.to_i128_r(32, round, &mut false).map(|value| value as u32),
        Ifmt::U32 => float.to_u128_r(32, round, &mut false).map(|value| value as u32),
        _ => return None,
    };
    (!converted.status.contains(Status::INVALID_OP)).then_some(converted.value)
}

/// The float that a word becomes.
fn to_float(inst: &Inst, bits: u32) -> Option<u32> {
    let round = match inst.get(Field::RND) {
        Rnd::RN => Round::NearestTiesToEven,
        Rnd::RM => Round::TowardNegative,
        Rnd::RP => Round::TowardPositive,
        Rnd::RZ => Round::TowardZero,
        _ => return None,
    };
    if inst.get(Field::DST_FMT) != Ffmt::F32 {
        return None;
    }
    let float = match inst.get(Field::SRC_INT) {
        Ifmt::S32 => Single::from_i128_r((bits as i32).into(), round),
        Ifmt::U32 => Single::from_u128_r(bits.into(), round),
        _ => return None,
    };
    Some(float.value.to_bits() as u32)
}
