//! Integer arithmetic of any width up to 128 bits.

use crate::fault::Fault;
use crate::int_bits::{mask, signed};
use crate::value::{Unknown, Value, bits};
use oriole_nvptx::ir::{BinaryOp, InstFlags, IntPredicate};

/// `add`, `udiv`, `xor` and the like of scalars of `width` bits.
pub(crate) fn binary(op: BinaryOp, flags: InstFlags, width: u32, operands: [&Value; 2]) -> Result<Value, Fault> {
    if op.is_int_division() {
        // Also when the dividend is not known, the divisor must be, and not 0.
        let divisor = operands[1].decides("a divisor")?;
        if divisor == 0 {
            return Err(Fault::undefined("division by zero"));
        }
    }
    let [a, b] = match bits(operands) {
        Ok(bits) => bits,
        Err(unknown) => return Ok(unknown),
    };
    let (sa, sb) = (signed(a, width), signed(b, width));
    let poison = Ok(Value::POISON);
    let result = match op {
        BinaryOp::Add => overflowing(a.checked_add(b), sa.checked_add(sb), a.wrapping_add(b), flags, width),
        BinaryOp::Sub => overflowing(a.checked_sub(b), sa.checked_sub(sb), a.wrapping_sub(b), flags, width),
        BinaryOp::Mul => overflowing(a.checked_mul(b), sa.checked_mul(sb), a.wrapping_mul(b), flags, width),
        BinaryOp::UDiv if flags.contains(InstFlags::EXACT) && a % b != 0 => return poison,
        BinaryOp::UDiv => Some(a / b),
        BinaryOp::URem => Some(a % b),
        BinaryOp::SDiv | BinaryOp::SRem => {
            if sb == -1 && a == 1 << (width - 1) {
                return Err(Fault::undefined("a signed division that overflows"));
            }
            // The one case that overflows 128 bits is gone.
            let (quotient, remainder) = (sa.wrapping_div(sb), sa.wrapping_rem(sb));
            match op {
                BinaryOp::SDiv if flags.contains(InstFlags::EXACT) && remainder != 0 => return poison,
                BinaryOp::SDiv => Some(quotient as u128),
                _ => Some(remainder as u128),
            }
        }
        BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr => shift(op, flags, width, a, b),
        BinaryOp::And => Some(a & b),
        BinaryOp::Or if flags.contains(InstFlags::DISJOINT) && a & b != 0 => return poison,
        BinaryOp::Or => Some(a | b),
        BinaryOp::Xor => Some(a ^ b),
        _ => return Err(Fault::invalid("a floating-point operation on integers")),
    };
    Ok(result.map_or(Value::POISON, |result| Value::Bits(result & mask(width))))
}

/// A sum, difference or product; `None` when it overflows as `nuw` or `nsw` forbid. The operands have `width` bits.
fn overflowing(
    unsigned: Option<u128>,
    sign: Option<i128>,
    wrapped: u128,
    flags: InstFlags,
    width: u32,
) -> Option<u128> {
    let fits_unsigned = unsigned.is_some_and(|exact| exact <= mask(width));
    let fits_signed = sign.is_some_and(|exact| signed(exact as u128 & mask(width), width) == exact);
    let broken = flags.contains(InstFlags::NUW) && !fits_unsigned || flags.contains(InstFlags::NSW) && !fits_signed;
    (!broken).then_some(wrapped)
}

fn shift(op: BinaryOp, flags: InstFlags, width: u32, a: u128, amount: u128) -> Option<u128> {
    let amount = u32::try_from(amount).ok().filter(|&amount| amount < width)?;
    let result = match op {
        BinaryOp::Shl => a << amount & mask(width),
        BinaryOp::LShr => a >> amount,
        _ => (signed(a, width) >> amount) as u128 & mask(width),
    };
    let lost = match op {
        BinaryOp::Shl => {
            flags.contains(InstFlags::NUW) && result >> amount != a
                || flags.contains(InstFlags::NSW) && signed(result, width) >> amount != signed(a, width)
        }
        _ => flags.contains(InstFlags::EXACT) && a & mask(amount) != 0,
    };
    (!lost).then_some(result)
}

/// `icmp` of scalars.
pub(crate) fn compare(predicate: IntPredicate, flags: InstFlags, width: u32, operands: [&Value; 2]) -> Value {
    use IntPredicate::*;
    let [a, b] = match bits(operands) {
        Ok(bits) => bits,
        Err(unknown) => return unknown,
    };
    let (sa, sb) = (signed(a, width), signed(b, width));
    if flags.contains(InstFlags::SAME_SIGN) && (sa < 0) != (sb < 0) {
        return Value::POISON;
    }
    Value::bool(match predicate {
        Eq => a == b,
        Ne => a != b,
        Ugt => a > b,
        Uge => a >= b,
        Ult => a < b,
        Ule => a <= b,
        Sgt => sa > sb,
        Sge => sa >= sb,
        Slt => sa < sb,
        Sle => sa <= sb,
    })
}

/// `select` of a scalar condition.
pub(crate) fn select(condition: &Value, yes: &Value, no: &Value) -> Value {
    match condition {
        Value::Bits(bits) => if *bits & 1 == 1 { yes } else { no }.clone(),
        Value::Unknown(Unknown::Poison) => splat_like(yes, Unknown::Poison),
        _ if yes == no => yes.clone(),
        // One of the two.
        _ => splat_like(yes, Unknown::Open),
    }
}

/// A value of the shape of another of which nothing is known.
pub(crate) fn splat_like(shape: &Value, why: Unknown) -> Value {
    match shape {
        Value::Many(elements) => Value::Many(elements.iter().map(|element| splat_like(element, why)).collect()),
        _ => Value::Unknown(why),
    }
}

/// `llvm.sadd.sat` and the like: the operation of arbitrary precision, cut to the range of the type.
pub(crate) fn saturating(op: BinaryOp, sign: bool, width: u32, a: u128, b: u128) -> u128 {
    let (lowest, highest) = (1 << (width - 1), mask(width - 1));
    let (sa, sb) = (signed(a, width), signed(b, width));
    let exact = match (op, sign) {
        (BinaryOp::Add, false) => return a.checked_add(b).filter(|&sum| sum <= mask(width)).unwrap_or(mask(width)),
        (BinaryOp::Sub, false) => return a.saturating_sub(b),
        (BinaryOp::Shl, false) => return if a << b >> b == a && a << b <= mask(width) { a << b } else { mask(width) },
        (BinaryOp::Add, true) => sa.checked_add(sb),
        (BinaryOp::Sub, true) => sa.checked_sub(sb),
        (_, _) => {
            let shifted = sa.wrapping_shl(b as u32);
            (shifted >> b == sa).then_some(shifted)
        }
    };
    let negative = match op {
        BinaryOp::Add => sb < 0,
        BinaryOp::Sub => sb >= 0,
        _ => sa < 0,
    };
    match exact.filter(|&exact| signed(exact as u128 & mask(width), width) == exact) {
        Some(exact) => exact as u128 & mask(width),
        None if negative => lowest,
        None => highest,
    }
}

/// The result and whether it overflowed: `llvm.smul.with.overflow` and the like.
pub(crate) fn with_overflow(op: BinaryOp, sign: bool, width: u32, a: u128, b: u128) -> (u128, bool) {
    let flag = if sign { InstFlags::NSW } else { InstFlags::NUW };
    let (sa, sb) = (signed(a, width), signed(b, width));
    let (unsigned, exact, wrapped) = match op {
        BinaryOp::Add => (a.checked_add(b), sa.checked_add(sb), a.wrapping_add(b)),
        BinaryOp::Sub => (a.checked_sub(b), sa.checked_sub(sb), a.wrapping_sub(b)),
        _ => (a.checked_mul(b), sa.checked_mul(sb), a.wrapping_mul(b)),
    };
    let fits = overflowing(unsigned, exact, wrapped, flag, width).is_some();
    (wrapped & mask(width), !fits)
}

/// The upper half of a product of `width` bits each, `width` at most 64.
pub(crate) fn multiply_high(sign: bool, width: u32, a: u128, b: u128) -> u128 {
    let product = if sign { signed(a, width).wrapping_mul(signed(b, width)) as u128 } else { a.wrapping_mul(b) };
    product >> width & mask(width)
}

/// The `width` bits from the upper part of two words that lie behind each other, shifted left.
pub(crate) fn funnel_left(width: u32, high: u128, low: u128, amount: u128) -> u128 {
    let amount = (amount % u128::from(width)) as u32;
    if amount == 0 { high } else { (high << amount | low >> (width - amount)) & mask(width) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs() -> impl Iterator<Item = (u8, u8)> {
        (0..=u8::MAX).flat_map(|a| (0..=u8::MAX).map(move |b| (a, b)))
    }

    fn eval(op: BinaryOp, flags: InstFlags, a: u8, b: u8) -> Option<u8> {
        let operands = [Value::Bits(a.into()), Value::Bits(b.into())];
        match binary(op, flags, 8, [&operands[0], &operands[1]]).ok()? {
            Value::Bits(bits) => Some(u8::try_from(bits).expect("the result has 8 bits")),
            _ => None,
        }
    }

    #[test]
    fn bytes_are_those_of_the_host() {
        use BinaryOp::*;
        let (nuw, nsw, none) = (InstFlags::NUW, InstFlags::NSW, InstFlags::empty());
        for (a, b) in pairs() {
            let (x, y) = (a as i8, b as i8);
            let signed = |value: Option<i8>| value.map(|value| value as u8);
            let rows = [
                (Add, none, Some(a.wrapping_add(b))),
                (Add, nuw, a.checked_add(b)),
                (Add, nsw, signed(x.checked_add(y))),
                (Sub, none, Some(a.wrapping_sub(b))),
                (Sub, nuw, a.checked_sub(b)),
                (Sub, nsw, signed(x.checked_sub(y))),
                (Mul, none, Some(a.wrapping_mul(b))),
                (Mul, nuw, a.checked_mul(b)),
                (Mul, nsw, signed(x.checked_mul(y))),
                (UDiv, none, a.checked_div(b)),
                (URem, none, a.checked_rem(b)),
                (SDiv, none, signed(x.checked_div(y))),
                (SRem, none, signed(x.checked_rem(y))),
                (Shl, none, a.checked_shl(b.into())),
                (LShr, none, a.checked_shr(b.into())),
                (AShr, none, signed(x.checked_shr(b.into()))),
                (And, none, Some(a & b)),
                (Or, none, Some(a | b)),
                (Xor, none, Some(a ^ b)),
                (UDiv, InstFlags::EXACT, a.checked_div(b).filter(|q| q.wrapping_mul(b) == a)),
                (Or, InstFlags::DISJOINT, (a & b == 0).then_some(a | b)),
            ];
            for (op, flags, want) in rows {
                assert_eq!(eval(op, flags, a, b), want, "{op:?} {flags:?} {a} {b}");
            }
        }
    }

    #[test]
    fn saturated_bytes_are_those_of_the_host() {
        let get = |op, sign, a: u8, b: u8| saturating(op, sign, 8, a.into(), b.into()) as u8;
        for (a, b) in pairs() {
            let (x, y) = (a as i8, b as i8);
            assert_eq!(get(BinaryOp::Add, true, a, b) as i8, x.saturating_add(y));
            assert_eq!(get(BinaryOp::Add, false, a, b), a.saturating_add(b));
            assert_eq!(get(BinaryOp::Sub, true, a, b) as i8, x.saturating_sub(y), "{x} - {y}");
            assert_eq!(get(BinaryOp::Sub, false, a, b), a.saturating_sub(b));
            assert_eq!(with_overflow(BinaryOp::Mul, true, 8, a.into(), b.into()).1, x.checked_mul(y).is_none());
            assert_eq!(multiply_high(true, 8, a.into(), b.into()) as u8, ((i16::from(x) * i16::from(y)) >> 8) as u8);
            if b < 8 {
                let wide = (i32::from(x) << b).clamp(-128, 127) as i8;
                assert_eq!(get(BinaryOp::Shl, true, a, b) as i8, wide, "{x} << {b}");
                assert_eq!(get(BinaryOp::Shl, false, a, b), (u32::from(a) << b).min(255) as u8);
                assert_eq!(
                    funnel_left(8, a.into(), b.into(), b.into()) as u8,
                    ((u16::from(a) << 8 | u16::from(b)) << b >> 8) as u8
                );
            }
        }
    }
}
