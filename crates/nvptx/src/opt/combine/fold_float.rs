//! Floating-point arithmetic on constants, by `rustc_apfloat`.
//!
//! Nothing is folded that the target may answer otherwise: results that are a NaN, whose bits PTX makes canonical, and
//! denormal `float`s, which `ftz` makes zero.

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round, StatusAnd};

use crate::ir::{BinaryOp, FloatPredicate, TypeId};

/// Calls a generic function with the format of a type.
macro_rules! with_format {
    ($ty:expr, $function:ident($($arg:expr),*)) => {
        match $ty {
            TypeId::HALF => $function::<Half>($($arg),*),
            TypeId::BFLOAT => $function::<BFloat>($($arg),*),
            TypeId::FLOAT => $function::<Single>($($arg),*),
            TypeId::DOUBLE => $function::<Double>($($arg),*),
            _ => None,
        }
    };
}

/// The operand, unless the target may read it otherwise.
fn operand<F: Float>(ty: TypeId, bits: u64) -> Option<F> {
    let value = F::from_bits(bits.into());
    usable(ty, &value).then_some(value)
}

fn usable<F: Float>(ty: TypeId, value: &F) -> bool {
    !(value.is_nan() || ty == TypeId::FLOAT && value.is_denormal())
}

fn result<F: Float>(ty: TypeId, value: F) -> Option<u64> {
    usable(ty, &value).then(|| value.to_bits() as u64)
}

/// A binary operation.
pub(super) fn binary(op: BinaryOp, ty: TypeId, a: u64, b: u64) -> Option<u64> {
    fn go<F: Float>(op: BinaryOp, ty: TypeId, a: u64, b: u64) -> Option<u64> {
        let (a, b) = (operand::<F>(ty, a)?, operand::<F>(ty, b)?);
        let value = match op {
            BinaryOp::FAdd => (a + b).value,
            BinaryOp::FSub => (a - b).value,
            BinaryOp::FMul => (a * b).value,
            BinaryOp::FDiv => (a / b).value,
            BinaryOp::FRem => a.c_fmod(b).value,
            _ => return None,
        };
        result(ty, value)
    }
    with_format!(ty, go(op, ty, a, b))
}

/// `a * b + c`, rounded once.
pub(super) fn fma(ty: TypeId, a: u64, b: u64, c: u64) -> Option<u64> {
    fn go<F: Float>(ty: TypeId, a: u64, b: u64, c: u64) -> Option<u64> {
        let (a, b, c) = (operand::<F>(ty, a)?, operand::<F>(ty, b)?, operand::<F>(ty, c)?);
        result(ty, a.mul_add(b, c).value)
    }
    with_format!(ty, go(ty, a, b, c))
}

/// Rounding to an integer.
pub(super) fn round(ty: TypeId, value: u64, round: Round) -> Option<u64> {
    fn go<F: Float>(ty: TypeId, value: u64, round: Round) -> Option<u64> {
        result(ty, operand::<F>(ty, value)?.round_to_integral(round).value)
    }
    with_format!(ty, go(ty, value, round))
}

/// The smaller (or larger) of two numbers.
pub(super) fn extremum(ty: TypeId, a: u64, b: u64, larger: bool) -> Option<u64> {
    fn go<F: Float>(ty: TypeId, a: u64, b: u64, larger: bool) -> Option<u64> {
        let (x, y) = (operand::<F>(ty, a)?, operand::<F>(ty, b)?);
        // Which of two zeros is the smaller depends on who is asked.
        if x == y && a != b {
            return None;
        }
        Some(if (x < y) == larger { b } else { a })
    }
    with_format!(ty, go(ty, a, b, larger))
}

/// A comparison.
pub(super) fn compare(predicate: FloatPredicate, ty: TypeId, a: u64, b: u64) -> Option<bool> {
    fn go<F: Float>(predicate: FloatPredicate, ty: TypeId, a: u64, b: u64) -> Option<bool> {
        use FloatPredicate::*;
        let (a, b) = (F::from_bits(a.into()), F::from_bits(b.into()));
        if ty == TypeId::FLOAT && (a.is_denormal() || b.is_denormal()) {
            return None;
        }
        let unordered = a.is_nan() || b.is_nan();
        Some(match predicate {
            False => false,
            Oeq => a == b,
            Ogt => a > b,
            Oge => a >= b,
            Olt => a < b,
            Ole => a <= b,
            One => !unordered && a != b,
            Ord => !unordered,
            Ueq => unordered || a == b,
            Ugt => unordered || a > b,
            Uge => unordered || a >= b,
            Ult => unordered || a < b,
            Ule => unordered || a <= b,
            Une => a != b,
            Uno => unordered,
            True => true,
        })
    }
    with_format!(ty, go(predicate, ty, a, b))
}

/// A conversion between formats.
pub(super) fn convert(from: TypeId, to: TypeId, bits: u64) -> Option<u64> {
    fn go<F>(from: TypeId, to: TypeId, bits: u64) -> Option<u64>
    where
        F: Float + FloatConvert<Half> + FloatConvert<BFloat> + FloatConvert<Single> + FloatConvert<Double>,
    {
        let value = operand::<F>(from, bits)?;
        let mut lossy = false;
        match to {
            TypeId::HALF => result::<Half>(to, value.convert(&mut lossy).value),
            TypeId::BFLOAT => result::<BFloat>(to, value.convert(&mut lossy).value),
            TypeId::FLOAT => result::<Single>(to, value.convert(&mut lossy).value),
            TypeId::DOUBLE => result::<Double>(to, value.convert(&mut lossy).value),
            _ => None,
        }
    }
    with_format!(from, go(from, to, bits))
}

/// To an integer, towards zero; `None` when it does not fit.
pub(super) fn to_int(from: TypeId, bits: u64, width: u32, signed: bool) -> Option<u128> {
    fn go<F: Float>(from: TypeId, bits: u64, width: u32, signed: bool) -> Option<u128> {
        let value = operand::<F>(from, bits)?;
        let mut exact = false;
        let StatusAnd { status, value } = if signed {
            let signed = value.to_i128_r(width as usize, Round::TowardZero, &mut exact);
            StatusAnd { status: signed.status, value: signed.value as u128 & super::fold_int::mask(width) }
        } else {
            value.to_u128_r(width as usize, Round::TowardZero, &mut exact)
        };
        (!status.intersects(rustc_apfloat::Status::INVALID_OP)).then_some(value)
    }
    with_format!(from, go(from, bits, width, signed))
}

/// From an integer, to the nearest.
pub(super) fn from_int(to: TypeId, value: u128, bits: u32, signed: bool) -> Option<u64> {
    fn go<F: Float>(to: TypeId, value: u128, bits: u32, signed: bool) -> Option<u64> {
        let number = if signed { F::from_i128(super::fold_int::sext(value, bits)) } else { F::from_u128(value) }.value;
        result(to, number)
    }
    with_format!(to, go(to, value, bits, signed))
}

/// `1 / value`, when that is exact and neither is denormal.
pub(super) fn exact_inverse(ty: TypeId, bits: u64) -> Option<u64> {
    fn go<F: Float>(ty: TypeId, bits: u64) -> Option<u64> {
        let inverse = operand::<F>(ty, bits)?.get_exact_inverse()?;
        (!inverse.is_denormal()).then(|| result(ty, inverse))?
    }
    with_format!(ty, go(ty, bits))
}
