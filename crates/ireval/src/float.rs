//! Floating-point arithmetic, exact in every format.
//!
//! A NaN that an operation makes has no sign or payload ([`Value::Nan`]): LLVM does not say which NaN it is, and PTX
//! makes another than LLVM's constant folding. `fneg`, `fabs` and `copysign` of a NaN are such NaNs too, though LLVM says
//! that only the sign changes: PTX has no such promise.

use crate::fault::Fault;
use crate::format::Format;
use crate::value::{Value, bits};
use oriole_nvptx::ir::{BinaryOp, FloatPredicate, InstFlags};
use rustc_apfloat::Round;
use std::cmp::Ordering;

impl Format {
    /// The number as a value: a NaN loses its payload.
    pub(crate) fn result(self, value: u128) -> Value {
        if self.is_nan(value) { Value::Nan } else { Value::Bits(value) }
    }
}

/// The operands' bits; a NaN without payload gets LLVM's.
pub(crate) fn numbers<const N: usize>(format: Format, operands: [&Value; N]) -> Result<[u128; N], Value> {
    let nan = Value::Bits(format.quiet_nan());
    bits(operands.map(|operand| if matches!(operand, Value::Nan) { &nan } else { operand }))
}

/// `fadd` and the others of scalars.
pub(crate) fn binary(op: BinaryOp, flags: InstFlags, format: Format, operands: [&Value; 2]) -> Value {
    let [a, b] = match numbers(format, operands) {
        Ok(numbers) => numbers,
        Err(unknown) => return unknown,
    };
    promised(flags, format, &[a, b], format.result(format.arithmetic(op, a, b, Round::NearestTiesToEven)))
}

/// The result of an operation with fast-math flags: poison when `nnan` or `ninf` is not kept.
///
/// The other flags allow results that differ; here they mean nothing.
pub(crate) fn promised(flags: InstFlags, format: Format, operands: &[u128], result: Value) -> Value {
    let mut all = operands.to_vec();
    match result {
        Value::Bits(bits) => all.push(bits),
        Value::Nan => all.push(format.quiet_nan()),
        _ => {}
    }
    let broken = flags.contains(InstFlags::NO_NANS) && all.iter().any(|&number| format.is_nan(number))
        || flags.contains(InstFlags::NO_INFS) && all.iter().any(|&number| format.is_infinite(number));
    if broken { Value::POISON } else { result }
}

/// `fneg` of a scalar.
pub(crate) fn negate(flags: InstFlags, format: Format, operand: &Value) -> Value {
    match numbers(format, [operand]) {
        Ok([a]) => promised(flags, format, &[a], format.result(a ^ format.sign())),
        Err(unknown) => unknown,
    }
}

/// `fcmp` of scalars.
pub(crate) fn compare(predicate: FloatPredicate, flags: InstFlags, format: Format, operands: [&Value; 2]) -> Value {
    use FloatPredicate::*;
    let [a, b] = match numbers(format, operands) {
        Ok(numbers) => numbers,
        Err(unknown) => return unknown,
    };
    let order = format.compare(a, b);
    let ordered = |wanted: &[Ordering]| order.is_some_and(|order| wanted.contains(&order));
    let unordered = order.is_none();
    let holds = match predicate {
        False => false,
        Oeq => ordered(&[Ordering::Equal]),
        Ogt => ordered(&[Ordering::Greater]),
        Oge => ordered(&[Ordering::Greater, Ordering::Equal]),
        Olt => ordered(&[Ordering::Less]),
        Ole => ordered(&[Ordering::Less, Ordering::Equal]),
        One => ordered(&[Ordering::Less, Ordering::Greater]),
        Ord => !unordered,
        Ueq => unordered || ordered(&[Ordering::Equal]),
        Ugt => unordered || ordered(&[Ordering::Greater]),
        Uge => unordered || ordered(&[Ordering::Greater, Ordering::Equal]),
        Ult => unordered || ordered(&[Ordering::Less]),
        Ule => unordered || ordered(&[Ordering::Less, Ordering::Equal]),
        Une => unordered || ordered(&[Ordering::Less, Ordering::Greater]),
        Uno => unordered,
        True => true,
    };
    promised(flags, format, &[a, b], Value::bool(holds))
}

/// `minnum`, `maximum` and the like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extremum {
    /// The greater number rather than the smaller one.
    pub(crate) max: bool,
    /// A NaN makes the result a NaN; otherwise the other number wins.
    pub(crate) nan_wins: bool,
    /// -0 is smaller than +0; otherwise either may come out.
    pub(crate) zeros_ordered: bool,
}

impl Extremum {
    pub(crate) fn of(self, format: Format, operands: [&Value; 2]) -> Result<Value, Fault> {
        let [a, b] = match numbers(format, operands) {
            Ok(numbers) => numbers,
            Err(unknown) => return Ok(unknown),
        };
        if format.is_nan(a) || format.is_nan(b) {
            if self.nan_wins || (format.is_nan(a) && format.is_nan(b)) {
                return Ok(Value::Nan);
            }
            // `minnum` may make a quiet NaN of a signaling one, or pass it over.
            if !self.zeros_ordered && (format.is_signaling(a) || format.is_signaling(b)) {
                return Ok(Value::OPEN);
            }
            return Ok(Value::Bits(if format.is_nan(a) { b } else { a }));
        }
        if format.is_zero(a) && format.is_zero(b) {
            let sign = if self.max { a & b } else { a | b };
            return Ok(if self.zeros_ordered || a == b { Value::Bits(sign) } else { Value::OPEN });
        }
        let less = format.compare(a, b) == Some(Ordering::Less);
        Ok(Value::Bits(if less == self.max { b } else { a }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all kinds: random bits, which rarely meet, and small ones, which do.
    fn samples(seed: u64) -> impl Iterator<Item = u64> {
        let mut random = fastrand::Rng::with_seed(seed);
        let special =
            [0.0, -0.0, 1.0, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE, 5e-324, 1e300];
        (0..4000).map(move |n| match n % 4 {
            0 => random.u64(..),
            1 => (random.i32(-99..99) as f64 / 8.0).to_bits(),
            2 => special[random.usize(..special.len())].to_bits(),
            _ => f64::from(f32::from_bits(random.u32(..))).to_bits(),
        })
    }

    fn same(format: Format, got: u128, want: u64) -> bool {
        got == u128::from(want) || format.is_nan(got) && format.is_nan(u128::from(want))
    }

    #[test]
    fn doubles_are_those_of_the_host() {
        let round = Round::NearestTiesToEven;
        for (a, b) in samples(1).zip(samples(2)) {
            let (x, y, bits) = (f64::from_bits(a), f64::from_bits(b), [u128::from(a), u128::from(b)]);
            let rows = [
                (BinaryOp::FAdd, x + y),
                (BinaryOp::FSub, x - y),
                (BinaryOp::FMul, x * y),
                (BinaryOp::FDiv, x / y),
                (BinaryOp::FRem, x % y),
            ];
            for (op, want) in rows {
                let got = Format::Double.arithmetic(op, bits[0], bits[1], round);
                assert!(same(Format::Double, got, want.to_bits()), "{op:?} {x:e} {y:e}: {got:x}, not {want:e}");
            }
            assert!(same(
                Format::Double,
                Format::Double.fma(bits[0], bits[1], bits[0], round),
                x.mul_add(y, x).to_bits()
            ));
            assert_eq!(Format::Double.compare(bits[0], bits[1]), x.partial_cmp(&y));
            let single = Format::Single.convert(Format::Double, bits[0], round);
            assert!(same(Format::Single, single, u64::from((x as f32).to_bits())), "{x:e}");
        }
    }

    #[test]
    fn singles_are_those_of_the_host() {
        let round = Round::NearestTiesToEven;
        for (a, b) in samples(3).zip(samples(4)) {
            let (x, y) = (f64::from_bits(a) as f32, f64::from_bits(b) as f32);
            let bits = [u128::from(x.to_bits()), u128::from(y.to_bits())];
            let got = Format::Single.arithmetic(BinaryOp::FDiv, bits[0], bits[1], round);
            assert!(same(Format::Single, got, u64::from((x / y).to_bits())), "{x:e} / {y:e}");
            assert!(same(Format::Single, Format::Single.sqrt(bits[0]), u64::from(x.sqrt().to_bits())), "sqrt {x:e}");
            for (round, want) in [
                (Round::TowardNegative, x.floor()),
                (Round::TowardPositive, x.ceil()),
                (Round::TowardZero, x.trunc()),
                (Round::NearestTiesToAway, x.round()),
                (Round::NearestTiesToEven, x.round_ties_even()),
            ] {
                assert!(
                    same(Format::Single, Format::Single.round_to_integral(bits[0], round), u64::from(want.to_bits())),
                    "{x:e}"
                );
            }
        }
    }

    #[test]
    fn integers_are_those_of_the_host() {
        for a in samples(5) {
            let x = f64::from_bits(a);
            let to = |width, sign| Format::Double.to_int(u128::from(a), width, sign, Round::TowardZero);
            assert_eq!(to(8, true).0 as u8 as i8, x as i8, "{x:e}");
            assert_eq!(to(16, false).0 as u16, x as u16, "{x:e}");
            assert_eq!(to(32, true).0 as u32 as i32, x as i32, "{x:e}");
            assert_eq!(to(64, true).0 as u64 as i64, x as i64, "{x:e}");
            assert_eq!(to(64, false).0 as u64, x as u64, "{x:e}");
            assert_eq!(to(32, true).1, x.trunc() >= -2147483648.0 && x.trunc() <= 2147483647.0, "{x:e}");
            assert_eq!(
                Format::Single.of_signed(i128::from(a as i64), Round::NearestTiesToEven),
                u128::from((a as i64 as f32).to_bits())
            );
            assert_eq!(
                Format::Double.of_unsigned(u128::from(a), Round::NearestTiesToEven),
                u128::from((a as f64).to_bits())
            );
        }
    }

    #[test]
    fn halves_are_those_of_the_half_crate() {
        let round = Round::NearestTiesToEven;
        for a in samples(6) {
            let x = f64::from_bits(a);
            let half = Format::Half.convert(Format::Double, u128::from(a), round);
            assert!(same(Format::Half, half, u64::from(half::f16::from_f64(x).to_bits())), "{x:e}");
            let single = u128::from((x as f32).to_bits());
            let brain = Format::BFloat.convert(Format::Single, single, round);
            assert!(same(Format::BFloat, brain, u64::from(half::bf16::from_f32(x as f32).to_bits())), "{x:e}");
        }
    }
}
