//! Approximate functions: what `.approx` and `.full` allow to differ from the exact value.
//!
//! The results here are the exact values rounded to the format, so they are within the bounds that the
//! PTX manual gives ([`approximation`]); the hardware's are others within the same bounds.

use oriole_ptx::ast::{Instruction, Opcode, ScalarType, Word};
use rustc_apfloat::Round;

use super::float::arithmetic_format;
use super::format::Format;
use super::function::{Arithmetic, Bits, Compiled, elements, type_of};

/// How far a result may be from the exact one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    /// Units in the last place of the result's format.
    Ulp(u32),
    /// `|result - exact| <= bound`.
    Absolute(f64),
    /// `|result - exact| <= bound * |exact|`.
    Relative(f64),
}

/// The error that the PTX manual allows, or `None` for an instruction that is defined to the bit.
/// Bounds hold on the range that the manual names (for `sin`, `cos`: `[-2π, 2π]`; for `div.approx`:
/// divisors between 2^-126 and 2^126); `lg2` near 1 has an absolute bound, which is the one given.
#[must_use]
pub fn approximation(inst: &Instruction) -> Option<Bound> {
    let element = elements(inst.ty(0)?).0;
    let half = |single| match element {
        ScalarType::F16 => Bound::Relative(1.0 / 1024.0),
        ScalarType::Bf16 => Bound::Relative(1.0 / 128.0),
        _ => single,
    };
    let exact = inst.rounding().is_some();
    Some(match inst.opcode {
        Opcode::Div if !exact => Bound::Ulp(2),
        Opcode::Rcp if !exact && element == ScalarType::F64 => Bound::Relative(f64::from_bits(0x3eb0_0000_0000_0000)),
        Opcode::Rsqrt if element == ScalarType::F64 => Bound::Relative(f64::from_bits(0x3eb0_0000_0000_0000)),
        Opcode::Rcp if !exact => Bound::Ulp(1),
        Opcode::Sqrt if !exact => Bound::Relative(libm::exp2(-23.0)),
        Opcode::Rsqrt => Bound::Relative(libm::exp2(-22.9)),
        Opcode::Sin | Opcode::Cos => Bound::Absolute(libm::exp2(-20.5)),
        Opcode::Lg2 => Bound::Absolute(libm::exp2(-22.0)),
        Opcode::Ex2 => half(Bound::Relative(libm::exp2(-22.0))),
        Opcode::Tanh => half(Bound::Relative(libm::exp2(-11.0))),
        _ => return None,
    })
}

/// `div rcp sqrt rsqrt sin cos lg2 ex2 tanh` without a rounding modifier.
pub(super) fn compile(inst: &Instruction) -> Compiled {
    if approximation(inst).is_none() {
        return Ok(None);
    }
    let ty = type_of(inst, 0)?;
    let Some(format) = arithmetic_format(elements(ty).0) else { return Ok(None) };
    if format == Format::F64 {
        return Ok(double(inst, ty));
    }
    let ftz = inst.has(Word::Ftz);
    if inst.opcode == Opcode::Div {
        let quotient = if inst.has(Word::Full) { full_quotient } else { approximate_quotient };
        return Ok(Some(Arithmetic::lanewise(ty, move |sources| {
            let [a, b] = sources.map(|source| value(format, ftz, source));
            rounded(format, ftz, quotient(a, b))
        })));
    }
    let Some(function) = function(inst.opcode) else { return Ok(None) };
    Ok(Some(Arithmetic::lanewise(ty, move |[a]| rounded(format, ftz, function(value(format, ftz, a))))))
}

/// The exact functions, nearly: in double precision, the same on every host.
fn function(opcode: Opcode) -> Option<fn(f64) -> f64> {
    Some(match opcode {
        Opcode::Rcp => |a| 1.0 / a,
        Opcode::Sqrt => f64::sqrt,
        Opcode::Rsqrt => |a| if a == 0.0 { f64::INFINITY.copysign(a) } else { 1.0 / a.sqrt() },
        Opcode::Sin => |a| libm::sin(turns(a)),
        Opcode::Cos => |a| libm::cos(turns(a)),
        Opcode::Lg2 => libm::log2,
        Opcode::Ex2 => libm::exp2,
        Opcode::Tanh => libm::tanh,
        _ => return None,
    })
}

/// The angle that is left of `a` when the number of turns is a single-precision value, as the hardware
/// counts them: the further from zero, the coarser.
fn turns(a: f64) -> f64 {
    /// 1/2π in single precision.
    const TURNS: f32 = 0.159_154_94;
    let turns = Format::F32.encode(Format::F64.decode((a * f64::from(TURNS)).to_bits().into()), Round::TowardZero);
    let turns = f64::from(f32::from_bits(turns as u32));
    // The sign stays where nothing else does: the sine of -0 is -0.
    turns.fract().copysign(turns) * std::f64::consts::TAU
}

/// `a / b` by multiplying with a reciprocal, which is zero for the largest divisors, as the manual says.
fn approximate_quotient(a: f64, b: f64) -> f64 {
    let vanishes = b.is_finite() && b.abs() > 2f64.powi(126);
    if vanishes { a * 0f64.copysign(b) } else { a / b }
}

/// `div.full` scales its operands first.
fn full_quotient(a: f64, b: f64) -> f64 {
    a / b
}

fn value(format: Format, ftz: bool, source: Bits) -> f64 {
    let source = if ftz { format.flushed(source) } else { source };
    f64::from_bits(Format::F64.encode(format.decode(source), Round::NearestTiesToEven) as u64)
}

fn rounded(format: Format, ftz: bool, value: f64) -> Bits {
    let result = format.encode(Format::F64.decode(value.to_bits().into()), Round::NearestTiesToEven);
    if ftz { format.flushed(result) } else { result }
}

/// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` work on the high words: the low one of the source is
/// taken as zero, and that of the result is zero. `rsqrt.approx.f64` is precise.
fn double(inst: &Instruction, ty: ScalarType) -> Option<Arithmetic> {
    const HIGH: Bits = 0xffff_ffff_0000_0000;
    const HIGH_NAN: Bits = 0x7fff_ffff_0000_0000;
    let function = function(inst.opcode)?;
    if inst.has(Word::Ftz) {
        return Some(Arithmetic::function(ty, [ty], move |[a]| {
            let result = function(f64::from_bits(Format::F64.flushed(a & HIGH) as u64));
            if result.is_nan() { HIGH_NAN } else { Format::F64.flushed(result.to_bits().into()) & HIGH }
        }));
    }
    Some(Arithmetic::function(ty, [ty], move |[a]| {
        let result = function(f64::from_bits(a as u64));
        match () {
            () if Format::F64.is_nan(a) => a | 1 << 51,
            () if result.is_nan() => Format::F64.nan(),
            () => result.to_bits().into(),
        }
    }))
}
