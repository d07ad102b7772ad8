//! Integers of 16 bits, two to a register, on the chip of Blackwell that has no instruction for them (sm_110): by words.

use crate::error::Lowered;
use crate::function::ops::lut;
use crate::function::word_ops::negated;
use crate::function::{FnLower, ops, word_ops};
use oriole_ori::Operand;

/// `PRMT`: the low half of the first word below the high half of the second.
const LOW_BELOW_HIGH: u32 = 0x7610;
/// `PRMT`: the high half of the first word below the high half of the second.
const HIGH_BELOW_HIGH: u32 = 0x7632;
const LOW_HALF: u32 = 0xffff;

/// `d = a + b` or `a - b` by half. The result of whole words has the low half. The low half of `a` that carries and borrows nothing gives
/// the high one.
pub(super) fn add_sub(cx: &mut FnLower<'_, '_>, d: Operand, [a, b]: [Operand; 2], subtract: bool) -> Lowered {
    let (table, mask, b) = if subtract { (lut::OR, LOW_HALF, negated(b)) } else { (lut::AND, !LOW_HALF, b) };
    let low = word_ops::sum(cx, a, b)?;
    let quiet = word_ops::logic(cx, table, a, Operand::imm(mask))?;
    let high = word_ops::sum(cx, quiet, b)?;
    ops::prmt(cx, d, low, LOW_BELOW_HIGH, high)
}

/// The least or the greatest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extreme {
    pub(super) signed: bool,
    pub(super) least: bool,
    /// What is negative becomes zero.
    pub(super) relu: bool,
}

impl Extreme {
    /// Of two words.
    pub(super) fn of_words(self, cx: &mut FnLower<'_, '_>, d: Operand, [a, b]: [Operand; 2]) -> Lowered {
        let Extreme { signed, least, relu } = self;
        if !relu {
            return word_ops::imnmx(cx, signed, least, d, a, b);
        }
        let extreme = cx.temp()?;
        word_ops::imnmx(cx, signed, least, extreme, a, b)?;
        word_ops::imnmx(cx, signed, false, d, extreme, Operand::rz())
    }

    /// By half: the high halves decide about whole words, and the low ones where they stand in their place.
    pub(super) fn of_halves(self, cx: &mut FnLower<'_, '_>, d: Operand, [a, b]: [Operand; 2]) -> Lowered {
        let high = cx.temp()?;
        self.of_words(cx, high, [a, b])?;
        let mut raised = [a, b];
        for half in &mut raised {
            let word = cx.temp()?;
            word_ops::shift_left(cx, word, *half, Operand::imm(16))?;
            *half = word;
        }
        let low = cx.temp()?;
        self.of_words(cx, low, raised)?;
        ops::prmt(cx, d, low, HIGH_BELOW_HIGH, high)
    }
}
