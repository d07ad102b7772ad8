//! `MUFU`, the approximations of transcendental functions.
//!
//! The hardware interpolates in tables that are not published. Here each function is computed in
//! double precision and rounded to nearest, which lies within the error bounds that the PTX manual
//! gives for its `.approx` instructions; special values are those of its tables. Like the hardware,
//! single-precision functions other than the hyperbolic tangent take subnormal operands and results
//! for zero: compilers scale around the instruction where that matters.

use super::half::HalfOperand;
use super::host;
use super::lanewise::single1;
use super::rounding::{BFLOAT, Format, HALF, NAN32, Rounding, SINGLE, narrow};
use crate::effect::{Compute, Unsupported};
use crate::lanes::map2;
use crate::operand::Dst;
use crate::state::State;
use oriole_isa::{Field, HalfB, HalfFmt, Inst, Mufu, MufuFmt, Opcode, Role};
use std::f64::consts::TAU;

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported> {
    if opcode == Opcode::MUFU_X2 {
        return Ok(Some(powers_of_halves(inst)));
    }
    if opcode != Opcode::MUFU {
        return Ok(None);
    }
    let function = inst.get(Field::MUFU);
    let compute = match (inst.get(Field::MUFU_FMT), function) {
        (MufuFmt::F32, Mufu::RCP64H) => single1(inst, |high| high_word(high, |x| 1.0 / x)),
        (MufuFmt::F32, Mufu::RSQ64H) => single1(inst, |high| high_word(high, |x| 1.0 / x.sqrt())),
        (MufuFmt::F32, Mufu::TANH) => single1(inst, |bits| result(libm::tanh(f64::from(f32::from_bits(bits))))),
        (MufuFmt::F32, Mufu::RCP) => flushed(inst, |x| 1.0 / x),
        (MufuFmt::F32, Mufu::SQRT) => flushed(inst, f64::sqrt),
        (MufuFmt::F32, Mufu::RSQ) => flushed(inst, |x| 1.0 / x.sqrt()),
        (MufuFmt::F32, function) => {
            let f = real_function(function)?;
            flushed(inst, f)
        }
        (format, function) => half_function(inst, format, function)?,
    };
    Ok(Some(compute))
}

/// The function that a code names, on real numbers.
fn real_function(function: Mufu) -> Result<fn(f64) -> f64, Unsupported> {
    Ok(match function {
        Mufu::COS => |x| libm::cos(TAU * turn(x)),
        Mufu::SIN => |x| if x == 0.0 { x } else { libm::sin(TAU * turn(x)) },
        Mufu::EX2 => libm::exp2,
        Mufu::LG2 => libm::log2,
        Mufu::RCP => |x| 1.0 / x,
        Mufu::RSQ => |x| 1.0 / x.sqrt(),
        Mufu::SQRT => f64::sqrt,
        Mufu::TANH => libm::tanh,
        other => return Err(Unsupported(format!("function {other} of MUFU in this format"))),
    })
}

/// The part of an angle, given in turns, that a full turn leaves; exact.
fn turn(x: f64) -> f64 {
    x - x.round()
}

/// A function of a single. The host rounds to single precision as [`narrow`] would to nearest, and as a
/// vector operation.
fn flushed(inst: &Inst, f: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Compute {
    single1(inst, move |bits| SINGLE.flush(result(f(f64::from(f32::from_bits(SINGLE.flush(bits)))))))
}

/// A real number as a single.
#[inline(always)]
fn result(value: f64) -> u32 {
    let single = value as f32;
    if single.is_nan() { NAN32 } else { single.to_bits() }
}

/// A function of the double whose high word is `high` and whose low word is zero; the high word of its
/// value. Subnormal operands and results count as zero.
fn high_word(high: u32, f: impl Fn(f64) -> f64) -> u32 {
    const FIELD: u32 = 0x7ff0_0000;
    let operand = if high & FIELD == 0 { high & 1 << 31 } else { high };
    let value = f(f64::from_bits(u64::from(operand) << 32));
    if value.is_nan() {
        return NAN32;
    }
    let high = (value.to_bits() >> 32) as u32;
    if high & FIELD == 0 { high & 1 << 31 } else { high }
}

/// A function of a half; the result is in the low half.
fn half_function(inst: &Inst, format: MufuFmt, function: Mufu) -> Result<Compute, Unsupported> {
    let format: Format = if format == MufuFmt::F16 { HALF } else { BFLOAT };
    let f = real_function(function)?;
    let at = if inst.get(Field::HALF_B) == HalfB::H1 { 16 } else { 0 };
    let source = HalfOperand::of(inst, at);
    let d = Dst::of(inst, Role::D);
    // PTX has the power of two of bfloats with `.ftz` only, and ptxas writes nothing else for that.
    let flushes = function == Mufu::EX2 && inst.get(Field::MUFU_FMT) != MufuFmt::F16;
    Ok(host::compute(move |state: &mut State| {
        let value = source.bits(state).map(|bits| of_half(f, format, flushes, bits));
        d.set(state, &value);
    }))
}

/// The function of one half; `flushes`: a subnormal result becomes zero.
fn of_half(f: fn(f64) -> f64, format: Format, flushes: bool, bits: u32) -> u32 {
    let value = narrow(f(format.widen(bits)), format, Rounding::Nearest);
    if flushes { format.flush(value) } else { value }
}

/// `MUFU.EX2` of both halves of a register.
fn powers_of_halves(inst: &Inst) -> Compute {
    // As of single halves, those of bfloats flush.
    let flushes = inst.get(Field::HALF_FMT) == HalfFmt::BF16_V2;
    let format: Format = if flushes { BFLOAT } else { HALF };
    let halves = [0, 16].map(|at| HalfOperand::of(inst, at));
    let d = Dst::of(inst, Role::D);
    host::compute(move |state: &mut State| {
        let power = |half: &HalfOperand| half.bits(state).map(|bits| of_half(libm::exp2, format, flushes, bits));
        let [low, high] = halves.each_ref().map(power);
        d.set(state, &map2(&low, &high, |low, high| high << 16 | low));
    })
}
