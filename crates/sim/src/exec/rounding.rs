//! Rounding to the float formats of the hardware.
//!
//! Results of the narrow formats are computed in `f64` first, exactly or *rounded to odd* (an inexact
//! result takes the neighbour whose last bit is set). A value rounded to odd at 53 bits rounds to any
//! format of at most 51 bits, in any mode, as the exact value does, so one function, [`narrow`],
//! serves all formats and modes.

use oriole_isa::{Field, Inst, Rnd};

/// A rounding mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// Toward minus infinity.
    Down,
    /// Toward plus infinity.
    Up,
    /// Toward zero.
    Zero,
}

impl Rounding {
    /// The mode that the field `rnd` names.
    pub(super) fn of(inst: &Inst) -> Self {
        match inst.get(Field::RND) {
            Rnd::RM => Rounding::Down,
            Rnd::RP => Rounding::Up,
            Rnd::RZ => Rounding::Zero,
            _ => Rounding::Nearest,
        }
    }
}

/// The NaN that single-precision arithmetic returns.
pub(super) const NAN32: u32 = 0x7fff_ffff;
/// The NaN that f16 and bf16 arithmetic returns.
pub(super) const NAN16: u32 = 0x7fff;

/// A binary float format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// Bits of the significand, the hidden one included.
    precision: u32,
    /// Exponent of the least normal number.
    least: i32,
    /// The bits of the greatest finite number.
    greatest: u32,
    /// The bits of infinity; of NaN where the format has no infinity.
    infinity: u32,
    /// The bits of the NaN that conversions return.
    nan: u32,
    /// The sign bit.
    sign: u32,
}

/// `f32`.
pub(super) const SINGLE: Format =
    Format { precision: 24, least: -126, greatest: 0x7f7f_ffff, infinity: 0x7f80_0000, nan: NAN32, sign: 1 << 31 };
/// `f16`.
pub(super) const HALF: Format =
    Format { precision: 11, least: -14, greatest: 0x7bff, infinity: 0x7c00, nan: NAN16, sign: 1 << 15 };
/// `bf16`.
pub(super) const BFLOAT: Format =
    Format { precision: 8, least: -126, greatest: 0x7f7f, infinity: 0x7f80, nan: NAN16, sign: 1 << 15 };
/// The significant 19 bits of `tf32`.
pub(super) const TENSOR: Format =
    Format { precision: 11, least: -126, greatest: 0x3_fbff, infinity: 0x3_fc00, nan: 0x3_ffff, sign: 1 << 18 };
/// `e5m2`.
pub(super) const E5M2: Format =
    Format { precision: 3, least: -14, greatest: 0x7b, infinity: 0x7c, nan: 0x7f, sign: 1 << 7 };
/// `e4m3`, which has no infinity.
pub(super) const E4M3: Format =
    Format { precision: 4, least: -6, greatest: 0x7e, infinity: 0x7f, nan: 0x7f, sign: 1 << 7 };
/// `e3m2`, which has neither infinity nor NaN, as the two below.
pub(super) const E3M2: Format =
    Format { precision: 3, least: -2, greatest: 0x1f, infinity: u32::MAX, nan: u32::MAX, sign: 1 << 5 };
/// `e2m3`.
pub(super) const E2M3: Format =
    Format { precision: 4, least: 0, greatest: 0x1f, infinity: u32::MAX, nan: u32::MAX, sign: 1 << 5 };
/// `e2m1`.
pub(super) const E2M1: Format =
    Format { precision: 2, least: 0, greatest: 0x7, infinity: u32::MAX, nan: u32::MAX, sign: 1 << 3 };

/// `ue5m3`, which has neither sign nor infinity: the bit of the sign is one that no number has.
pub(super) const UE5M3: Format =
    Format { precision: 4, least: -14, greatest: 0xfe, infinity: 0xff, nan: 0xff, sign: 1 << 8 };

impl Format {
    /// The format has codes for NaN.
    pub(super) fn has_nan(self) -> bool {
        self.nan != u32::MAX
    }

    /// The bits of the greatest finite number.
    pub(super) fn greatest(self) -> u32 {
        self.greatest
    }

    /// The bits of one.
    pub(super) fn one(self) -> u32 {
        narrow(1.0, self, Rounding::Nearest)
    }

    /// The sign bit.
    pub(super) fn sign(self) -> u32 {
        self.sign
    }

    /// `bits` are those of a NaN.
    #[inline(always)]
    pub(super) fn is_nan(self, bits: u32) -> bool {
        let magnitude = bits & (self.sign - 1);
        magnitude > self.infinity || magnitude == self.nan
    }

    /// `bits` with a subnormal number replaced by zero of its sign.
    #[inline(always)]
    pub(super) fn flush(self, bits: u32) -> u32 {
        let subnormal = bits & (self.sign - 1) < 1 << (self.precision - 1);
        if subnormal { bits & self.sign } else { bits }
    }

    /// The value of `bits`, exactly.
    #[inline]
    pub(super) fn widen(self, bits: u32) -> f64 {
        let magnitude = bits & (self.sign - 1);
        let negative = bits & self.sign != 0;
        let (field, fraction) = (magnitude >> (self.precision - 1), magnitude & ((1 << (self.precision - 1)) - 1));
        let value = if self.is_nan(bits) {
            f64::NAN
        } else if magnitude == self.infinity {
            f64::INFINITY
        } else if field == 0 {
            f64::from(fraction) * power_of_two(self.least - (self.precision as i32 - 1))
        } else {
            let exponent = (field as i32 - 1 + self.least + 1023) as u64;
            f64::from_bits(exponent << 52 | u64::from(fraction) << (53 - self.precision))
        };
        if negative { -value } else { value }
    }
}

/// `2^exponent` for exponents of normal doubles.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// `value`, exact or rounded to odd, in another format.
#[inline]
pub(super) fn narrow(value: f64, format: Format, rounding: Rounding) -> u32 {
    let bits = value.to_bits();
    let negative = bits >> 63 != 0;
    let sign = if negative { format.sign } else { 0 };
    if !value.is_finite() {
        return if value.is_nan() { format.nan } else { sign | format.infinity };
    }
    let field = (bits >> 52 & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let (significand, exponent) = if field == 0 { (fraction, -1022) } else { (fraction | 1 << 52, field - 1023) };
    let place = exponent.max(format.least);
    // Bits below the format's last place; all of them where even the first bit is far below it.
    let dropped = (place - exponent + 53 - format.precision as i32).min(63) as u32;
    let kept = significand >> dropped;
    let (rest, half) = (significand & ((1 << dropped) - 1), 1 << (dropped - 1));
    let up = match rounding {
        Rounding::Nearest => rest > half || rest == half && kept & 1 != 0,
        Rounding::Up => rest != 0 && !negative,
        Rounding::Down => rest != 0 && negative,
        Rounding::Zero => false,
    };
    let magnitude = (((place - format.least) as u64) << (format.precision - 1)) + kept + u64::from(up);
    if magnitude <= u64::from(format.greatest) {
        return sign | magnitude as u32;
    }
    let to_infinity = match rounding {
        Rounding::Nearest => true,
        Rounding::Up => !negative,
        Rounding::Down => negative,
        Rounding::Zero => false,
    };
    sign | if to_infinity { format.infinity } else { format.greatest }
}

/// `nearest`, the rounded form of a number that differs from it by something of the sign of `error`,
/// rounded to odd instead.
#[inline(always)]
fn to_odd(nearest: f64, error: f64) -> f64 {
    let bits = nearest.to_bits();
    let outward = (error > 0.0) == (nearest > 0.0);
    let odd = bits.wrapping_add(if outward { 1 } else { u64::MAX });
    // The error of an infinite or undefined sum is a NaN, which is neither above nor below zero.
    let inexact = error.abs() > 0.0;
    f64::from_bits(if inexact && bits & 1 == 0 { odd } else { bits })
}

/// `a + b` rounded to odd; an exact zero has the sign that `rounding` gives it.
#[inline(always)]
pub(super) fn sum_to_odd(a: f64, b: f64, rounding: Rounding) -> f64 {
    let sum = a + b;
    if sum == 0.0 && rounding == Rounding::Down && a.is_sign_negative() != b.is_sign_negative() {
        return -0.0;
    }
    let virtual_b = sum - a;
    let error = (a - (sum - virtual_b)) + (b - virtual_b);
    to_odd(sum, error)
}

/// An integer as a double, rounded to odd.
pub(super) fn integer_to_odd(value: i128) -> f64 {
    let nearest = value as f64;
    to_odd(nearest, (value - nearest as i128) as f64)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use rustc_apfloat::{Float, FloatConvert, Round, ieee};

    const MODES: [(Rounding, Round); 4] = [
        (Rounding::Nearest, Round::NearestTiesToEven),
        (Rounding::Down, Round::TowardNegative),
        (Rounding::Up, Round::TowardPositive),
        (Rounding::Zero, Round::TowardZero),
    ];

    /// Numbers of all magnitudes: a mixed generator, with the exponents of each range often.
    pub(in crate::exec) fn doubles(count: u64) -> impl Iterator<Item = f64> {
        (0..count).map(|i| {
            let mut z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^= z >> 31;
            let exponent = match i % 4 {
                0 => z >> 52 & 0x7ff,
                1 => 1023 - 160 + (z >> 52 & 0x7f),
                2 => 1023 - 32 + (z >> 52 & 0x3f),
                _ => 1023 + (z >> 52 & 0xff),
            };
            let fraction = if i % 3 == 0 { z & 0xf_ffff_0000_0000 } else { z & 0xf_ffff_ffff_ffff };
            f64::from_bits(z & 1 << 63 | exponent << 52 | fraction)
        })
    }

    fn check<F: Float + FloatConvert<ieee::Double>>(format: Format)
    where
        ieee::Double: FloatConvert<F>,
    {
        for value in doubles(40_000).filter(|value| !value.is_nan()) {
            for (ours, theirs) in MODES {
                let wide = ieee::Double::from_bits(value.to_bits().into());
                let expected: F = wide.convert_r(theirs, &mut false).value;
                let bits = expected.to_bits() as u32;
                assert_eq!(narrow(value, format, ours), bits, "{value:e} {ours:?} {format:?}");
                let back: ieee::Double = expected.convert(&mut false).value;
                assert_eq!(format.widen(bits).to_bits(), back.to_bits() as u64, "{value:e} {format:?}");
            }
        }
    }

    #[test]
    fn narrowing_agrees_with_apfloat() {
        check::<ieee::Single>(SINGLE);
        check::<ieee::Half>(HALF);
        check::<ieee::BFloat>(BFLOAT);
        check::<ieee::Float8E5M2>(E5M2);
    }

    #[test]
    fn sums_to_odd_round_like_exact_sums() {
        let values: Vec<f32> = doubles(600).map(|value| value as f32).filter(|value| !value.is_nan()).collect();
        for (i, &a) in values.iter().enumerate() {
            for &b in values.iter().skip(i % 7).step_by(7) {
                for (ours, theirs) in MODES {
                    let (x, y) =
                        (ieee::Single::from_bits(a.to_bits().into()), ieee::Single::from_bits(b.to_bits().into()));
                    let expected = x.add_r(y, theirs).value;
                    let sum = sum_to_odd(f64::from(a), f64::from(b), ours);
                    let got = narrow(sum, SINGLE, ours);
                    let same = got == expected.to_bits() as u32 || sum.is_nan() && expected.is_nan();
                    assert!(same, "{a:e} + {b:e} {ours:?}: {got:#x}");
                }
            }
        }
    }

    #[test]
    fn e4m3_has_no_infinity() {
        assert_eq!(narrow(448.0, E4M3, Rounding::Nearest), 0x7e);
        assert_eq!(narrow(1e9, E4M3, Rounding::Nearest), 0x7f);
        assert_eq!(E4M3.widen(0x7e), 448.0);
        assert_eq!(E4M3.widen(0x01), 0.001953125);
        assert!(E4M3.widen(0xff).is_nan());
    }
}
