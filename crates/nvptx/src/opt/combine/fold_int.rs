//! Integer arithmetic on constants.

use crate::ir::{BinaryOp, InstFlags};

/// What an operation on constants gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::opt) enum Folded {
    /// An integer, zero-extended.
    Value(u128),
    /// Undefined for these operands, or against the flags.
    Poison,
}

pub(in crate::opt) const fn mask(bits: u32) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

pub(in crate::opt) const fn sext(value: u128, bits: u32) -> i128 {
    ((value << (128 - bits)) as i128) >> (128 - bits)
}

/// A binary operation on integers of `bits` bits; `None` for those on floats and divisions by zero, which stay.
pub(in crate::opt) fn binary(op: BinaryOp, flags: InstFlags, a: u128, b: u128, bits: u32) -> Option<Folded> {
    let mask = mask(bits);
    let (x, y) = (sext(a, bits), sext(b, bits));
    let min = sext(1 << (bits - 1), bits);
    let (nuw, nsw, exact) =
        (flags.contains(InstFlags::NUW), flags.contains(InstFlags::NSW), flags.contains(InstFlags::EXACT));
    // The exact result, where 128 bits hold it, decides about the flags.
    let wrapping = |value: u128, unsigned: Option<u128>, signed: Option<i128>| {
        let value = value & mask;
        let wrong = nuw && unsigned != Some(value) || nsw && signed != Some(sext(value, bits));
        if wrong { Folded::Poison } else { Folded::Value(value) }
    };
    let exactly = |value: u128, fits: bool| if exact && !fits { Folded::Poison } else { Folded::Value(value & mask) };
    let shift = |f: &dyn Fn(u32) -> Folded| if b < u128::from(bits) { f(b as u32) } else { Folded::Poison };
    Some(match op {
        BinaryOp::Add => wrapping(a.wrapping_add(b), a.checked_add(b), x.checked_add(y)),
        BinaryOp::Sub => wrapping(a.wrapping_sub(b), a.checked_sub(b), x.checked_sub(y)),
        BinaryOp::Mul => wrapping(a.wrapping_mul(b), a.checked_mul(b), x.checked_mul(y)),
        BinaryOp::UDiv if b != 0 => exactly(a / b, a.is_multiple_of(b)),
        BinaryOp::URem if b != 0 => Folded::Value(a % b),
        BinaryOp::SDiv if b != 0 && !(x == min && y == -1) => exactly((x / y) as u128, x % y == 0),
        BinaryOp::SRem if b != 0 && !(x == min && y == -1) => Folded::Value((x % y) as u128 & mask),
        BinaryOp::Shl => shift(&|by| {
            let value = (a << by) & mask;
            let wrong = nuw && value >> by != a || nsw && sext(value, bits) >> by != x;
            if wrong { Folded::Poison } else { Folded::Value(value) }
        }),
        BinaryOp::LShr => shift(&|by| exactly(a >> by, a.trailing_zeros() >= by)),
        BinaryOp::AShr => shift(&|by| exactly((x >> by) as u128, a.trailing_zeros() >= by)),
        BinaryOp::And => Folded::Value(a & b),
        BinaryOp::Or if flags.contains(InstFlags::DISJOINT) && a & b != 0 => Folded::Poison,
        BinaryOp::Or => Folded::Value(a | b),
        BinaryOp::Xor => Folded::Value(a ^ b),
        _ => return None,
    })
}
