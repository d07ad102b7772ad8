//! Double-precision arithmetic and comparison.
//!
//! A NaN operand makes the result that NaN, quiet; the first one in the order of the operands if there
//! are several. An invalid operation makes the NaN with the sign bit set, as x86 does.

use super::host;
use super::lanewise::{Verdict, compare_wide, double2, double3, relates, sources};
use super::rounding::Rounding;
use crate::effect::{Compute, Unsupported};
use crate::state::State;
use oriole_isa::{Dcmp, Field, Inst, Opcode};
use rustc_apfloat::ieee::Double;
use rustc_apfloat::{Float, Round};

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported> {
    let rounding = Rounding::of(inst);
    Ok(Some(match opcode {
        Opcode::DADD => match rounding {
            Rounding::Nearest => double2(inst, |a, b| quiet(&[a, b], f64::from_bits(a) + f64::from_bits(b))),
            other => double2(inst, soft2(other, |a, b, mode| a.add_r(b, mode).value)),
        },
        Opcode::DMUL => match rounding {
            Rounding::Nearest => double2(inst, |a, b| quiet(&[a, b], f64::from_bits(a) * f64::from_bits(b))),
            other => double2(inst, soft2(other, |a, b, mode| a.mul_r(b, mode).value)),
        },
        Opcode::DFMA => match rounding {
            Rounding::Nearest => double3(inst, |a, b, c| {
                quiet(&[a, b, c], f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)))
            }),
            other => double3(inst, soft_fma(other)),
        },
        Opcode::DSETP => dsetp(inst),
        _ => return Ok(None),
    }))
}

/// The bit that makes a NaN quiet.
const QUIET: u64 = 1 << 51;
/// The NaN of an invalid operation.
const INVALID: u64 = 0xfff8 << 48;

/// The bits of a result, its NaN by the rule of the module.
#[inline(always)]
pub(super) fn quiet(operands: &[u64], value: f64) -> u64 {
    if !value.is_nan() {
        return value.to_bits();
    }
    let nan = operands.iter().find(|&&bits| f64::from_bits(bits).is_nan());
    nan.map_or(INVALID, |bits| bits | QUIET)
}

fn mode(rounding: Rounding) -> Round {
    match rounding {
        Rounding::Nearest => Round::NearestTiesToEven,
        Rounding::Down => Round::TowardNegative,
        Rounding::Up => Round::TowardPositive,
        Rounding::Zero => Round::TowardZero,
    }
}

fn soft(bits: u64) -> Double {
    Double::from_bits(u128::from(bits))
}

fn hard(value: Double) -> f64 {
    f64::from_bits(value.to_bits() as u64)
}

/// An operation of two operands in a directed rounding mode.
fn soft2(rounding: Rounding, f: fn(Double, Double, Round) -> Double) -> impl Fn(u64, u64) -> u64 {
    let mode = mode(rounding);
    move |a, b| quiet(&[a, b], hard(f(soft(a), soft(b), mode)))
}

/// The fused operation in a directed rounding mode.
pub(super) fn soft_fma(rounding: Rounding) -> impl Fn(u64, u64, u64) -> u64 {
    let mode = mode(rounding);
    move |a, b, c| quiet(&[a, b, c], hard(soft(a).mul_add_r(soft(b), soft(c), mode).value))
}

fn dsetp(inst: &Inst) -> Compute {
    let (_, a, b, _) = sources(inst);
    let verdict = Verdict::of(inst);
    let code = inst.get(Field::DCMP);
    if code == Dcmp::MIN || code == Dcmp::MAX {
        let least = code == Dcmp::MIN;
        return host::compute(move |state: &mut State| {
            let (a, b) = (a.f64_bits(state), b.f64_bits(state));
            let nan = |bits: u64| f64::from_bits(bits).is_nan();
            let first = compare_wide(&a, &b, |a, b| !nan(a) && (nan(b) || (ordinal(a) < ordinal(b)) == least));
            let neither = compare_wide(&a, &b, |a, b| nan(a) && nan(b));
            verdict.write_both(state, first, neither);
        });
    }
    host::compute(move |state: &mut State| {
        let (a, b) = (a.f64_bits(state), b.f64_bits(state));
        let result = compare_wide(&a, &b, |a, b| relates(code.code(), f64::from_bits(a), f64::from_bits(b)));
        verdict.write(state, result);
    })
}

/// The order of double bits as integers: -0 below +0. Not for NaN.
fn ordinal(bits: u64) -> i64 {
    let bits = bits as i64;
    bits ^ (bits >> 63 & i64::MAX)
}
