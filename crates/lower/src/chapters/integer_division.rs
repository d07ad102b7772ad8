//! Integer division: by constants with multipliers, 32 bits in line, 64 bits by the library.

use crate::chapters::constant_division::{Form, by_constant};
use crate::chapters::integer::{IntType, int_type, operands};
use crate::chapters::wide::{Carry, Halves};
use crate::chapters::{calls, float32, integer, wide};
use crate::error::Lowered;
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::word_ops::IntCmp;
use crate::function::{FnLower, destinations, ops, sources, word_ops};
use oriole_isa::{Field, Ifmt, Mufu, Opcode, Rnd, RndInt};
use oriole_ori::{Operand, RegType};
use oriole_ptx::ast::{Instruction, Opcode as Ptx};

/// `div`, `rem` of integers
pub(crate) fn int_div(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let ty = int_type(inst)?;
    let remainder = inst.opcode == Ptx::Rem;
    if ty.bits == 64 {
        return int_div64(cx, inst, ty, remainder);
    }
    let [d, a, b] = operands(inst)?;
    let (a, b) = (integer::int_src(cx, a, ty)?, integer::int_src(cx, b, ty)?);
    if let Some(divisor) = b.as_imm().filter(|divisor| *divisor != 0) {
        let form = Form { bits: 32, used: ty.bits, signed: ty.signed };
        let result = by_constant(cx, form, Wide::of_halves(a, Operand::rz()), divisor.into(), remainder)?;
        let d = destinations::dst(cx, d)?;
        return ops::mov(cx, d, result.lo);
    }
    let (a, b) = (ops::in_reg(cx, a)?, ops::in_reg(cx, b)?);
    let result = if ty.signed { div32_signed(cx, a, b, remainder)? } else { div32(cx, a, b, remainder)? };
    // What division by zero gives is open in PTX; all ones.
    let some = word_ops::test(cx, IntCmp::NE, b, Operand::rz())?;
    let d = destinations::dst(cx, d)?;
    word_ops::select(cx, d, result, Operand::imm(u32::MAX), some)
}

fn div32_signed(cx: &mut FnLower<'_, '_>, a: Operand, b: Operand, remainder: bool) -> Lowered<Operand> {
    let (a_size, b_size) = (cx.temp()?, cx.temp()?);
    word_ops::op1(cx, Opcode::IABS, &[], a_size, a)?;
    word_ops::op1(cx, Opcode::IABS, &[], b_size, b)?;
    let size = div32(cx, a_size, b_size, remainder)?;
    let sign = if remainder { a } else { word_ops::logic(cx, lut::XOR, a, b)? };
    let negative = word_ops::test(cx, IntCmp::LT_S, sign, Operand::rz())?;
    let opposite = word_ops::sum(cx, Operand::rz(), size.neg())?;
    float32::chosen(cx, opposite, size, negative)
}

/// Quotient or remainder of unsigned words, from a reciprocal that is a little too small.
fn div32(cx: &mut FnLower<'_, '_>, a: Operand, b: Operand, remainder: bool) -> Lowered<Operand> {
    let (float, inverse) = (cx.temp()?, cx.temp()?);
    word_ops::op1(cx, Opcode::I2F, &[Field::SRC_INT.is(Ifmt::U32), Field::RND.is(Rnd::RP)], float, b)?;
    float32::mufu(cx, Mufu::RCP, inverse, float)?;
    // Times 2^32, less two units of the last place.
    let scaled = word_ops::sum(cx, inverse, Operand::imm(0x0fff_fffe))?;
    let pair = cx.temp_of(RegType::Pair)?;
    ops::mov(cx, Operand::lo(pair), Operand::rz())?;
    let first = Operand::hi(pair);
    let fields =
        [Field::FTZ.is(true), Field::DST_INT.is(Ifmt::U32), Field::RND_INT.is(RndInt::TRUNC), Field::NTZ.is(true)];
    word_ops::op1(cx, Opcode::F2I, &fields, first, scaled)?;
    let minus_b = word_ops::sum(cx, Operand::rz(), b.neg())?;
    let (error, reciprocal, quotient, rest) = (cx.temp()?, cx.temp()?, cx.temp()?, cx.temp()?);
    word_ops::imad(cx, error, minus_b, first, Operand::rz())?;
    word_ops::imad_hi(cx, false, reciprocal, first, error, Operand::reg(pair))?;
    word_ops::imad_hi(cx, false, quotient, reciprocal, a, Operand::rz())?;
    word_ops::imad(cx, rest, quotient, minus_b, a)?;
    let (quotient, rest) = corrected(cx, b, minus_b, quotient, rest)?;
    let (quotient, rest) = corrected(cx, b, minus_b, quotient, rest)?;
    Ok(if remainder { rest } else { quotient })
}

/// One more in the quotient where the remainder is not below the divisor.
fn corrected(
    cx: &mut FnLower<'_, '_>,
    b: Operand,
    minus_b: Operand,
    quotient: Operand,
    rest: Operand,
) -> Lowered<(Operand, Operand)> {
    let over = word_ops::test(cx, IntCmp::GE_U, rest, b)?;
    let next = word_ops::sum(cx, quotient, Operand::imm(1))?;
    let less = word_ops::sum(cx, rest, minus_b)?;
    Ok((float32::chosen(cx, next, quotient, over)?, float32::chosen(cx, less, rest, over)?))
}

fn int_div64(cx: &mut FnLower<'_, '_>, inst: &Instruction, ty: IntType, remainder: bool) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let (a, b) = (sources::src64(cx, a)?, sources::src64(cx, b)?);
    if let Some(divisor) = b.bits().filter(|divisor| *divisor != 0) {
        let form = Form { bits: 64, used: 64, signed: ty.signed };
        let result = by_constant(cx, form, a, divisor, remainder)?;
        let d = destinations::dst64_direct(cx, d)?;
        return ops::mov64(cx, d.pair, result);
    }
    cx.guard_by_branch()?;
    let ((a_size, a_negative), (b_size, b_negative)) = if ty.signed {
        (integer::wide_abs(cx, a)?, integer::wide_abs(cx, b)?)
    } else {
        ((a, Operand::pt().not()), (b, Operand::pt().not()))
    };
    let (dividend, divisor) = (in_whole_pair(cx, a_size)?, in_whole_pair(cx, b_size)?);
    let quotient = calls::call_routine(cx, "__oriole_div_u64", &[dividend, divisor])?;
    let mut result = quotient.as_reg().map_or(Wide::of_bits(0), Wide::of_pair);
    if remainder {
        let (product, product_d) = wide::temp_wide(cx)?;
        wide::wide_mad_lo(cx, product_d, result, b_size, None)?;
        let (rest, rest_d) = wide::temp_wide(cx)?;
        wide::wide_sub(cx, rest_d, a_size, product, Carry::default())?;
        result = rest;
    }
    if ty.signed {
        let negative = if remainder { a_negative } else { word_ops::pred_logic(cx, lut::XOR, a_negative, b_negative)? };
        let (opposite, opposite_d) = wide::temp_wide(cx)?;
        wide::wide_neg(cx, opposite_d, result)?;
        let (chosen, chosen_d) = wide::temp_wide(cx)?;
        wide::wide_select(cx, chosen_d, opposite, result, negative)?;
        result = chosen;
    }
    // What division by zero gives is open in PTX; all ones, remainders too.
    let bits = word_ops::logic(cx, lut::OR, b.lo, b.hi)?;
    let some = word_ops::test(cx, IntCmp::NE, bits, Operand::rz())?;
    let d: Halves = destinations::dst64_direct(cx, d)?.into();
    wide::wide_select(cx, d, result, Wide::of_bits(u64::MAX), some)
}

/// The value in a register pair, zero too.
fn in_whole_pair(cx: &mut FnLower<'_, '_>, wide: Wide) -> Lowered<Operand> {
    if let Some(pair) = wide.pair {
        return Ok(Operand::reg(pair));
    }
    let pair = cx.temp64()?;
    ops::mov64(cx, pair, wide)?;
    Ok(Operand::reg(pair))
}
