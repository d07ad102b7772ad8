//! Integer division by a constant: shifts, or products with a [`multiplier`]. ptxas (13.0.88) divides by a constant as by
//! anything else.

use crate::chapters::multiplier::{multiplier, signed_multiplier};
use crate::chapters::wide::{self, Carry};
use crate::error::Lowered;
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::{FnLower, word_ops};
use oriole_ori::Operand;

/// Quotient or remainder of `a`, which is known to be below `2^used`, by the constant `divisor`, which is not zero. Of 32 bits are the
/// lower words.
pub(crate) fn by_constant(
    cx: &mut FnLower<'_, '_>,
    form: Form,
    a: Wide,
    divisor: u64,
    remainder: bool,
) -> Lowered<Wide> {
    let mut numbers = Numbers { cx, bits: form.bits };
    if !form.signed {
        return numbers.unsigned(a, divisor, form.used, remainder);
    }
    let quotient = numbers.signed(a, form.sign_extended(divisor))?;
    if remainder { numbers.rest(a, quotient, divisor) } else { Ok(quotient) }
}

/// How numbers are to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// 32 or 64.
    pub(super) bits: u32,
    /// Of so many of these bits the dividend is, the others being zero.
    pub(super) used: u32,
    /// With sign.
    pub(super) signed: bool,
}

impl Form {
    fn sign_extended(self, value: u64) -> i64 {
        let unused = u64::BITS - self.bits;
        (value << unused) as i64 >> unused
    }
}

/// Arithmetic on numbers of 32 or 64 bits.
struct Numbers<'a, 'f, 'm> {
    cx: &'a mut FnLower<'f, 'm>,
    bits: u32,
}

impl Numbers<'_, '_, '_> {
    fn unsigned(&mut self, a: Wide, divisor: u64, used: u32, remainder: bool) -> Lowered<Wide> {
        if divisor.is_power_of_two() && remainder {
            return self.and(a, divisor - 1);
        }
        let quotient = match divisor.is_power_of_two() {
            true => self.shifted_right(false, a, divisor.trailing_zeros())?,
            false => self.by_multiplier(a, divisor, used)?,
        };
        if remainder { self.rest(a, quotient, divisor) } else { Ok(quotient) }
    }

    /// `a / divisor` without sign, by a divisor that is no power of two.
    fn by_multiplier(&mut self, a: Wide, divisor: u64, used: u32) -> Lowered<Wide> {
        if let Some((factor, shift)) = multiplier(divisor, used, self.bits) {
            let high = self.high_product(false, a, factor)?;
            return self.shifted_right(false, high, shift);
        }
        // An even divisor: halve both first.
        let zeros = divisor.trailing_zeros();
        if let Some((factor, shift)) = multiplier(divisor >> zeros, used - zeros, self.bits).filter(|_| zeros > 0) {
            let halved = self.shifted_right(false, a, zeros)?;
            let high = self.high_product(false, halved, factor)?;
            return self.shifted_right(false, high, shift);
        }
        // The multiplier has one bit more than a register: add `a` once more, without losing the carry.
        let log = u64::BITS - (divisor - 1).leading_zeros();
        let factor = (((1u128 << log) - u128::from(divisor)) << self.bits) / u128::from(divisor) + 1;
        let high = self.high_product(false, a, factor as u64)?;
        let rest = self.difference(a, high)?;
        let half = self.shifted_right(false, rest, 1)?;
        let sum = self.sum(half, high)?;
        self.shifted_right(false, sum, log - 1)
    }

    /// `a / divisor` with sign.
    fn signed(&mut self, a: Wide, divisor: i64) -> Lowered<Wide> {
        let size = divisor.unsigned_abs();
        let quotient = match size {
            1 => a,
            _ if size.is_power_of_two() => {
                // Towards zero: negative numbers need 2^k - 1 more.
                let power = size.trailing_zeros();
                let sign = self.shifted_right(true, a, self.bits - 1)?;
                let bias = self.shifted_right(false, sign, self.bits - power)?;
                let sum = self.sum(a, bias)?;
                self.shifted_right(true, sum, power)?
            }
            _ => self.by_signed_multiplier(a, size)?,
        };
        if divisor > 0 { Ok(quotient) } else { self.difference(Wide::of_bits(0), quotient) }
    }

    fn by_signed_multiplier(&mut self, a: Wide, size: u64) -> Lowered<Wide> {
        let (factor, shift) = signed_multiplier(size, self.bits);
        let mut high = self.high_product(true, a, factor)?;
        if factor >> (self.bits - 1) != 0 {
            // As a signed factor it is 2^bits too small.
            high = self.sum(high, a)?;
        }
        let shifted = self.shifted_right(true, high, shift)?;
        let negative = self.shifted_right(false, a, self.bits - 1)?;
        self.sum(shifted, negative)
    }

    /// What `quotient` times the divisor leaves of `a`.
    fn rest(&mut self, a: Wide, quotient: Wide, divisor: u64) -> Lowered<Wide> {
        let minus = divisor.wrapping_neg();
        if self.bits == 32 {
            let d = self.cx.temp()?;
            word_ops::imad(self.cx, d, quotient.lo, Operand::imm(minus as u32), a.lo)?;
            return Ok(of_word(d));
        }
        let (rest, d) = wide::temp_wide(self.cx)?;
        wide::wide_mad_lo(self.cx, d, quotient, Wide::of_bits(minus), Some(a))?;
        Ok(rest)
    }

    /// The upper half of the product with a constant.
    fn high_product(&mut self, signed: bool, a: Wide, factor: u64) -> Lowered<Wide> {
        if self.bits == 32 {
            let d = self.cx.temp()?;
            word_ops::imad_hi(self.cx, signed, d, a.lo, Operand::imm(factor as u32), Operand::rz())?;
            return Ok(of_word(d));
        }
        let (high, d) = wide::temp_wide(self.cx)?;
        wide::wide_mul_hi(self.cx, signed, d, a, Wide::of_bits(factor))?;
        Ok(high)
    }

    fn shifted_right(&mut self, signed: bool, a: Wide, count: u32) -> Lowered<Wide> {
        let by = Operand::imm(count);
        match self.bits {
            _ if count == 0 => Ok(a),
            32 => {
                let d = self.cx.temp()?;
                word_ops::shift_right(self.cx, signed, d, a.lo, by)?;
                Ok(of_word(d))
            }
            _ => {
                let (shifted, d) = wide::temp_wide(self.cx)?;
                wide::wide_shr(self.cx, signed, d, a, by)?;
                Ok(shifted)
            }
        }
    }

    fn sum(&mut self, a: Wide, b: Wide) -> Lowered<Wide> {
        if self.bits == 32 {
            return Ok(of_word(word_ops::sum(self.cx, a.lo, b.lo)?));
        }
        let (sum, d) = wide::temp_wide(self.cx)?;
        wide::wide_add(self.cx, d, a, b, Carry::default())?;
        Ok(sum)
    }

    fn difference(&mut self, a: Wide, b: Wide) -> Lowered<Wide> {
        if self.bits == 32 {
            let a = if a.bits() == Some(0) { Operand::rz() } else { a.lo };
            return Ok(of_word(word_ops::sum(self.cx, a, word_ops::negated(b.lo))?));
        }
        let (difference, d) = wide::temp_wide(self.cx)?;
        wide::wide_sub(self.cx, d, a, b, Carry::default())?;
        Ok(difference)
    }

    fn and(&mut self, a: Wide, mask: u64) -> Lowered<Wide> {
        let mask = Wide::of_bits(mask);
        if self.bits == 32 {
            return Ok(of_word(word_ops::logic(self.cx, lut::AND, a.lo, mask.lo)?));
        }
        let (result, d) = wide::temp_wide(self.cx)?;
        wide::wide_logic(self.cx, d, lut::AND, a, mask)?;
        Ok(result)
    }
}

/// A number of 32 bits.
fn of_word(word: Operand) -> Wide {
    Wide::of_halves(word, Operand::rz())
}
