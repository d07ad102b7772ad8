//! Elements of floating-point matrices as exact values.

use oriole_ptx::ast::ScalarType;

/// A value of a small floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Not a number.
    Nan,
    /// Infinity of a sign: true for the negative one.
    Infinity(bool),
    /// `integer` times 2^`unit`. The unit is that of the exponent as it is written, so that it does not
    /// depend on leading zeros.
    Finite { integer: i64, unit: i32 },
}

impl Value {
    /// The nearest single; a value of a half and less is exact.
    pub(super) fn single(self) -> f32 {
        match self {
            Value::Nan => f32::NAN,
            Value::Infinity(negative) => {
                if negative {
                    f32::NEG_INFINITY
                } else {
                    f32::INFINITY
                }
            }
            Value::Finite { integer, unit } => (integer as f64 * libm::exp2(f64::from(unit))) as f32,
        }
    }
}

/// Which special values a format has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Specials {
    /// The last exponent is infinity and NaN.
    Ieee,
    /// Only all ones is NaN, and nothing is infinite.
    OneNan,
    /// All values are finite.
    None,
}

/// A floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// Bits of the exponent.
    exponent: u32,
    /// Stored bits of the significand.
    pub(super) fraction: u32,
    specials: Specials,
    /// Bits below the value in its container.
    padding: u32,
}

const fn format(exponent: u32, fraction: u32, specials: Specials, padding: u32) -> Format {
    Format { exponent, fraction, specials, padding }
}

/// Singles: the accumulator.
pub(super) const SINGLE: Format = format(8, 23, Specials::Ieee, 0);
/// Halves.
pub(super) const HALF: Format = format(5, 10, Specials::Ieee, 0);

impl Format {
    /// The format of a type in a container of `container` bits. A 4-bit value stands in the middle of a
    /// byte (PTX manual, `.kind::f8f6f4`).
    pub(super) fn of(ty: ScalarType, container: u32) -> Option<Format> {
        Some(match ty {
            ScalarType::F16 => HALF,
            ScalarType::Bf16 => format(8, 7, Specials::Ieee, 0),
            // The low 13 bits of the register do not count.
            ScalarType::Tf32 => format(8, 10, Specials::Ieee, 13),
            ScalarType::E4m3 => format(4, 3, Specials::OneNan, 0),
            ScalarType::E5m2 => format(5, 2, Specials::Ieee, 0),
            ScalarType::E3m2 => format(3, 2, Specials::None, 0),
            ScalarType::E2m3 => format(2, 3, Specials::None, 0),
            ScalarType::E2m1 => format(2, 1, Specials::None, if container == 8 { 2 } else { 0 }),
            _ => return None,
        })
    }

    /// The least exponent of a normal value.
    fn least_exponent(self) -> i32 {
        2 - (1 << (self.exponent - 1))
    }

    /// The value of some bits; those above the format do not count.
    pub(super) fn value(self, bits: u64) -> Value {
        let bits = bits >> self.padding;
        let fraction = bits & ((1 << self.fraction) - 1);
        let last = (1 << self.exponent) - 1;
        let exponent = bits >> self.fraction & last;
        let negative = bits >> (self.fraction + self.exponent) & 1 != 0;
        match self.specials {
            Specials::Ieee if exponent == last && fraction == 0 => return Value::Infinity(negative),
            Specials::Ieee if exponent == last => return Value::Nan,
            Specials::OneNan if exponent == last && fraction == (1 << self.fraction) - 1 => return Value::Nan,
            _ => {}
        }
        let integer = (fraction | u64::from(exponent != 0) << self.fraction) as i64;
        // An exponent of zero means the least one, without the leading one.
        let unit = self.least_exponent() + (exponent as i32 - 1).max(0) - self.fraction as i32;
        Value::Finite { integer: if negative { -integer } else { integer }, unit }
    }
}
