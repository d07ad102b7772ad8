//! The bits of floating-point constants, by the format of their type.

use half::{bf16, f16};
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};

use crate::ir::TypeId;

/// A floating-point type that has constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FloatFormat {
    Half,
    BFloat,
    Single,
    Double,
}

impl FloatFormat {
    /// The format of a type; none if it has no constants.
    pub(super) fn of(ty: TypeId) -> Option<FloatFormat> {
        match ty {
            TypeId::HALF => Some(FloatFormat::Half),
            TypeId::BFLOAT => Some(FloatFormat::BFloat),
            TypeId::FLOAT => Some(FloatFormat::Single),
            TypeId::DOUBLE => Some(FloatFormat::Double),
            _ => None,
        }
    }

    /// Its width in bits.
    pub(super) fn bits(self) -> u32 {
        match self {
            FloatFormat::Half | FloatFormat::BFloat => 16,
            FloatFormat::Single => 32,
            FloatFormat::Double => 64,
        }
    }

    /// Bits of the fraction.
    fn fraction(self) -> u32 {
        match self {
            FloatFormat::Half => 10,
            FloatFormat::BFloat => 7,
            FloatFormat::Single => 23,
            FloatFormat::Double => 52,
        }
    }

    /// The bits of a decimal number, rounded to nearest, even on ties; none if it is too great or no number.
    pub(super) fn of_decimal(self, text: &str) -> Option<u64> {
        fn rounded<F: Float>(text: &str) -> Option<u64> {
            let parsed = text.parse::<F>().ok()?;
            // A bit pattern of these four formats has 64 bits at most.
            u64::try_from(parsed.to_bits()).ok().filter(|_| parsed.is_finite())
        }
        match self {
            FloatFormat::Half => rounded::<Half>(text),
            FloatFormat::BFloat => rounded::<BFloat>(text),
            FloatFormat::Single => rounded::<Single>(text),
            FloatFormat::Double => rounded::<Double>(text),
        }
    }

    /// The bits of `+inf`, `-qnan`, `+nan(0x1)` (a quiet one, with the lower bits that stand there) or `+snan(0x1)`; none for anything else, for lower
    /// bits that do not fit, and for a signalling one without any.
    pub(super) fn of_special(self, text: &str) -> Option<u64> {
        let (sign, name) = match text.strip_prefix('-') {
            Some(name) => (1, name),
            None => (0, text.strip_prefix('+')?),
        };
        let quiet = 1 << (self.fraction() - 1);
        let lower = |name: &str, prefix: &str| {
            let digits = name.strip_prefix(prefix)?.strip_suffix(')')?;
            u64::from_str_radix(digits, 16).ok().filter(|bits| *bits < 2 * quiet)
        };
        let fraction = match name {
            "inf" => 0,
            "qnan" => quiet,
            _ => match lower(name, "nan(0x") {
                Some(bits) => bits | quiet,
                None => lower(name, "snan(0x").filter(|bits| *bits != 0 && bits & quiet == 0)?,
            },
        };
        let exponent = (1 << (self.bits() - 1 - self.fraction())) - 1;
        Some(sign << (self.bits() - 1) | exponent << self.fraction() | fraction)
    }

    /// The bits of a number that is given as the bits of a `double`, if it is exact.
    pub(super) fn of_double(self, bits: u64) -> Option<u64> {
        let value = f64::from_bits(bits);
        match self {
            FloatFormat::Double => Some(bits),
            FloatFormat::Single => single(bits).map(u64::from),
            FloatFormat::Half => exact(bits, f16::from_f64(value).to_bits(), |half| f16::from_bits(half).to_f64()),
            FloatFormat::BFloat => exact(bits, bf16::from_f64(value).to_bits(), |half| bf16::from_bits(half).to_f64()),
        }
    }
}

/// `narrow` if it has the value of the `double` with these bits, or both are no numbers.
fn exact(bits: u64, narrow: u16, widen: impl Fn(u16) -> f64) -> Option<u64> {
    let (value, back) = (f64::from_bits(bits), widen(narrow));
    (value.to_bits() == back.to_bits() || (value.is_nan() && back.is_nan())).then_some(u64::from(narrow))
}

/// The bits of the `float` that the bits of a `double` stand for, if it is exact.
fn single(bits: u64) -> Option<u32> {
    let value = f64::from_bits(bits);
    if value.is_nan() {
        // By bits, so that a signalling NaN stays one.
        let (sign, payload) = ((bits >> 63) as u32, bits & ((1 << 52) - 1));
        let narrow = (payload >> 29) as u32;
        return (u64::from(narrow) << 29 == payload).then_some(sign << 31 | 0x7F80_0000 | narrow);
    }
    let narrow = value as f32;
    (f64::from(narrow).to_bits() == bits).then_some(narrow.to_bits())
}
