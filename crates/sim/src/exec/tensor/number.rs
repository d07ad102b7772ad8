//! The floating-point formats of matrix elements, as tensor cores take them apart.

/// What the greatest exponent field of a format means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Specials {
    /// Infinities and NaNs.
    Ieee,
    /// A number, but for all ones, which is a NaN.
    OneNan,
    /// A number.
    None,
}

/// A format of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// Bits that an element takes in a register.
    pub(super) bits: usize,
    /// Bits of the fraction.
    pub(super) fraction: u32,
    exponent: u32,
    specials: Specials,
    /// Bits below the number in its place.
    below: u32,
}

const fn number(bits: usize, exponent: u32, fraction: u32, specials: Specials) -> Number {
    Number { bits, fraction, exponent, specials, below: 0 }
}

/// `f32`.
pub(super) const F32: Number = number(32, 8, 23, Specials::Ieee);
/// `f16`.
pub(super) const F16: Number = number(16, 5, 10, Specials::Ieee);
/// `bf16`.
pub(super) const BF16: Number = number(16, 8, 7, Specials::Ieee);
/// `tf32`: the 19 high bits of an `f32`; the others are ignored.
pub(super) const TF32: Number = Number { below: 13, ..number(32, 8, 10, Specials::Ieee) };
/// `e5m2`.
pub(super) const E5M2: Number = number(8, 5, 2, Specials::Ieee);
/// `e4m3`.
pub(super) const E4M3: Number = number(8, 4, 3, Specials::OneNan);
/// `e3m2` in the low six bits of a byte.
pub(super) const E3M2: Number = number(8, 3, 2, Specials::None);
/// `e2m3` in the low six bits of a byte.
pub(super) const E2M3: Number = number(8, 2, 3, Specials::None);
/// `e2m1` in the middle of a byte.
pub(super) const E2M1_BYTE: Number = Number { below: 2, ..number(8, 2, 1, Specials::None) };
/// `e2m1`, eight in a register.
pub(super) const E2M1: Number = number(4, 2, 1, Specials::None);

/// An element: `significand * 2^(exponent - fraction)`, with the fraction of its format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) significand: i32,
    pub(super) exponent: i32,
}

/// The exponent of a term that is infinite (its significand is the sign) or a NaN (its significand is
/// zero). No sum of exponents of finite terms comes near it.
pub(super) const SPECIAL: i32 = 1 << 20;
/// Above this, the sum of two exponents comes from a special term.
pub(super) const GREATEST: i32 = 1 << 16;
/// The exponent of a zero.
const ZERO: i32 = -126;

impl Number {
    /// The number with these bits. Subnormal numbers count.
    #[inline]
    pub(super) fn term(self, bits: u32) -> Term {
        let bits = bits >> self.below;
        let fraction = bits & ((1 << self.fraction) - 1);
        let ones = (1 << self.exponent) - 1;
        let field = bits >> self.fraction & ones;
        let negative = bits >> (self.fraction + self.exponent) & 1 != 0;
        let signed = |significand: u32| if negative { -(significand as i32) } else { significand as i32 };
        let bias = (ones >> 1) as i32;
        if field == ones && self.specials != Specials::None {
            if self.specials == Specials::Ieee {
                let significand = if fraction == 0 { signed(1) } else { 0 };
                return Term { significand, exponent: SPECIAL };
            }
            if fraction == (1 << self.fraction) - 1 {
                return Term { significand: 0, exponent: SPECIAL };
            }
        }
        match (field, fraction) {
            (0, 0) => Term { significand: 0, exponent: ZERO },
            (0, _) => Term { significand: signed(fraction), exponent: 1 - bias },
            _ => Term { significand: signed(fraction | 1 << self.fraction), exponent: field as i32 - bias },
        }
    }
}

impl Term {
    /// The number with the other sign.
    #[inline]
    pub(super) fn negated(self) -> Self {
        Term { significand: -self.significand, ..self }
    }

    /// Something of the sign of the number, infinite or a NaN if it is.
    pub(super) fn kind(self) -> f64 {
        match (self.exponent, self.significand) {
            (SPECIAL, 0) => f64::NAN,
            (SPECIAL, sign) => f64::INFINITY * f64::from(sign),
            (_, significand) => f64::from(significand),
        }
    }
}
