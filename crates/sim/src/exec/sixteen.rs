//! `f16` and `bf16` without branches, so that loops over lanes become vector code of the host.
//!
//! The functions agree with [`Format::widen`](super::rounding::Format::widen) and
//! [`narrow`](super::rounding::narrow) to nearest; a 16-bit format is told by a type.

use super::rounding::{BFLOAT, Format, HALF};

/// A 16-bit format.
pub(super) trait Sixteen: Send + Sync + 'static {
    /// The format for the general functions.
    const FORMAT: Format;
    /// The value of 16 bits.
    fn widen(bits: u32) -> f32;
    /// The nearest number to the single of these bits, which is exact or rounded to odd; not for NaN.
    fn nearest(single: u32) -> u32;
}

/// `f16`.
pub(super) struct F16;
/// `bf16`.
pub(super) struct Bf16;

impl Sixteen for F16 {
    const FORMAT: Format = HALF;

    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        // Scaling by 2^112 corrects the bias of the exponent and makes subnormals normal, exactly.
        const SCALE: f32 = f32::from_bits((127 + 112) << 23);
        let magnitude = (bits & 0x7fff) << 13;
        let scaled = (f32::from_bits(magnitude) * SCALE).to_bits();
        let special = if magnitude >= 0x7c00 << 13 { 0xff << 23 } else { 0 };
        f32::from_bits(scaled | special | (bits & 0x8000) << 16)
    }

    #[inline(always)]
    fn nearest(single: u32) -> u32 {
        let magnitude = single & i32::MAX as u32;
        let rounded = (magnitude.wrapping_add(0xfff + (magnitude >> 13 & 1))).wrapping_sub(112 << 23) >> 13;
        // Adding one half lets the processor round at the last place of subnormal halves, 2^-24.
        let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let finite = if magnitude < 113 << 23 { subnormal } else { rounded };
        let result = if magnitude >= (127 + 16) << 23 { 0x7c00 } else { finite };
        result | single >> 16 & 0x8000
    }
}

impl Sixteen for Bf16 {
    const FORMAT: Format = BFLOAT;

    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        f32::from_bits(bits << 16)
    }

    #[inline(always)]
    fn nearest(single: u32) -> u32 {
        single.wrapping_add(0x7fff + (single >> 16 & 1)) >> 16
    }
}

/// The bits of `value`, exact or rounded to odd, rounded to nearest.
#[inline(always)]
pub(super) fn narrow<T: Sixteen>(value: f64) -> u32 {
    let nearest = value as f32;
    let (bits, back) = (nearest.to_bits(), f64::from(nearest));
    let outward = if back.abs() > value.abs() { u32::MAX } else { 1 };
    let odd = if back == value || bits & 1 != 0 { bits } else { bits.wrapping_add(outward) };
    if value.is_nan() { 0x7fff } else { T::nearest(odd) & 0xffff }
}

#[cfg(test)]
mod tests {
    use super::super::rounding::{self, Rounding, tests::doubles};
    use super::*;

    fn check<T: Sixteen>() {
        for bits in 0..=0xffff {
            let (ours, general) = (f64::from(T::widen(bits)), T::FORMAT.widen(bits));
            assert!(ours.to_bits() == general.to_bits() || ours.is_nan() && general.is_nan(), "{bits:#x}");
        }
        // Each number, and what lies on, below and above the middle to the next.
        for bits in 0..0x7fff {
            let (this, next) = (T::FORMAT.widen(bits), T::FORMAT.widen(bits + 1));
            let middle = this / 2.0 + next / 2.0;
            for value in [this, middle, middle.next_down(), middle.next_up(), -middle, -middle.next_up()] {
                assert_eq!(narrow::<T>(value), rounding::narrow(value, T::FORMAT, Rounding::Nearest), "{value:e}");
            }
        }
        for value in doubles(100_000) {
            assert_eq!(narrow::<T>(value), rounding::narrow(value, T::FORMAT, Rounding::Nearest), "{value:e}");
        }
    }

    #[test]
    fn f16_agrees_with_the_general_functions() {
        check::<F16>();
    }

    #[test]
    fn bf16_agrees_with_the_general_functions() {
        check::<Bf16>();
    }
}
