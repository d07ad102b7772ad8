//! Sums of `mma` that ptxas makes of other instructions, because the tensor cores of the target have none for them.
//! They are rounded where those instructions round (ptxas's code; the PTX manual leaves it open).

use super::element::{HALF, Value};
use super::product::{self, Rule};
use rustc_apfloat::Float;
use rustc_apfloat::ieee::Half;
use smallvec::SmallVec;

/// 8-bit floats from sm_90 to sm_110 become halves. A first instruction adds, from zero, the products of the elements 0 and 1
/// of each register of four, a second one those of 2 and 3; an ordinary addition adds `c`.
pub(super) fn as_halves(pairs: &[(Value, Value)], c: u32, single: bool, rule: Rule) -> u32 {
    let fractions = [HALF.fraction as i32; 2];
    let products = [0, 1].into_iter().fold(0, |sum, part| {
        let chosen = pairs.iter().enumerate().filter(|(index, _)| index / 2 % 2 == part);
        let halves: SmallVec<[(Value, Value); 16]> = chosen.map(|(_, &(a, b))| (as_half(a), as_half(b))).collect();
        product::float(&halves, fractions, sum, single, rule)
    });
    match single {
        true => canonical(f32::from_bits(c) + f32::from_bits(products)),
        false => {
            let sum = (Half::from_bits(c.into()) + Half::from_bits(products.into())).value;
            if sum.is_nan() { 0x7fff } else { sum.to_bits() as u32 }
        }
    }
}

/// The same value with the exponent that a half has.
fn as_half(value: Value) -> Value {
    match value {
        Value::Finite { integer, unit } if integer != 0 => {
            let leading = integer.unsigned_abs().ilog2() as i32;
            // Down to the unit of the least half.
            let up = (HALF.fraction as i32 - leading).min(unit + 24).max(0);
            Value::Finite { integer: integer << up, unit: unit - up }
        }
        other => other,
    }
}

/// `.m8n8k4` of halves with sums in singles from sm_80 on: fused multiply-adds along K, from zero; an ordinary
/// addition adds `c`.
pub(super) fn fused(pairs: &[(Value, Value)], c: u32) -> u32 {
    let products = pairs.iter().fold(0.0, |sum, (a, b)| a.single().mul_add(b.single(), sum));
    canonical(f32::from_bits(c) + products)
}

fn canonical(sum: f32) -> u32 {
    if sum.is_nan() { 0x7fff_ffff } else { sum.to_bits() }
}

#[cfg(test)]
mod tests {
    use super::super::element::Format;
    use super::*;
    use oriole_ptx::ast::ScalarType;

    const RULE: Rule = Rule { bits: 25, part: 16, kept: 23 };

    /// Values whose sums are exact everywhere are the host's sums.
    #[test]
    fn exact_sums_are_the_hosts() {
        let format = Format::of(ScalarType::E4m3, 8).expect("a float");
        // 1.5, -2, 0.001953125 (the least subnormal), 8.
        let bits = [0x3cu64, 0xc0, 0x01, 0x50];
        let numbers = [1.5f32, -2.0, 0.001_953_125, 8.0];
        let pairs: Vec<_> = (0..16).map(|k| (format.value(bits[k % 4]), format.value(bits[k / 4]))).collect();
        let expected: f32 = (0..16).map(|k| numbers[k % 4] * numbers[k / 4]).sum::<f32>() + 3.0;
        assert_eq!(as_halves(&pairs, 3f32.to_bits(), true, RULE), expected.to_bits());
    }

    /// C is added at the end and to nearest: in the tensor core 2^-24 beside 1 would be cut.
    #[test]
    fn c_is_added_to_nearest() {
        let format = Format::of(ScalarType::E5m2, 8).expect("a float");
        // 2^-14 * 1.5 * 2^-10 = 1.5 * 2^-24.
        let pairs = [(format.value(0x06), format.value(0x14))];
        assert_eq!(as_halves(&pairs, 1f32.to_bits(), true, RULE), 1f32.to_bits() + 1);
        assert_eq!(fused(&[(HALF.value(0x0600), HALF.value(0x1400))], 1f32.to_bits()), 1f32.to_bits() + 1);
    }

    #[test]
    fn halves_overflow_between_the_instructions() {
        let format = Format::of(ScalarType::E5m2, 8).expect("a float");
        let value = |bits| format.value(bits);
        // Elements 0 and 2 of a register: 32768 * 2 and its negative.
        let pairs =
            [(value(0x78), value(0x40)), (value(0), value(0)), (value(0xf8), value(0x40)), (value(0), value(0))];
        assert_eq!(as_halves(&pairs, 0, false, RULE), 0x7c00);
        assert_eq!(as_halves(&pairs, 0, true, RULE), 0);
    }
}
