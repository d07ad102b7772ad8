//! Rules for division and remainder of integers, and their expansion into multiplications.
//!
//! The multipliers are those of Granlund and Montgomery, "Division by Invariant Integers using Multiplication", as
//! given in Warren, "Hacker's Delight", chapter 10.

use super::build::Builder;
use super::fold_int::{mask, sext};
use super::rewrite::Rewrite;
use crate::analysis::known_bits::known_bits;
use crate::ir::{BinaryOp, InstFlags, Op, TypeId, Value};

/// Rewrites one operation into a simpler one: powers of two, and signs that are known.
pub(super) fn rewrite(
    b: &mut Builder<'_, '_>,
    op: BinaryOp,
    flags: InstFlags,
    [x, y]: [Value; 2],
    ty: TypeId,
) -> Option<Rewrite> {
    let bits = b.bits(ty);
    let done = |op, flags, pair| Some(Rewrite::Op(Op::Binary(op, flags, pair)));
    let none = InstFlags::empty();
    if matches!(op, BinaryOp::SDiv | BinaryOp::SRem)
        && known_bits(b.view(), x).is_non_negative()
        && known_bits(b.view(), y).is_non_negative()
    {
        let unsigned = if op == BinaryOp::SDiv { BinaryOp::UDiv } else { BinaryOp::URem };
        return done(unsigned, flags & InstFlags::EXACT, [x, y]);
    }
    let c = b.int_of(y)?;
    match op {
        BinaryOp::UDiv if c.is_power_of_two() => {
            let by = b.cx.int(ty, c.trailing_zeros().into());
            done(BinaryOp::LShr, flags & InstFlags::EXACT, [x, by])
        }
        BinaryOp::URem if c.is_power_of_two() => {
            let low = b.cx.int(ty, c - 1);
            done(BinaryOp::And, none, [x, low])
        }
        BinaryOp::SDiv if c == mask(bits) => {
            let zero = b.cx.zero(ty);
            done(BinaryOp::Sub, none, [zero, x])
        }
        BinaryOp::SDiv if c.is_power_of_two() && flags.contains(InstFlags::EXACT) && c >> (bits - 1) == 0 => {
            let by = b.cx.int(ty, c.trailing_zeros().into());
            done(BinaryOp::AShr, InstFlags::EXACT, [x, by])
        }
        // The sign of the divisor does not matter to a remainder.
        BinaryOp::SRem if sext(c, bits) < 0 && c != 1 << (bits - 1) => {
            let positive = b.cx.int(ty, c.wrapping_neg());
            done(BinaryOp::SRem, none, [x, positive])
        }
        _ => None,
    }
}

/// Replaces a division by a constant by multiplications and shifts.
pub(super) fn expand(
    b: &mut Builder<'_, '_>,
    op: BinaryOp,
    flags: InstFlags,
    [x, y]: [Value; 2],
    ty: TypeId,
) -> Option<Rewrite> {
    if let Some(simple) = rewrite(b, op, flags, [x, y], ty) {
        return Some(simple);
    }
    let bits = b.cx.module.types.int_bits(ty).filter(|&bits| bits == 32 || bits == 64)?;
    let c = b.int_of(y).filter(|&c| c > 1)?;
    let quotient = match op {
        BinaryOp::UDiv | BinaryOp::URem => unsigned(b, x, c, bits)?,
        _ => signed(b, x, sext(c, bits), bits)?,
    };
    if matches!(op, BinaryOp::UDiv | BinaryOp::SDiv) {
        return Some(Rewrite::Value(quotient));
    }
    let product = b.with(BinaryOp::Mul, quotient, c);
    Some(Rewrite::Op(Op::Binary(BinaryOp::Sub, InstFlags::empty(), [x, product])))
}

/// The upper half of a product with a constant.
fn mul_high(b: &mut Builder<'_, '_>, x: Value, factor: u128, bits: u32, signed: bool) -> Value {
    let ty = b.ty(x);
    let factor = b.cx.int(ty, factor);
    let name = match (bits, signed) {
        (32, true) => "llvm.nvvm.mulhi.i",
        (32, false) => "llvm.nvvm.mulhi.ui",
        (_, true) => "llvm.nvvm.mulhi.ll",
        (_, false) => "llvm.nvvm.mulhi.ull",
    };
    b.intrinsic(name, ty, &[x, factor])
}

/// `x / c` without sign, for `c` that is no power of two.
fn unsigned(b: &mut Builder<'_, '_>, x: Value, c: u128, bits: u32) -> Option<Value> {
    if c.is_power_of_two() {
        return None;
    }
    // Known high zeros of x make a multiplier of `bits` bits suffice more often.
    let used = bits - known_bits(b.view(), x).leading_zeros();
    if let Some((factor, shift)) = multiplier(c, used, bits) {
        let high = mul_high(b, x, factor, bits, false);
        return Some(b.with(BinaryOp::LShr, high, shift.into()));
    }
    // An even divisor: halve both first.
    let zeros = c.trailing_zeros();
    if let Some((factor, shift)) = multiplier(c >> zeros, bits - zeros, bits).filter(|_| zeros > 0) {
        let halved = b.with(BinaryOp::LShr, x, zeros.into());
        let high = mul_high(b, halved, factor, bits, false);
        return Some(b.with(BinaryOp::LShr, high, shift.into()));
    }
    // The multiplier has one bit more than a register: add x once more, without losing the carry.
    let log = 128 - (c - 1).leading_zeros();
    let factor = ((((1u128 << log) - c) << bits) / c) + 1;
    let high = mul_high(b, x, factor, bits, false);
    let rest = b.binary(BinaryOp::Sub, InstFlags::empty(), x, high);
    let half = b.with(BinaryOp::LShr, rest, 1);
    let sum = b.binary(BinaryOp::Add, InstFlags::empty(), half, high);
    Some(b.with(BinaryOp::LShr, sum, (log - 1).into()))
}

/// A multiplier of `bits` bits and a shift that divide every number of `used` bits by `c`.
fn multiplier(c: u128, used: u32, bits: u32) -> Option<(u128, u32)> {
    // floor(x * m / 2^(bits + s)) is right when 2^(bits+s) <= m * c <= 2^(bits+s) + 2^(bits+s-used).
    for shift in 0..bits {
        let power = bits + shift;
        if power > 126 {
            return None;
        }
        let factor = (1u128 << power).div_ceil(c);
        if factor > mask(bits) {
            return None;
        }
        let error = factor.checked_mul(c)? - (1u128 << power);
        if error <= 1u128 << (power - used) {
            return Some((factor, shift));
        }
    }
    None
}

/// `x / c` with sign.
fn signed(b: &mut Builder<'_, '_>, x: Value, c: i128, bits: u32) -> Option<Value> {
    let magnitude = c.unsigned_abs();
    let quotient = if magnitude.is_power_of_two() {
        let power = magnitude.trailing_zeros();
        if power == 0 || power == bits - 1 {
            return None;
        }
        // Round towards zero: negative numbers need 2^k - 1 more.
        let sign = if power == 1 { x } else { b.with(BinaryOp::AShr, x, (bits - 1).into()) };
        let bias = b.with(BinaryOp::LShr, sign, (bits - power).into());
        let sum = b.binary(BinaryOp::Add, InstFlags::empty(), x, bias);
        b.with(BinaryOp::AShr, sum, power.into())
    } else {
        signed_by_multiplier(b, x, magnitude, bits)?
    };
    if c > 0 {
        return Some(quotient);
    }
    let ty = b.ty(x);
    let zero = b.cx.zero(ty);
    Some(b.binary(BinaryOp::Sub, InstFlags::empty(), zero, quotient))
}

fn signed_by_multiplier(b: &mut Builder<'_, '_>, x: Value, c: u128, bits: u32) -> Option<Value> {
    // The smallest power that makes the error small enough for all numbers of `bits - 1` bits.
    let (factor, shift) = (0..bits).find_map(|shift| {
        let power = bits + shift;
        let factor = (1u128 << power) / c + 1;
        let error = factor.checked_mul(c)?.checked_sub(1u128 << power)?;
        (power <= 126 && error <= 1u128 << (shift + 1)).then_some((factor, shift))
    })?;
    if factor > mask(bits) {
        return None;
    }
    let mut high = mul_high(b, x, factor, bits, true);
    if factor >> (bits - 1) != 0 {
        // As a signed factor it is 2^bits too small.
        high = b.binary(BinaryOp::Add, InstFlags::empty(), high, x);
    }
    let shifted = b.with(BinaryOp::AShr, high, shift.into());
    let sign = b.with(BinaryOp::LShr, x, (bits - 1).into());
    Some(b.binary(BinaryOp::Add, InstFlags::empty(), shifted, sign))
}
