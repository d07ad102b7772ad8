//! Floating-point formats, and exact arithmetic on their bits.

use oriole_nvptx::ir::{BinaryOp, Type};
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};
use std::cmp::Ordering;

/// A floating-point format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Half,
    BFloat,
    Single,
    Double,
}

/// Evaluates an expression with a type parameter bound to the soft-float type of a format.
macro_rules! with_format {
    ($format:expr, $float:ident => $body:expr) => {
        match $format {
            Format::Half => {
                type $float = Half;
                $body
            }
            Format::BFloat => {
                type $float = BFloat;
                $body
            }
            Format::Single => {
                type $float = Single;
                $body
            }
            Format::Double => {
                type $float = Double;
                $body
            }
        }
    };
}

impl Format {
    pub(crate) const ALL: [Format; 4] = [Format::Half, Format::BFloat, Format::Single, Format::Double];

    pub(crate) fn of(ty: &Type) -> Option<Format> {
        match ty {
            Type::Half => Some(Format::Half),
            Type::BFloat => Some(Format::BFloat),
            Type::Float => Some(Format::Single),
            Type::Double => Some(Format::Double),
            _ => None,
        }
    }

    pub(crate) const fn bits(self) -> u32 {
        match self {
            Format::Half | Format::BFloat => 16,
            Format::Single => 32,
            Format::Double => 64,
        }
    }

    /// The sign bit.
    pub(crate) const fn sign(self) -> u128 {
        1 << (self.bits() - 1)
    }

    /// The quiet NaN that LLVM makes.
    pub(crate) fn quiet_nan(self) -> u128 {
        with_format!(self, F => F::NAN.to_bits())
    }

    pub(crate) fn is_nan(self, value: u128) -> bool {
        with_format!(self, F => F::from_bits(value).is_nan())
    }

    pub(crate) fn is_signaling(self, value: u128) -> bool {
        with_format!(self, F => F::from_bits(value).is_signaling())
    }

    pub(crate) fn is_infinite(self, value: u128) -> bool {
        with_format!(self, F => F::from_bits(value).is_infinite())
    }

    pub(crate) const fn is_zero(self, value: u128) -> bool {
        value & !self.sign() == 0
    }

    /// True for numbers below the smallest normal one, but 0.
    pub(crate) fn is_subnormal(self, value: u128) -> bool {
        with_format!(self, F => F::from_bits(value).is_denormal())
    }

    /// The order of two numbers; `None` if one is a NaN.
    pub(crate) fn compare(self, a: u128, b: u128) -> Option<Ordering> {
        with_format!(self, F => F::from_bits(a).partial_cmp(&F::from_bits(b)))
    }

    pub(crate) fn arithmetic(self, op: BinaryOp, a: u128, b: u128, round: Round) -> u128 {
        with_format!(self, F => {
            let (a, b) = (F::from_bits(a), F::from_bits(b));
            let result = match op {
                BinaryOp::FSub => a.sub_r(b, round),
                BinaryOp::FMul => a.mul_r(b, round),
                BinaryOp::FDiv => a.div_r(b, round),
                BinaryOp::FRem => a.c_fmod(b),
                _ => a.add_r(b, round),
            };
            result.value.to_bits()
        })
    }

    /// `a * b + c`, rounded once.
    pub(crate) fn fma(self, a: u128, b: u128, c: u128, round: Round) -> u128 {
        with_format!(self, F => F::from_bits(a).mul_add_r(F::from_bits(b), F::from_bits(c), round).value.to_bits())
    }

    pub(crate) fn round_to_integral(self, a: u128, round: Round) -> u128 {
        with_format!(self, F => F::from_bits(a).round_to_integral(round).value.to_bits())
    }

    /// The square root, rounded to nearest.
    pub(crate) fn sqrt(self, a: u128) -> u128 {
        // IEEE 754 demands that the host rounds correctly. A double has more than twice the digits of the others
        // and two more, so that rounding its root again is rounding once.
        let root = f64::from_bits(Format::Double.convert(self, a, Round::NearestTiesToEven) as u64).sqrt();
        self.convert(Format::Double, u128::from(root.to_bits()), Round::NearestTiesToEven)
    }

    /// A number of format `from` in this format.
    pub(crate) fn convert(self, from: Format, value: u128, round: Round) -> u128 {
        fn exactly<A: Float + FloatConvert<B>, B: Float>(value: u128, round: Round) -> u128 {
            A::from_bits(value).convert_r(round, &mut false).value.to_bits()
        }
        if self == from {
            return value;
        }
        macro_rules! from {
            ($a:ty) => {
                match self {
                    Format::Half => exactly::<$a, Half>(value, round),
                    Format::BFloat => exactly::<$a, BFloat>(value, round),
                    Format::Single => exactly::<$a, Single>(value, round),
                    Format::Double => exactly::<$a, Double>(value, round),
                }
            };
        }
        match from {
            Format::Half => from!(Half),
            Format::BFloat => from!(BFloat),
            Format::Single => from!(Single),
            Format::Double => from!(Double),
        }
    }

    pub(crate) fn of_unsigned(self, value: u128, round: Round) -> u128 {
        with_format!(self, F => F::from_u128_r(value, round).value.to_bits())
    }

    pub(crate) fn of_signed(self, value: i128, round: Round) -> u128 {
        with_format!(self, F => F::from_i128_r(value, round).value.to_bits())
    }

    /// The integer of `width` bits, and whether the number is within its range; out of range it is the nearest there
    /// is, and 0 for a NaN.
    pub(crate) fn to_int(self, value: u128, width: u32, signed: bool, round: Round) -> (u128, bool) {
        with_format!(self, F => {
            let (value, width) = (F::from_bits(value), width as usize);
            let (result, status) = if signed {
                let result = value.to_i128_r(width, round, &mut false);
                (result.value as u128, result.status)
            } else {
                let result = value.to_u128_r(width, round, &mut false);
                (result.value, result.status)
            };
            let fits = !status.intersects(rustc_apfloat::Status::INVALID_OP);
            (if value.is_nan() { 0 } else { result & crate::int_bits::mask(width as u32) }, fits)
        })
    }

    /// `value * 2^exponent`, rounded once.
    pub(crate) fn scale(self, value: u128, exponent: i32) -> u128 {
        with_format!(self, F => F::from_bits(value).scalbn_r(exponent, Round::NearestTiesToEven).to_bits())
    }

    /// A subnormal number becomes a zero of its sign.
    pub(crate) fn flush(self, value: u128) -> u128 {
        if self.is_subnormal(value) { value & self.sign() } else { value }
    }
}
