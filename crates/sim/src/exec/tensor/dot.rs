//! How tensor cores add products of floats.
//!
//! Published measurements agree on the method (docs/sim-arithmetic.md names them): products are exact;
//! they and the accumulator are shifted to the greatest exponent among them and cut to a number of
//! fraction bits; what remains is added exactly; the sum is cut (f32) or rounded to nearest (f16).
//! Generations differ in how many products are added at once and how many bits remain.

use super::number::{F16, F32, GREATEST, Number, Term};
use crate::exec::rounding::{HALF, NAN16, NAN32, Rounding, SINGLE, narrow};
use oriole_isa::Arch;

/// The format of an accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sum {
    /// `f32`, cut.
    Single,
    /// `f32`, cut to 13 bits of fraction.
    Single13,
    /// `f16`, rounded to nearest.
    Half,
}

/// How one generation adds products of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Adder {
    /// Fraction bits that are kept of each summand, beside the greatest exponent.
    pub(super) kept: u32,
    /// Products that are added at once.
    pub(super) step: usize,
    /// What the sum becomes.
    pub(super) sum: Sum,
}

/// Whether products of 8-bit floats have an adder of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// Instructions of a warp.
    Warp,
    /// Instructions of a warpgroup.
    Warpgroup,
}

impl Adder {
    /// The adder of `arch` for elements of a format and accumulators of `f16` or `f32`.
    pub(super) fn of(arch: Arch, path: Path, element: Number, halves: bool) -> Adder {
        let narrow = element.bits == 8;
        let (kept, row_bits) = match arch.set() {
            Arch::Sm50 | Arch::Sm61 | Arch::Sm70 => (23, 128),
            Arch::Sm75 | Arch::Sm80 | Arch::Sm86 => (24, 128),
            Arch::Sm89 if narrow => (13, 128),
            Arch::Sm89 => (24, 128),
            Arch::Sm90 if narrow && path == Path::Warpgroup => (13, 256),
            _ => (25, 256),
        };
        let sum = match (halves, kept) {
            (true, _) => Sum::Half,
            (false, 13) => Sum::Single13,
            (false, _) => Sum::Single,
        };
        Adder { kept, step: row_bits / element.bits, sum }
    }

    /// The accumulator `sum` with these bits.
    pub(super) fn accumulator(self, bits: u32) -> (Term, u32) {
        let format = if self.sum == Sum::Half { F16 } else { F32 };
        (format.term(bits), format.fraction)
    }

    /// The accumulator after adding the products of `a` and `b`, which have `fraction` bits of fraction
    /// together and are to be multiplied by `2^scale`.
    pub(super) fn add(self, a: &[Term], b: &[Term], fraction: u32, scale: i32, accumulator: u32) -> u32 {
        let steps = a.chunks(self.step).zip(b.chunks(self.step));
        steps.fold(accumulator, |sum, (a, b)| self.add_at_once(a, b, fraction, scale, sum))
    }

    fn add_at_once(self, a: &[Term], b: &[Term], fraction: u32, scale: i32, accumulator: u32) -> u32 {
        let (c, c_fraction) = self.accumulator(accumulator);
        let exponents = a.iter().zip(b).map(|(a, b)| a.exponent + b.exponent);
        let products = exponents.max().unwrap_or(0) + scale;
        let top = products.max(c.exponent);
        if top > GREATEST {
            let kinds = a.iter().zip(b).map(|(a, b)| a.kind() * b.kind());
            return self.special(kinds.sum::<f64>() + c.kind());
        }
        let up = self.kept as i32 - fraction as i32;
        let mut sum = cut(i64::from(c.significand), self.kept as i32 - c_fraction as i32 - (top - c.exponent));
        for (a, b) in a.iter().zip(b) {
            let product = i64::from(a.significand) * i64::from(b.significand);
            sum += cut(product, up - (top - scale - a.exponent - b.exponent));
        }
        self.finish(sum, top)
    }

    /// The accumulator of a sum in units of the last bit that is kept beside exponent `top`.
    pub(super) fn finish(self, sum: i64, top: i32) -> u32 {
        let unit = top - self.kept as i32;
        let value = sum as f64 * f64::from_bits(((unit + 1023).clamp(1, 2046) as u64) << 52);
        let (bits, sign) = match self.sum {
            Sum::Half => (narrow(value, HALF, Rounding::Nearest), 1 << 15),
            // Cutting alone would stop at the greatest finite number.
            Sum::Single | Sum::Single13 if value.abs() >= 2f64.powi(128) => {
                (self.special(f64::INFINITY.copysign(value)), 1 << 31)
            }
            Sum::Single => (narrow(value, SINGLE, Rounding::Zero), 1 << 31),
            Sum::Single13 => (narrow(value, SINGLE, Rounding::Zero) & !0x3ff, 1 << 31),
        };
        // A sum that vanishes has no sign.
        if bits == sign { 0 } else { bits }
    }

    /// The accumulator for an infinite sum or one that is none.
    pub(super) fn special(self, sum: f64) -> u32 {
        match (self.sum, sum.is_nan()) {
            (Sum::Half, true) => NAN16,
            (Sum::Half, false) => narrow(sum, HALF, Rounding::Nearest),
            (_, true) => NAN32,
            (_, false) => narrow(sum, SINGLE, Rounding::Zero),
        }
    }
}

/// `value * 2^shift`, cut toward zero.
#[inline(always)]
pub(super) fn cut(value: i64, shift: i32) -> i64 {
    if shift >= 0 {
        return value << shift.min(40);
    }
    let down = (-shift).min(62);
    (value + (value >> 63 & ((1 << down) - 1))) >> down
}
