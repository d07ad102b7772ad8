//! Quotients, reciprocals and roots with IEEE rounding.
//!
//! Float results come from an approximation of the special-function unit, refined by fused
//! multiply-adds whose remainder is exact; operands whose quotient or remainder may leave the normal
//! range go to a routine of the library. A directed rounding takes the last step in that rounding,
//! from a result that is already within one unit of the last place: the remainder's sign decides.

use crate::chapters::calls::call_routine;
use crate::chapters::float32::{ONE, float_negated, rounding};
use crate::chapters::integer::operands;
use crate::chapters::{float32, integer_division, wide};
use crate::error::Lowered;
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::word_ops::{IntCmp, negated};
use crate::function::{FnLower, destinations, ops, sources, word_ops};
use crate::handler::unknown;

use oriole_isa::{Bop, Cmp, Dcmp, Fcmp, Ffmt, Field, Mufu, Opcode, Rnd, Role};
use oriole_ori::{Operand, RegType};
use oriole_ptx::ast::{Instruction, Word};

/// 1.0 as the upper word of a double.
const ONE_HIGH: u32 = 0x3ff0_0000;

/// The result of `fast` where `slow` is false at the end of it, else that of `otherwise`; both
/// write to the variable that they are given.
fn fast_or_slow(
    cx: &mut FnLower<'_, '_>,
    reg_type: RegType,
    fast: impl FnOnce(&mut FnLower<'_, '_>, Operand) -> Lowered<Operand>,
    otherwise: impl FnOnce(&mut FnLower<'_, '_>, Operand) -> Lowered,
) -> Lowered<Operand> {
    let result = cx.variable(reg_type)?;
    let slow = fast(cx, result)?;
    let (aside, join) = (cx.new_block()?, cx.new_block()?);
    cx.branch(slow, aside, join)?;
    cx.switch_to(aside);
    otherwise(cx, result)?;
    cx.jump(join);
    cx.switch_to(join);
    Ok(result)
}

fn ffma(cx: &mut FnLower<'_, '_>, rounding: Rnd, d: Operand, a: Operand, b: Operand, c: Operand) -> Lowered {
    word_ops::op3(cx, Opcode::FFMA, &[Field::RND.is(rounding)], d, [a, b, c])
}

/// `a * b + c` to nearest, in a temporary.
fn fused(cx: &mut FnLower<'_, '_>, a: Operand, b: Operand, c: Operand) -> Lowered<Operand> {
    let d = cx.temp()?;
    ffma(cx, Rnd::RN, d, a, b, c)?;
    Ok(d)
}

/// `d` = the double rounded to single; subnormal results to zero with `ftz`.
pub(crate) fn shorten(cx: &mut FnLower<'_, '_>, d: Operand, value: Operand, rounding: Rnd, ftz: bool) -> Lowered {
    let fields = [Field::DST_FMT.is(Ffmt::F32), Field::SRC_FMT.is(Ffmt::F64), Field::RND.is(rounding)];
    if !ftz {
        return word_ops::op1(cx, Opcode::F2F, &fields, d, value);
    }
    let short = cx.temp()?;
    word_ops::op1(cx, Opcode::F2F, &fields, short, value)?;
    let normal = shortens_to_normal(cx, value, rounding)?;
    let zero = word_ops::logic(cx, lut::AND, short, Operand::imm(0x8000_0000))?;
    word_ops::select(cx, d, short, zero, normal)
}

/// Whether a double rounds to a normal single (or a NaN), as if the exponent had no limit.
fn shortens_to_normal(cx: &mut FnLower<'_, '_>, value: Operand, rounding: Rnd) -> Lowered<Operand> {
    // 2^-126, and the least numbers that round up to it to nearest and away from zero.
    const EXACT: u64 = 0x3810_0000_0000_0000;
    const NEAREST: u64 = 0x380f_ffff_f000_0000;
    const AWAY: u64 = 0x380f_ffff_e000_0001;
    let bound = match rounding {
        Rnd::RN => ops::in_pair(cx, Wide::of_bits(NEAREST))?,
        Rnd::RZ => ops::in_pair(cx, Wide::of_bits(EXACT))?,
        directed => {
            let pair = value.as_reg().map(Wide::of_pair).unwrap_or(Wide::of_bits(0));
            let negative = word_ops::test(cx, IntCmp::LT_S, pair.hi, Operand::rz())?;
            let away = if directed == Rnd::RM { negative } else { negative.not() };
            let (bound, bound_d) = wide::temp_wide(cx)?;
            wide::wide_select(cx, bound_d, Wide::of_bits(AWAY), Wide::of_bits(EXACT), away)?;
            ops::in_pair(cx, bound)?
        }
    };
    let p = cx.temp_pred()?;
    let fields = [Field::DCMP.is(Dcmp::GEU), Field::BOP.is(Bop::AND)];
    cx.emit(Opcode::DSETP, &fields, &[(Role::PD, p), (Role::A, value.abs()), (Role::B, bound)])?;
    Ok(p)
}

// ---- single precision ----

/// `div.{rn,rz,rm,rp}`
pub(crate) fn f32_div(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let (rounding, ftz) = (rounding(inst), inst.has(Word::Ftz));
    let (a, b) = (sources::src_f32(cx, a)?, sources::src_f32(cx, b)?);
    let (a, b) = (ops::in_reg(cx, a)?, ops::in_reg(cx, b)?);
    cx.guard_by_branch()?;
    let result = fast_or_slow(
        cx,
        RegType::R,
        |cx, result| f32_quotient(cx, result, a, b, rounding),
        |cx, result| {
            let (a, b) = if ftz { (flushed(cx, a)?, flushed(cx, b)?) } else { (a, b) };
            let exact = call_routine(cx, "__oriole_quotient_f32", &[a, b])?;
            shorten(cx, result, exact, rounding, ftz)
        },
    )?;
    let d = destinations::dst(cx, d)?;
    ops::mov(cx, d, result)
}

/// The inline quotient, and whether it must not be used.
fn f32_quotient(cx: &mut FnLower<'_, '_>, result: Operand, a: Operand, b: Operand, rounding: Rnd) -> Lowered<Operand> {
    let (approximate, slow) = (cx.temp()?, cx.temp_pred()?);
    float32::mufu(cx, Mufu::RCP, approximate, b)?;
    cx.emit(Opcode::FCHK, &[], &[(Role::PD, slow), (Role::A, a), (Role::B, b)])?;
    let error = fused(cx, float_negated(b), approximate, Operand::imm(ONE))?;
    let reciprocal = fused(cx, approximate, error, approximate)?;
    let quotient = fused(cx, a, reciprocal, Operand::rz())?;
    let remainder = fused(cx, float_negated(b), quotient, a)?;
    if rounding == Rnd::RN {
        ffma(cx, Rnd::RN, result, reciprocal, remainder, quotient)?;
        return Ok(slow);
    }
    let quotient = fused(cx, reciprocal, remainder, quotient)?;
    let remainder = fused(cx, float_negated(b), quotient, a)?;
    ffma(cx, rounding, result, reciprocal, remainder, quotient)?;
    Ok(slow)
}

/// The value with subnormals made zero.
fn flushed(cx: &mut FnLower<'_, '_>, a: Operand) -> Lowered<Operand> {
    float32::f32_scaled(cx, a, ONE, true)
}

/// `rcp.{rn,rz,rm,rp}`
pub(crate) fn f32_rcp(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let (rounding, ftz) = (rounding(inst), inst.has(Word::Ftz));
    let a = sources::src_f32(cx, a)?;
    let a = ops::in_reg(cx, a)?;
    cx.guard_by_branch()?;
    let result = fast_or_slow(
        cx,
        RegType::R,
        |cx, result| f32_reciprocal(cx, result, a, rounding),
        |cx, result| {
            let a = if ftz { flushed(cx, a)? } else { a };
            let one = ops::in_reg(cx, Operand::imm(ONE))?;
            let exact = call_routine(cx, "__oriole_quotient_f32", &[one, a])?;
            shorten(cx, result, exact, rounding, ftz)
        },
    )?;
    let d = destinations::dst(cx, d)?;
    ops::mov(cx, d, result)
}

/// The inline reciprocal, and whether it must not be used: zero, subnormals, infinities, NaNs,
/// and what has a subnormal reciprocal.
fn f32_reciprocal(cx: &mut FnLower<'_, '_>, result: Operand, a: Operand, rounding: Rnd) -> Lowered<Operand> {
    let raised = word_ops::sum(cx, a, Operand::imm(0x0180_0000))?;
    let exponent = word_ops::logic(cx, lut::AND, raised, Operand::imm(0x7f80_0000))?;
    let slow = word_ops::test(cx, IntCmp::unsigned(Cmp::LE), exponent, Operand::imm(0x01ff_ffff))?;
    let approximate = cx.temp()?;
    float32::mufu(cx, Mufu::RCP, approximate, a)?;
    let error = fused(cx, float_negated(a), approximate, Operand::imm(ONE))?;
    if rounding == Rnd::RN {
        ffma(cx, Rnd::RN, result, approximate, error, approximate)?;
        return Ok(slow);
    }
    let reciprocal = fused(cx, approximate, error, approximate)?;
    let error = fused(cx, float_negated(a), reciprocal, Operand::imm(ONE))?;
    ffma(cx, rounding, result, reciprocal, error, reciprocal)?;
    Ok(slow)
}

/// `sqrt.{rn,rz,rm,rp}`
pub(crate) fn f32_sqrt(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let (rounding, ftz) = (rounding(inst), inst.has(Word::Ftz));
    let a = sources::src_f32(cx, a)?;
    let a = ops::in_reg(cx, a)?;
    cx.guard_by_branch()?;
    let result = fast_or_slow(
        cx,
        RegType::R,
        |cx, result| f32_root(cx, result, a, rounding),
        |cx, result| {
            let a = if ftz { flushed(cx, a)? } else { a };
            let exact = call_routine(cx, "__oriole_root_f32", &[a])?;
            shorten(cx, result, exact, rounding, false)
        },
    )?;
    let d = destinations::dst(cx, d)?;
    ops::mov(cx, d, result)
}

/// The inline root, and whether it must not be used: below 2^-101, negative, infinite, NaN.
fn f32_root(cx: &mut FnLower<'_, '_>, result: Operand, a: Operand, rounding: Rnd) -> Lowered<Operand> {
    const HALF: u32 = 0x3f00_0000;
    let lowered = word_ops::sum(cx, a, negated(Operand::imm(0x0d00_0000)))?;
    let slow = word_ops::test(cx, IntCmp::unsigned(Cmp::GT), lowered, Operand::imm(0x727f_ffff))?;
    let inverse = cx.temp()?;
    float32::mufu(cx, Mufu::RSQ, inverse, a)?;
    let mut root = cx.temp()?;
    word_ops::op2(cx, Opcode::FMUL, &[Field::FTZ.is(true)], root, a, inverse)?;
    let half = float32::f32_scaled(cx, inverse, HALF, true)?;
    let mut remainder = fused(cx, root.neg(), root, a)?;
    if rounding != Rnd::RN {
        root = fused(cx, remainder, half, root)?;
        remainder = fused(cx, root.neg(), root, a)?;
    }
    ffma(cx, rounding, result, remainder, half, root)?;
    Ok(slow)
}

// ---- double precision ----

fn dfma(cx: &mut FnLower<'_, '_>, rounding: Rnd, d: Operand, a: Operand, b: Operand, c: Operand) -> Lowered {
    word_ops::op3(cx, Opcode::DFMA, &[Field::RND.is(rounding)], d, [a, b, c])
}

/// `a * b + c` to nearest, in a temporary.
fn dfused(cx: &mut FnLower<'_, '_>, a: Operand, b: Operand, c: Operand) -> Lowered<Operand> {
    let d = word_ops::temp_pair(cx)?;
    dfma(cx, Rnd::RN, d, a, b, c)?;
    Ok(d)
}

fn dmul(cx: &mut FnLower<'_, '_>, a: Operand, b: Operand) -> Lowered<Operand> {
    let d = word_ops::temp_pair(cx)?;
    word_ops::op2(cx, Opcode::DMUL, &[], d, a, b)?;
    Ok(d)
}

/// A double whose upper word is `function` of the upper word of `of`, with the given lower word.
fn mufu64(cx: &mut FnLower<'_, '_>, function: Mufu, of: Operand, low: Operand) -> Lowered<Operand> {
    let pair = cx.temp_of(RegType::Pair)?;
    ops::mov(cx, Operand::lo(pair), low)?;
    float32::mufu(cx, function, Operand::hi(pair), of)?;
    Ok(Operand::reg(pair))
}

/// `1 / b` to about 53 bits from an approximation of it.
fn refined_reciprocal(cx: &mut FnLower<'_, '_>, b: Operand, approximate: Operand) -> Lowered<Operand> {
    let one = Operand::imm_high(ONE_HIGH);
    let error = dfused(cx, b.neg(), approximate, one)?;
    let error = dfused(cx, error, error, error)?;
    let reciprocal = dfused(cx, approximate, error, approximate)?;
    let error = dfused(cx, b.neg(), reciprocal, one)?;
    dfused(cx, reciprocal, error, reciprocal)
}

/// `div.{rn,rz,rm,rp}.f64`
pub(crate) fn f64_div(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let rounding = rounding(inst);
    let (a, b) = (f64_in_registers(cx, a)?, f64_in_registers(cx, b)?);
    cx.guard_by_branch()?;
    let result = fast_or_slow(
        cx,
        RegType::Pair,
        |cx, result| f64_quotient(cx, result, a, b, rounding),
        |cx, result| f64_quotient_slow(cx, result, a.1, b.1, rounding),
    )?;
    f64_result(cx, d, result)
}

/// A double in a register pair: its halves and the whole.
fn f64_in_registers(cx: &mut FnLower<'_, '_>, operand: &oriole_ptx::ast::Operand) -> Lowered<(Wide, Operand)> {
    let wide = sources::src_f64(cx, operand)?;
    let pair = match wide.pair {
        Some(pair) => pair,
        None => {
            let pair = cx.temp64()?;
            ops::mov64(cx, pair, wide)?;
            pair
        }
    };
    Ok((Wide::of_pair(pair), Operand::reg(pair)))
}

fn f64_result(cx: &mut FnLower<'_, '_>, d: &oriole_ptx::ast::Operand, result: Operand) -> Lowered {
    let d = destinations::dst64_direct(cx, d)?;
    match result.as_reg() {
        Some(pair) => ops::mov64(cx, d.pair, Wide::of_pair(pair)),
        None => Ok(()),
    }
}

fn f64_quotient_slow(cx: &mut FnLower<'_, '_>, result: Operand, a: Operand, b: Operand, rounding: Rnd) -> Lowered {
    let mode = rounding_mode(cx, rounding)?;
    let quotient = call_routine(cx, "__oriole_div_f64", &[a, b, mode])?;
    copy_pair(cx, result, quotient)
}

fn copy_pair(cx: &mut FnLower<'_, '_>, to: Operand, from: Operand) -> Lowered {
    match (to.as_reg(), from.as_reg()) {
        (Some(to), Some(from)) => ops::mov64(cx, to, Wide::of_pair(from)),
        _ => Ok(()),
    }
}

/// The rounding as the library's routines number it.
fn rounding_mode(cx: &mut FnLower<'_, '_>, rounding: Rnd) -> Lowered<Operand> {
    let mode = match rounding {
        Rnd::RZ => 1,
        Rnd::RM => 2,
        Rnd::RP => 3,
        _ => 0,
    };
    let word = cx.temp()?;
    ops::mov(cx, word, Operand::imm(mode))?;
    Ok(word)
}

/// The inline quotient, and whether it must not be used: small dividends, whose remainder could
/// be subnormal, and quotients that are not normal or come from divisors near the top.
fn f64_quotient(
    cx: &mut FnLower<'_, '_>,
    result: Operand,
    a: (Wide, Operand),
    b: (Wide, Operand),
    rounding: Rnd,
) -> Lowered<Operand> {
    const LEAST_DIVIDEND: u32 = 0x0360_0000;
    const LEAST_QUOTIENT: u32 = 0x0010_0000;
    let enough = float32::f32_test(cx, Fcmp::GEU, a.0.hi.abs(), LEAST_DIVIDEND, false)?;
    let approximate = mufu64(cx, Mufu::RCP64H, b.0.hi, Operand::imm(1))?;
    let reciprocal = refined_reciprocal(cx, b.1, approximate)?;
    let mut quotient = dmul(cx, a.1, reciprocal)?;
    let mut remainder = dfused(cx, b.1.neg(), quotient, a.1)?;
    if rounding != Rnd::RN {
        quotient = dfused(cx, reciprocal, remainder, quotient)?;
        remainder = dfused(cx, b.1.neg(), quotient, a.1)?;
    }
    dfma(cx, rounding, result, reciprocal, remainder, quotient)?;
    // The upper words as floats: 0 * b + q is NaN for the largest b, and for infinite q.
    let top = result.as_reg().map_or(Operand::rz(), Operand::hi);
    let both = fused(cx, Operand::rz(), b.0.hi, top)?;
    let fast = cx.temp_pred()?;
    let fields = [Field::FCMP.is(Fcmp::GT), Field::BOP.is(Bop::AND)];
    let bound = Operand::imm(LEAST_QUOTIENT);
    cx.emit(Opcode::FSETP, &fields, &[(Role::PD, fast), (Role::A, both.abs()), (Role::B, bound), (Role::PA, enough)])?;
    Ok(fast.not())
}

/// `rcp.{rn,rz,rm,rp}.f64`
pub(crate) fn f64_rcp(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let rounding = rounding(inst);
    let a = f64_in_registers(cx, a)?;
    cx.guard_by_branch()?;
    let result = fast_or_slow(
        cx,
        RegType::Pair,
        |cx, result| f64_reciprocal(cx, result, a, rounding),
        |cx, result| {
            let one = ops::in_pair(cx, Wide::of_bits(u64::from(ONE_HIGH) << 32))?;
            f64_quotient_slow(cx, result, one, a.1, rounding)
        },
    )?;
    f64_result(cx, d, result)
}

/// The inline reciprocal, and whether it must not be used: zero, subnormals, and what has an
/// exponent so large that the reciprocal could be subnormal.
fn f64_reciprocal(cx: &mut FnLower<'_, '_>, result: Operand, a: (Wide, Operand), rounding: Rnd) -> Lowered<Operand> {
    const LEAST_RAISED: u32 = 0x0040_0402;
    let one = Operand::imm_high(ONE_HIGH);
    let raised = word_ops::sum(cx, a.0.hi, Operand::imm(0x0030_0402))?;
    let fast = float32::f32_test(cx, Fcmp::GEU, raised.abs(), LEAST_RAISED, false)?;
    let approximate = mufu64(cx, Mufu::RCP64H, a.0.hi, raised)?;
    let error = dfused(cx, a.1.neg(), approximate, one)?;
    let error = dfused(cx, error, error, error)?;
    let mut reciprocal = dfused(cx, approximate, error, approximate)?;
    let mut error = dfused(cx, a.1.neg(), reciprocal, one)?;
    if rounding != Rnd::RN {
        reciprocal = dfused(cx, reciprocal, error, reciprocal)?;
        error = dfused(cx, a.1.neg(), reciprocal, one)?;
    }
    dfma(cx, rounding, result, reciprocal, error, reciprocal)?;
    Ok(fast.not())
}

/// One over the root of `a`, from an approximation, to about 50 bits.
fn refined_rsqrt(cx: &mut FnLower<'_, '_>, a: Operand, approximate: Operand) -> Lowered<Operand> {
    const THREE_EIGHTHS: u32 = 0x3fd8_0000;
    const HALF: u32 = 0x3fe0_0000;
    let square = dmul(cx, approximate, approximate)?;
    let error = dfused(cx, a, square.neg(), Operand::imm_high(ONE_HIGH))?;
    let slope = ops::in_pair(cx, Wide::of_bits(u64::from(THREE_EIGHTHS) << 32))?;
    let factor = dfused(cx, error, slope, Operand::imm_high(HALF))?;
    let step = dmul(cx, approximate, error)?;
    dfused(cx, factor, step, approximate)
}

/// `sqrt.{rn,rz,rm,rp}.f64`
pub(crate) fn f64_sqrt(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let rounding = rounding(inst);
    let a = f64_in_registers(cx, a)?;
    cx.guard_by_branch()?;
    let result = fast_or_slow(
        cx,
        RegType::Pair,
        |cx, result| f64_root(cx, result, a, rounding),
        |cx, result| {
            let mode = rounding_mode(cx, rounding)?;
            let root = call_routine(cx, "__oriole_sqrt_f64", &[a.1, mode])?;
            copy_pair(cx, result, root)
        },
    )?;
    f64_result(cx, d, result)
}

/// The inline root, and whether it must not be used: below 2^-969, negative, infinite, NaN.
fn f64_root(cx: &mut FnLower<'_, '_>, result: Operand, a: (Wide, Operand), rounding: Rnd) -> Lowered<Operand> {
    let lowered = word_ops::sum(cx, a.0.hi, negated(Operand::imm(0x0350_0000)))?;
    let slow = word_ops::test(cx, IntCmp::GE_U, lowered, Operand::imm(0x7ca0_0000))?;
    let approximate = mufu64(cx, Mufu::RSQ64H, a.0.hi, lowered)?;
    let inverse = refined_rsqrt(cx, a.1, approximate)?;
    let mut root = dmul(cx, a.1, inverse)?;
    // Half of it: one less in the exponent.
    let half = cx.temp_of(RegType::Pair)?;
    let whole = inverse.as_reg().map_or(Wide::of_bits(0), Wide::of_pair);
    ops::mov(cx, Operand::lo(half), whole.lo)?;
    ops::add(cx, Operand::hi(half), whole.hi, negated(Operand::imm(0x0010_0000)))?;
    let half = Operand::reg(half);
    let mut remainder = dfused(cx, root, root.neg(), a.1)?;
    if rounding != Rnd::RN {
        root = dfused(cx, remainder, half, root)?;
        remainder = dfused(cx, root, root.neg(), a.1)?;
    }
    dfma(cx, rounding, result, remainder, half, root)?;
    Ok(slow)
}

/// `rsqrt.approx.f64`
pub(crate) fn f64_rsqrt(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = f64_in_registers(cx, a)?;
    cx.guard_by_branch()?;
    let result = fast_or_slow(
        cx,
        RegType::Pair,
        |cx, result| {
            let lowered = word_ops::sum(cx, a.0.hi, negated(Operand::imm(0x0010_0000)))?;
            let slow = word_ops::test(cx, IntCmp::GE_U, lowered, Operand::imm(0x7fe0_0000))?;
            let approximate = mufu64(cx, Mufu::RSQ64H, a.0.hi, Operand::rz())?;
            let refined = refined_rsqrt(cx, a.1, approximate)?;
            copy_pair(cx, result, refined)?;
            Ok(slow)
        },
        |cx, result| {
            let inverse = call_routine(cx, "__oriole_rsqrt_f64", &[a.1])?;
            copy_pair(cx, result, inverse)
        },
    )?;
    f64_result(cx, d, result)
}

/// `rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64`: the unit's answer, the lower word zero.
pub(crate) fn f64_mufu(cx: &mut FnLower<'_, '_>, inst: &Instruction, function: Mufu) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = sources::src_f64(cx, a)?;
    let d = destinations::dst64(cx, d, &[a])?;
    ops::mov(cx, d.lo, Operand::rz())?;
    float32::mufu(cx, function, d.hi, a.hi)
}

/// `div` of every type
pub(crate) fn div(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    use oriole_ptx::ast::ScalarType;
    match inst.last_type() {
        Some(ScalarType::F32) if inst.has(Word::Approx) || inst.has(Word::Full) => float32::f32_div_approx(cx, inst),
        Some(ScalarType::F32) => f32_div(cx, inst),
        Some(ScalarType::F64) => f64_div(cx, inst),
        Some(ty) if ty.is_float() => Err(unknown(cx, inst)),
        _ => integer_division::int_div(cx, inst),
    }
}
