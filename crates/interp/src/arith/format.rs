//! Floating-point formats: from bits to exact values and back, in all rounding modes.
//!
//! Every value of every format is a value of [`Quad`], and so is the result of an operation once it is
//! [rounded to odd](odd): rounding that to a format of less than 112 bits gives what rounding the exact
//! result once would give.

use rustc_apfloat::ieee::{
    BFloatS, DoubleS, Float8E4M3FNS, Float8E5M2S, HalfS, IeeeFloat, Quad, QuadS, Semantics, SingleS,
};
use rustc_apfloat::{Float, FloatConvert, Round, Status, StatusAnd};

use super::function::{Bits, low};

/// A floating-point format with a sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    F16,
    Bf16,
    F32,
    F64,
    /// The high 19 bits of an f32; kept in 32 bits.
    Tf32,
    E4m3,
    E5m2,
    E2m3,
    E3m2,
    E2m1,
}

/// Widths and special values of a [`Format`].
struct Layout {
    /// Bits of a value, with the sign.
    width: u32,
    /// Stored bits of the significand.
    fraction: u32,
    /// The bits of the largest finite value.
    largest: Bits,
    /// The bits of the NaN that arithmetic gives; the largest value where the format has none.
    nan: Bits,
}

/// A format like another one, but with more exponents above, so that rounding to it never overflows;
/// its low bits are those of the format.
macro_rules! unbounded {
    ($($name:ident: $bits:literal bits, $exponent:literal exponent, least $least:literal;)*) => {
        $(struct $name;
        impl Semantics for $name {
            const BITS: usize = $bits;
            const EXP_BITS: usize = $exponent;
            const MIN_EXP: i32 = $least;
        })*
    };
}

unbounded! {
    Tf32Wide: 20 bits, 9 exponent, least -126;
    E4m3Wide: 9 bits, 5 exponent, least -6;
    E5m2Wide: 9 bits, 6 exponent, least -14;
    E2m3Wide: 7 bits, 3 exponent, least 0;
    E3m2Wide: 7 bits, 4 exponent, least -2;
    E2m1Wide: 5 bits, 3 exponent, least 0;
    Ue5m3Wide: 10 bits, 6 exponent, least -14;
}

/// The format without a sign.
pub(super) mod ue5m3 {
    use super::{Bits, Float, Quad, Round, Ue5m3Wide, narrow, widen};

    /// The one NaN.
    pub(in crate::arith) const NAN: Bits = 0xff;
    /// The greatest number.
    pub(in crate::arith) const GREATEST: Bits = 0xfe;

    /// The exact value.
    pub(in crate::arith) fn decode(bits: Bits) -> Quad {
        if bits == NAN { Quad::NAN } else { widen::<Ue5m3Wide>(bits) }
    }

    /// A positive number rounded, as if there were numbers above the greatest.
    pub(in crate::arith) fn encode(value: Quad, round: Round) -> Bits {
        narrow::<Ue5m3Wide>(value, round)
    }
}

impl Format {
    const fn layout(self) -> Layout {
        let (width, fraction, largest, nan) = match self {
            Format::F16 => (16, 10, 0x7bff, 0x7fff),
            Format::Bf16 => (16, 7, 0x7f7f, 0x7fff),
            Format::F32 => (32, 23, 0x7f7f_ffff, 0x7fff_ffff),
            Format::F64 => (64, 52, 0x7fef_ffff_ffff_ffff, 0xfff8_0000_0000_0000),
            Format::Tf32 => (32, 23, 0x7f7f_e000, 0x7fff_e000),
            Format::E4m3 => (8, 3, 0x7e, 0x7f),
            Format::E5m2 => (8, 2, 0x7b, 0x7f),
            Format::E2m3 => (6, 3, 0x1f, 0x1f),
            Format::E3m2 => (6, 2, 0x1f, 0x1f),
            Format::E2m1 => (4, 1, 0x7, 0x7),
        };
        Layout { width, fraction, largest, nan }
    }

    /// Bits of a value.
    pub(super) const fn width(self) -> u32 {
        self.layout().width
    }

    /// The NaN that operations give; for formats without NaN their largest value.
    pub(super) const fn nan(self) -> Bits {
        self.layout().nan
    }

    /// The largest finite value.
    pub(super) const fn largest(self) -> Bits {
        self.layout().largest
    }

    /// The value 1.
    pub(super) const fn one(self) -> Bits {
        let Layout { width, fraction, .. } = self.layout();
        ((1 << (width - 2 - fraction)) - 1) << fraction
    }

    /// The sign bit alone.
    pub(super) const fn sign(self) -> Bits {
        1 << (self.width() - 1)
    }

    /// The bits of infinity; only for formats that have it.
    pub(super) const fn infinity(self) -> Bits {
        let Layout { width, fraction, .. } = self.layout();
        ((1 << (width - 1 - fraction)) - 1) << fraction
    }

    /// The smallest normal value.
    pub(super) const fn least_normal(self) -> Bits {
        1 << self.layout().fraction
    }

    /// The value without its sign.
    pub(super) const fn magnitude(self, bits: Bits) -> Bits {
        bits & (self.sign() - 1)
    }

    /// True for NaN.
    pub(super) const fn is_nan(self, bits: Bits) -> bool {
        match self {
            Format::E4m3 => self.magnitude(bits) == 0x7f,
            Format::E2m3 | Format::E3m2 | Format::E2m1 => false,
            _ => self.magnitude(bits) > self.infinity(),
        }
    }

    /// True for subnormal values, not for zero.
    pub(super) const fn is_subnormal(self, bits: Bits) -> bool {
        let magnitude = self.magnitude(bits);
        magnitude != 0 && magnitude >> self.layout().fraction == 0
    }

    /// Subnormal values become zero of their sign.
    pub(super) const fn flushed(self, bits: Bits) -> Bits {
        if self.is_subnormal(bits) { bits & self.sign() } else { bits }
    }

    /// The exact value.
    pub(super) fn decode(self, bits: Bits) -> Quad {
        match self {
            Format::F16 => widen::<HalfS>(bits),
            Format::Bf16 => widen::<BFloatS>(bits),
            Format::F32 | Format::Tf32 => widen::<SingleS>(bits),
            Format::F64 => widen::<DoubleS>(bits),
            Format::E4m3 => widen::<Float8E4M3FNS>(bits),
            Format::E5m2 => widen::<Float8E5M2S>(bits),
            Format::E2m3 => self.decode_finite::<E2m3Wide>(bits),
            Format::E3m2 => self.decode_finite::<E3m2Wide>(bits),
            Format::E2m1 => self.decode_finite::<E2m1Wide>(bits),
        }
    }

    fn decode_finite<S: Semantics>(self, bits: Bits) -> Quad {
        let value = widen::<S>(self.magnitude(bits));
        if bits & self.sign() == 0 { value } else { -value }
    }

    /// The value in this format, rounded; values beyond the range become infinity as IEEE 754 says, or
    /// the largest value in the formats of 8 bits and less. NaN becomes [`Format::nan`].
    pub(super) fn encode(self, value: Quad, round: Round) -> Bits {
        if value.is_nan() {
            return self.nan();
        }
        match self {
            Format::F16 => narrow::<HalfS>(value, round),
            Format::Bf16 => narrow::<BFloatS>(value, round),
            Format::F32 => narrow::<SingleS>(value, round),
            Format::F64 => narrow::<DoubleS>(value, round),
            Format::Tf32 => self.encode_tf32(value, round),
            Format::E4m3 => self.encode_finite::<E4m3Wide>(value, round),
            Format::E5m2 => self.encode_finite::<E5m2Wide>(value, round),
            Format::E2m3 => self.encode_finite::<E2m3Wide>(value, round),
            Format::E3m2 => self.encode_finite::<E3m2Wide>(value, round),
            Format::E2m1 => self.encode_finite::<E2m1Wide>(value, round),
        }
    }

    /// The value in a format of 8 bits, rounded to nearest; values beyond the range become infinity, or NaN where the format has no
    /// infinity. NaN becomes [`Format::nan`].
    pub(super) fn encode_unbounded(self, value: Quad) -> Bits {
        let round = Round::NearestTiesToEven;
        let bits = if self == Format::E4m3 {
            narrow::<Float8E4M3FNS>(value, round)
        } else {
            narrow::<Float8E5M2S>(value, round)
        };
        if self.is_nan(bits) { self.nan() } else { bits }
    }

    fn encode_finite<S: Semantics>(self, value: Quad, round: Round) -> Bits {
        let magnitude = narrow::<S>(value.abs(), if value.is_negative() { -round } else { round });
        let sign = if value.is_negative() { self.sign() } else { 0 };
        magnitude.min(self.largest()) | sign
    }

    fn encode_tf32(self, value: Quad, round: Round) -> Bits {
        let magnitude = narrow::<Tf32Wide>(value.abs(), if value.is_negative() { -round } else { round });
        let sign = if value.is_negative() { self.sign() } else { 0 };
        let overflow = if round == Round::TowardZero && value.is_finite() { self.largest() } else { self.infinity() };
        let magnitude = magnitude << 13;
        (if magnitude > self.largest() { overflow } else { magnitude }) | sign
    }
}

fn widen<S: Semantics>(bits: Bits) -> Quad {
    let value = <IeeeFloat<S> as Float>::from_bits(low(bits, S::BITS as u32));
    FloatConvert::<IeeeFloat<QuadS>>::convert(value, &mut false).value
}

fn narrow<S: Semantics>(value: Quad, round: Round) -> Bits {
    let narrow: StatusAnd<IeeeFloat<S>> = value.convert_r(round, &mut false);
    Float::to_bits(narrow.value)
}

/// How far beyond `truncated` (in `format`) the value `exact` lies, in units of 2^-`count` of the last
/// place of `truncated`, towards zero. Beyond the greatest finite number places are as wide as below it.
pub(super) fn lost_fraction(format: Format, exact: Quad, truncated: Bits, count: u32) -> Bits {
    let magnitude = format.magnitude(truncated);
    let below = format.decode(magnitude);
    let step = match magnitude < format.largest() {
        true => format.decode(magnitude + 1) - below,
        false => below - format.decode(magnitude - 1),
    };
    let lost = (exact.abs() - below).value / step.value;
    lost.value.scalbn(count as i32).to_u128(32).value
}

/// A result that was computed towards zero, rounded to odd instead: the last bit says that something was
/// lost.
pub(super) fn odd(truncated: StatusAnd<Quad>) -> Quad {
    if truncated.status.contains(Status::INEXACT) && truncated.value.is_finite() {
        Quad::from_bits(truncated.value.to_bits() | 1)
    } else {
        truncated.value
    }
}

/// The square root, rounded to odd in 63 bits or more.
pub(super) fn square_root(x: Quad) -> Quad {
    if x.is_nan() || x.is_zero() {
        return x;
    }
    if x.is_negative() {
        return Quad::NAN;
    }
    if x.is_infinite() {
        return x;
    }
    // x = m * 2^(2h) with m in [1, 4); m has 113 bits, so m * 2^124 is an integer.
    let half = x.ilogb().div_euclid(2);
    let m = x.scalbn(124 - 2 * half).to_u128(128).value;
    let root = m.isqrt();
    let lost = u128::from(root * root != m);
    Quad::from_u128(root << 1 | lost).value.scalbn(half - 63)
}
