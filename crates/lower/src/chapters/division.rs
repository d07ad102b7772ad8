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
use crate::function::word_ops::{IntCmp, flag, negated};
use crate::function::{FnLower, word_ops};
use crate::handler::unknown;

use oriole_isa::{Field, Opcode, Role, bop, cmp, dcmp, fcmp, ffmt, mufu, rnd};
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

fn ffma(cx: &mut FnLower<'_, '_>, rounding: u8, d: Operand, a: Operand, b: Operand, c: Operand) -> Lowered {
    word_ops::op3(cx, Opcode::FFMA, &[(Field::Rnd, rounding)], d, [a, b, c])
}

/// `a * b + c` to nearest, in a temporary.
fn fused(cx: &mut FnLower<'_, '_>, a: Operand, b: Operand, c: Operand) -> Lowered<Operand> {
    let d = cx.temp()?;
    ffma(cx, rnd::RN, d, a, b, c)?;
    Ok(d)
}

/// `d` = the double rounded to single; subnormal results to zero with `ftz`.
pub(crate) fn shorten(cx: &mut FnLower<'_, '_>, d: Operand, value: Operand, rounding: u8, ftz: bool) -> Lowered {
    let fields = [(Field::DstFmt, ffmt::F32), (Field::SrcFmt, ffmt::F64), (Field::Rnd, rounding)];
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
fn shortens_to_normal(cx: &mut FnLower<'_, '_>, value: Operand, rounding: u8) -> Lowered<Operand> {
    // 2^-126, and the least numbers that round up to it to nearest and away from zero.
    const EXACT: u64 = 0x3810_0000_0000_0000;
    const NEAREST: u64 = 0x380f_ffff_f000_0000;
    const AWAY: u64 = 0x380f_ffff_e000_0000;
    let bound = match rounding {
        rnd::RN => cx.in_pair(Wide::of_bits(NEAREST))?,
        rnd::RZ => cx.in_pair(Wide::of_bits(EXACT))?,
        directed => {
            let pair = value.as_reg().map(Wide::of_pair).unwrap_or(Wide::of_bits(0));
            let negative = word_ops::test(cx, IntCmp::LT_S, pair.hi, Operand::rz())?;
            let away = if directed == rnd::RM { negative } else { negative.not() };
            let (bound, bound_d) = wide::temp_wide(cx)?;
            wide::wide_select(cx, bound_d, Wide::of_bits(AWAY), Wide::of_bits(EXACT), away)?;
            cx.in_pair(bound)?
        }
    };
    let p = cx.temp_pred()?;
    let fields = [(Field::Dcmp, dcmp::GEU), (Field::Bop, bop::AND)];
    cx.emit(Opcode::DSETP, &fields, &[(Role::PD, p), (Role::A, value.abs()), (Role::B, bound)])?;
    Ok(p)
}

// ---- single precision ----

/// `div.{rn,rz,rm,rp}`
pub(crate) fn f32_div(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let (rounding, ftz) = (rounding(inst), inst.has(Word::Ftz));
    let (a, b) = (cx.src_f32(a)?, cx.src_f32(b)?);
    let (a, b) = (cx.in_reg(a)?, cx.in_reg(b)?);
    cx.guard_by_branch()?;
    let result = fast_or_slow(
        cx,
        RegType::R,
        |f, result| f32_quotient(f, result, a, b, rounding),
        |f, result| {
            let (a, b) = if ftz { (flushed(f, a)?, flushed(f, b)?) } else { (a, b) };
            let exact = call_routine(f, "__oriole_quotient_f32", &[a, b])?;
            shorten(f, result, exact, rounding, ftz)
        },
    )?;
    let d = cx.dst(d)?;
    cx.mov(d, result)
}

/// The inline quotient, and whether it must not be used.
fn f32_quotient(cx: &mut FnLower<'_, '_>, result: Operand, a: Operand, b: Operand, rounding: u8) -> Lowered<Operand> {
    let (approximate, slow) = (cx.temp()?, cx.temp_pred()?);
    float32::mufu(cx, mufu::RCP, approximate, b)?;
    cx.emit(Opcode::FCHK, &[], &[(Role::PD, slow), (Role::A, a), (Role::B, b)])?;
    let error = fused(cx, float_negated(b), approximate, Operand::imm(ONE))?;
    let reciprocal = fused(cx, approximate, error, approximate)?;
    let quotient = fused(cx, a, reciprocal, Operand::rz())?;
    let remainder = fused(cx, float_negated(b), quotient, a)?;
    if rounding == rnd::RN {
        ffma(cx, rnd::RN, result, reciprocal, remainder, quotient)?;
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
    let a = cx.src_f32(a)?;
    let a = cx.in_reg(a)?;
    cx.guard_by_branch()?;
    let result = fast_or_slow(
        cx,
        RegType::R,
        |f, result| f32_reciprocal(f, result, a, rounding),
        |f, result| {
            let a = if ftz { flushed(f, a)? } else { a };
            let one = f.in_reg(Operand::imm(ONE))?;
            let exact = call_routine(f, "__oriole_quotient_f32", &[one, a])?;
            shorten(f, result, exact, rounding, ftz)
        },
    )?;
    let d = cx.dst(d)?;
    cx.mov(d, result)
}

/// The inline reciprocal, and whether it must not be used: zero, subnormals, infinities, NaNs,
/// and what has a subnormal reciprocal.
fn f32_reciprocal(cx: &mut FnLower<'_, '_>, result: Operand, a: Operand, rounding: u8) -> Lowered<Operand> {
    let raised = word_ops::sum(cx, a, Operand::imm(0x0180_0000))?;
    let exponent = word_ops::logic(cx, lut::AND, raised, Operand::imm(0x7f80_0000))?;
    let slow = word_ops::test(cx, IntCmp::unsigned(cmp::LE), exponent, Operand::imm(0x01ff_ffff))?;
    let approximate = cx.temp()?;
    float32::mufu(cx, mufu::RCP, approximate, a)?;
    let error = fused(cx, float_negated(a), approximate, Operand::imm(ONE))?;
    if rounding == rnd::RN {
        ffma(cx, rnd::RN, result, approximate, error, approximate)?;
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
    let a = cx.src_f32(a)?;
    let a = cx.in_reg(a)?;
    cx.guard_by_branch()?;
    let result = fast_or_slow(
        cx,
        RegType::R,
        |f, result| f32_root(f, result, a, rounding),
        |f, result| {
            let a = if ftz { flushed(f, a)? } else { a };
            let exact = call_routine(f, "__oriole_root_f32", &[a])?;
            shorten(f, result, exact, rounding, false)
        },
    )?;
    let d = cx.dst(d)?;
    cx.mov(d, result)
}

/// The inline root, and whether it must not be used: below 2^-101, negative, infinite, NaN.
fn f32_root(cx: &mut FnLower<'_, '_>, result: Operand, a: Operand, rounding: u8) -> Lowered<Operand> {
    const HALF: u32 = 0x3f00_0000;
    let lowered = word_ops::sum(cx, a, negated(Operand::imm(0x0d00_0000)))?;
    let slow = word_ops::test(cx, IntCmp::unsigned(cmp::GT), lowered, Operand::imm(0x727f_ffff))?;
    let inverse = cx.temp()?;
    float32::mufu(cx, mufu::RSQ, inverse, a)?;
    let mut root = cx.temp()?;
    word_ops::op2(cx, Opcode::FMUL, &[flag(Field::Ftz, true)], root, a, inverse)?;
    let half = float32::f32_scaled(cx, inverse, HALF, true)?;
    let mut remainder = fused(cx, root.neg(), root, a)?;
    if rounding != rnd::RN {
        root = fused(cx, remainder, half, root)?;
        remainder = fused(cx, root.neg(), root, a)?;
    }
    ffma(cx, rounding, result, remainder, half, root)?;
    Ok(slow)
}

// ---- double precision ----

fn dfma(cx: &mut FnLower<'_, '_>, rounding: u8, d: Operand, a: Operand, b: Operand, c: Operand) -> Lowered {
    word_ops::op3(cx, Opcode::DFMA, &[(Field::Rnd, rounding)], d, [a, b, c])
}

/// `a * b + c` to nearest, in a temporary.
fn dfused(cx: &mut FnLower<'_, '_>, a: Operand, b: Operand, c: Operand) -> Lowered<Operand> {
    let d = word_ops::temp_pair(cx)?;
    dfma(cx, rnd::RN, d, a, b, c)?;
    Ok(d)
}

fn dmul(cx: &mut FnLower<'_, '_>, a: Operand, b: Operand) -> Lowered<Operand> {
    let d = word_ops::temp_pair(cx)?;
    word_ops::op2(cx, Opcode::DMUL, &[], d, a, b)?;
    Ok(d)
}

/// A double whose upper word is `function` of the upper word of `of`, with the given lower word.
fn mufu64(cx: &mut FnLower<'_, '_>, function: u8, of: Operand, low: Operand) -> Lowered<Operand> {
    let pair = cx.temp_of(RegType::Pair)?;
    cx.mov(Operand::lo(pair), low)?;
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
        |f, result| f64_quotient(f, result, a, b, rounding),
        |f, result| f64_quotient_slow(f, result, a.1, b.1, rounding),
    )?;
    f64_result(cx, d, result)
}

/// A double in a register pair: its halves and the whole.
fn f64_in_registers(cx: &mut FnLower<'_, '_>, operand: &oriole_ptx::ast::Operand) -> Lowered<(Wide, Operand)> {
    let wide = cx.src_f64(operand)?;
    let pair = match wide.pair {
        Some(pair) => pair,
        None => {
            let pair = cx.temp64()?;
            cx.mov64(pair, wide)?;
            pair
        }
    };
    Ok((Wide::of_pair(pair), Operand::reg(pair)))
}

fn f64_result(cx: &mut FnLower<'_, '_>, d: &oriole_ptx::ast::Operand, result: Operand) -> Lowered {
    let d = cx.dst64_direct(d)?;
    match result.as_reg() {
        Some(pair) => cx.mov64(d.pair, Wide::of_pair(pair)),
        None => Ok(()),
    }
}

fn f64_quotient_slow(cx: &mut FnLower<'_, '_>, result: Operand, a: Operand, b: Operand, rounding: u8) -> Lowered {
    let mode = rounding_mode(cx, rounding)?;
    let quotient = call_routine(cx, "__oriole_div_f64", &[a, b, mode])?;
    copy_pair(cx, result, quotient)
}

fn copy_pair(cx: &mut FnLower<'_, '_>, to: Operand, from: Operand) -> Lowered {
    match (to.as_reg(), from.as_reg()) {
        (Some(to), Some(from)) => cx.mov64(to, Wide::of_pair(from)),
        _ => Ok(()),
    }
}

/// The rounding as the library's routines number it.
fn rounding_mode(cx: &mut FnLower<'_, '_>, rounding: u8) -> Lowered<Operand> {
    let mode = match rounding {
        rnd::RZ => 1,
        rnd::RM => 2,
        rnd::RP => 3,
        _ => 0,
    };
    let word = cx.temp()?;
    cx.mov(word, Operand::imm(mode))?;
    Ok(word)
}

/// The inline quotient, and whether it must not be used: small dividends, whose remainder could
/// be subnormal, and quotients that are not normal or come from divisors near the top.
fn f64_quotient(
    cx: &mut FnLower<'_, '_>,
    result: Operand,
    a: (Wide, Operand),
    b: (Wide, Operand),
    rounding: u8,
) -> Lowered<Operand> {
    const LEAST_DIVIDEND: u32 = 0x0360_0000;
    const LEAST_QUOTIENT: u32 = 0x0010_0000;
    let enough = float32::f32_test(cx, fcmp::GEU, a.0.hi.abs(), LEAST_DIVIDEND, false)?;
    let approximate = mufu64(cx, mufu::RCP64H, b.0.hi, Operand::imm(1))?;
    let reciprocal = refined_reciprocal(cx, b.1, approximate)?;
    let mut quotient = dmul(cx, a.1, reciprocal)?;
    let mut remainder = dfused(cx, b.1.neg(), quotient, a.1)?;
    if rounding != rnd::RN {
        quotient = dfused(cx, reciprocal, remainder, quotient)?;
        remainder = dfused(cx, b.1.neg(), quotient, a.1)?;
    }
    dfma(cx, rounding, result, reciprocal, remainder, quotient)?;
    // The upper words as floats: 0 * b + q is NaN for the largest b, and for infinite q.
    let top = result.as_reg().map_or(Operand::rz(), Operand::hi);
    let both = fused(cx, Operand::rz(), b.0.hi, top)?;
    let fast = cx.temp_pred()?;
    let fields = [(Field::Fcmp, fcmp::GT), (Field::Bop, bop::AND)];
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
        |f, result| f64_reciprocal(f, result, a, rounding),
        |f, result| {
            let one = f.in_pair(Wide::of_bits(u64::from(ONE_HIGH) << 32))?;
            f64_quotient_slow(f, result, one, a.1, rounding)
        },
    )?;
    f64_result(cx, d, result)
}

/// The inline reciprocal, and whether it must not be used: zero, subnormals, and what has an
/// exponent so large that the reciprocal could be subnormal.
fn f64_reciprocal(cx: &mut FnLower<'_, '_>, result: Operand, a: (Wide, Operand), rounding: u8) -> Lowered<Operand> {
    const LEAST_RAISED: u32 = 0x0040_0402;
    let one = Operand::imm_high(ONE_HIGH);
    let raised = word_ops::sum(cx, a.0.hi, Operand::imm(0x0030_0402))?;
    let fast = float32::f32_test(cx, fcmp::GEU, raised.abs(), LEAST_RAISED, false)?;
    let approximate = mufu64(cx, mufu::RCP64H, a.0.hi, raised)?;
    let error = dfused(cx, a.1.neg(), approximate, one)?;
    let error = dfused(cx, error, error, error)?;
    let mut reciprocal = dfused(cx, approximate, error, approximate)?;
    let mut error = dfused(cx, a.1.neg(), reciprocal, one)?;
    if rounding != rnd::RN {
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
    let slope = cx.in_pair(Wide::of_bits(u64::from(THREE_EIGHTHS) << 32))?;
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
        |f, result| f64_root(f, result, a, rounding),
        |f, result| {
            let mode = rounding_mode(f, rounding)?;
            let root = call_routine(f, "__oriole_sqrt_f64", &[a.1, mode])?;
            copy_pair(f, result, root)
        },
    )?;
    f64_result(cx, d, result)
}

/// The inline root, and whether it must not be used: below 2^-969, negative, infinite, NaN.
fn f64_root(cx: &mut FnLower<'_, '_>, result: Operand, a: (Wide, Operand), rounding: u8) -> Lowered<Operand> {
    let lowered = word_ops::sum(cx, a.0.hi, negated(Operand::imm(0x0350_0000)))?;
    let slow = word_ops::test(cx, IntCmp::GE_U, lowered, Operand::imm(0x7ca0_0000))?;
    let approximate = mufu64(cx, mufu::RSQ64H, a.0.hi, lowered)?;
    let inverse = refined_rsqrt(cx, a.1, approximate)?;
    let mut root = dmul(cx, a.1, inverse)?;
    // Half of it: one less in the exponent.
    let half = cx.temp_of(RegType::Pair)?;
    let whole = inverse.as_reg().map_or(Wide::of_bits(0), Wide::of_pair);
    cx.mov(Operand::lo(half), whole.lo)?;
    cx.add(Operand::hi(half), whole.hi, negated(Operand::imm(0x0010_0000)))?;
    let half = Operand::reg(half);
    let mut remainder = dfused(cx, root, root.neg(), a.1)?;
    if rounding != rnd::RN {
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
        |f, result| {
            let lowered = word_ops::sum(f, a.0.hi, negated(Operand::imm(0x0010_0000)))?;
            let slow = word_ops::test(f, IntCmp::GE_U, lowered, Operand::imm(0x7fe0_0000))?;
            let approximate = mufu64(f, mufu::RSQ64H, a.0.hi, Operand::rz())?;
            let refined = refined_rsqrt(f, a.1, approximate)?;
            copy_pair(f, result, refined)?;
            Ok(slow)
        },
        |f, result| {
            let inverse = call_routine(f, "__oriole_rsqrt_f64", &[a.1])?;
            copy_pair(f, result, inverse)
        },
    )?;
    f64_result(cx, d, result)
}

/// `rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64`: the unit's answer, the lower word zero.
pub(crate) fn f64_mufu(cx: &mut FnLower<'_, '_>, inst: &Instruction, function: u8) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = cx.src_f64(a)?;
    let d = cx.dst64(d, &[a])?;
    cx.mov(d.lo, Operand::rz())?;
    float32::mufu(cx, function, d.hi, a.hi)
}

/// `div` of every type
pub(crate) fn div(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    use oriole_ptx::ast::ScalarType;
    match inst.last_type() {
        Some(ScalarType::F32) if inst.has(Word::Approx) || inst.has(Word::Full) => float32::f32_div_approx(f, inst),
        Some(ScalarType::F32) => f32_div(f, inst),
        Some(ScalarType::F64) => f64_div(f, inst),
        Some(ty) if ty.is_float() => Err(unknown(f, inst)),
        _ => integer_division::int_div(f, inst),
    }
}
