//! Rules for sums, products and shifts.

use super::build::Builder;
use super::fold_int::mask;
use super::rewrite::Rewrite;
use crate::analysis::known_bits::known_bits;
use crate::ir::{BinaryOp, CastOp, InstFlags, Op, TypeId, Value};

/// Rewrites one operation.
pub(super) fn rewrite(
    b: &mut Builder<'_, '_>,
    op: BinaryOp,
    flags: InstFlags,
    [x, y]: [Value; 2],
    ty: TypeId,
) -> Option<Rewrite> {
    // Constants stand right.
    if op.is_commutative() && x.constant().is_some() && y.local().is_some() {
        return Some(Rewrite::Op(Op::Binary(op, flags, [y, x])));
    }
    let constant = b.int_of(y);
    match (op, constant) {
        (BinaryOp::Add, Some(c)) => add_constant(b, flags, x, c, ty),
        (BinaryOp::Sub, Some(c)) => {
            let bits = b.bits(ty);
            let keep = if c == 1 << (bits - 1) { InstFlags::empty() } else { flags & InstFlags::NSW };
            let negated = b.cx.int(ty, c.wrapping_neg());
            Some(Rewrite::Op(Op::Binary(BinaryOp::Add, keep, [x, negated])))
        }
        (BinaryOp::Add, None) => add(b, x, y),
        (BinaryOp::Sub, None) => sub(b, x, y),
        (BinaryOp::Mul, Some(c)) => mul_constant(b, flags, x, c, ty),
        (BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr, Some(by)) => shift(b, op, flags, x, by, ty),
        _ => None,
    }
}

fn add_constant(b: &mut Builder<'_, '_>, flags: InstFlags, x: Value, c: u128, ty: TypeId) -> Option<Rewrite> {
    let bits = b.bits(ty);
    match b.op(x)?.clone() {
        // (x + c1) + c2
        Op::Binary(BinaryOp::Add, inner, [x, c1]) => {
            let c1 = b.int_of(c1)?;
            let nuw = flags.contains(InstFlags::NUW)
                && inner.contains(InstFlags::NUW)
                && c1.checked_add(c).is_some_and(|sum| sum <= mask(bits));
            let (p, q) = (super::fold_int::sext(c1, bits), super::fold_int::sext(c, bits));
            let fits = p.checked_add(q).is_some_and(|sum| super::fold_int::sext(sum as u128 & mask(bits), bits) == sum);
            let nsw = flags.contains(InstFlags::NSW) && inner.contains(InstFlags::NSW) && fits;
            let mut flags = InstFlags::empty();
            flags.set(InstFlags::NUW, nuw);
            flags.set(InstFlags::NSW, nsw);
            let sum = b.cx.int(ty, c1.wrapping_add(c));
            Some(Rewrite::Op(Op::Binary(BinaryOp::Add, flags, [x, sum])))
        }
        // (c1 - x) + c2
        Op::Binary(BinaryOp::Sub, _, [c1, x]) => {
            let sum = b.int_of(c1)?.wrapping_add(c);
            let sum = b.cx.int(ty, sum);
            Some(Rewrite::Op(Op::Binary(BinaryOp::Sub, InstFlags::empty(), [sum, x])))
        }
        // not x + 1
        Op::Binary(BinaryOp::Xor, _, [x, ones]) if c == 1 && b.int_of(ones) == Some(mask(bits)) => {
            let zero = b.cx.zero(ty);
            Some(Rewrite::Op(Op::Binary(BinaryOp::Sub, InstFlags::empty(), [zero, x])))
        }
        _ => None,
    }
}

/// The value that is negated: `0 - x`.
fn negated(b: &Builder<'_, '_>, value: Value) -> Option<Value> {
    match b.op(value)? {
        Op::Binary(BinaryOp::Sub, _, [zero, x]) if b.int_of(*zero) == Some(0) => Some(*x),
        _ => None,
    }
}

fn add(b: &mut Builder<'_, '_>, x: Value, y: Value) -> Option<Rewrite> {
    let sub = |x, y| Some(Rewrite::Op(Op::Binary(BinaryOp::Sub, InstFlags::empty(), [x, y])));
    if let Some(y) = negated(b, y) {
        return sub(x, y);
    }
    if let Some(x) = negated(b, x) {
        return sub(y, x);
    }
    None
}

fn sub(b: &mut Builder<'_, '_>, x: Value, y: Value) -> Option<Rewrite> {
    if let Some(y) = negated(b, y) {
        return Some(Rewrite::Op(Op::Binary(BinaryOp::Add, InstFlags::empty(), [x, y])));
    }
    match (b.op(x), b.op(y)) {
        // (x + z) - (y + z) of constants: they come last.
        (_, Some(Op::Binary(BinaryOp::Add, _, [p, c]))) if b.is_single(y) => {
            let (p, c) = (*p, b.int_of(*c)?);
            let difference = b.binary(BinaryOp::Sub, InstFlags::empty(), x, p);
            let constant = b.cx.int(b.ty(x), c.wrapping_neg());
            Some(Rewrite::Op(Op::Binary(BinaryOp::Add, InstFlags::empty(), [difference, constant])))
        }
        _ => None,
    }
}

fn mul_constant(b: &mut Builder<'_, '_>, flags: InstFlags, x: Value, c: u128, ty: TypeId) -> Option<Rewrite> {
    let bits = b.bits(ty);
    if c.is_power_of_two() {
        let by = c.trailing_zeros();
        // A shift into the sign bit has no sign to keep.
        let keep = if by == bits - 1 { flags & InstFlags::NUW } else { flags & (InstFlags::NUW | InstFlags::NSW) };
        let by = b.cx.int(ty, by.into());
        return Some(Rewrite::Op(Op::Binary(BinaryOp::Shl, keep, [x, by])));
    }
    if c == mask(bits) {
        let zero = b.cx.zero(ty);
        return Some(Rewrite::Op(Op::Binary(BinaryOp::Sub, flags & InstFlags::NSW, [zero, x])));
    }
    match b.op(x)?.clone() {
        Op::Binary(BinaryOp::Mul, _, [x, c1]) => {
            let product = b.int_of(c1)?.wrapping_mul(c);
            let product = b.cx.int(ty, product);
            Some(Rewrite::Op(Op::Binary(BinaryOp::Mul, InstFlags::empty(), [x, product])))
        }
        Op::Binary(BinaryOp::Shl, _, [x, by]) => {
            let by = b.int_of(by).filter(|&by| by < u128::from(bits))?;
            let product = b.cx.int(ty, c << by);
            Some(Rewrite::Op(Op::Binary(BinaryOp::Mul, InstFlags::empty(), [x, product])))
        }
        _ => None,
    }
}

fn shift(b: &mut Builder<'_, '_>, op: BinaryOp, flags: InstFlags, x: Value, by: u128, ty: TypeId) -> Option<Rewrite> {
    let bits = b.bits(ty);
    if by >= u128::from(bits) {
        let poison = b.cx.poison(ty);
        return Some(Rewrite::Value(poison));
    }
    let by = by as u32;
    let inner = b.op(x).cloned();
    if let Some(Op::Binary(inner, _, [from, own])) = &inner
        && let Some(own) = b.int_of(*own).filter(|&own| own < u128::from(bits)).map(|own| own as u32)
    {
        match (inner, op) {
            // Two shifts the same way are one.
            (a, c) if *a == c && own + by < bits => {
                let sum = b.cx.int(ty, (own + by).into());
                return Some(Rewrite::Op(Op::Binary(op, InstFlags::empty(), [*from, sum])));
            }
            // The sign stays where it is.
            (BinaryOp::AShr, BinaryOp::LShr) if by == bits - 1 => {
                return Some(Rewrite::Op(Op::Binary(op, InstFlags::empty(), with(b, *from, by, ty))));
            }
            (BinaryOp::Shl, BinaryOp::Shl) | (BinaryOp::LShr, BinaryOp::LShr) => {
                let zero = b.cx.zero(ty);
                return Some(Rewrite::Value(zero));
            }
            // There and back is a mask.
            (BinaryOp::LShr, BinaryOp::Shl) if own == by => {
                let kept = b.cx.int(ty, mask(bits) << by);
                return Some(Rewrite::Op(Op::Binary(BinaryOp::And, InstFlags::empty(), [*from, kept])));
            }
            (BinaryOp::Shl, BinaryOp::LShr) if own == by => {
                let kept = b.cx.int(ty, mask(bits) >> by);
                return Some(Rewrite::Op(Op::Binary(BinaryOp::And, InstFlags::empty(), [*from, kept])));
            }
            _ => {}
        }
    }
    match (op, inner) {
        // The bits of a narrow value that are shifted out of a wide one.
        (BinaryOp::AShr, _) if known_bits(b.view(), x).is_non_negative() => {
            Some(Rewrite::Op(Op::Binary(BinaryOp::LShr, flags & InstFlags::EXACT, with(b, x, by, ty))))
        }
        // Not where the sum is known not to overflow: that lets it be widened.
        (BinaryOp::Shl, Some(Op::Binary(BinaryOp::Add, _, [from, c]))) if b.is_single(x) && flags.is_empty() => {
            let c = b.int_of(c)?;
            let by_value = b.cx.int(ty, by.into());
            let shifted = b.binary(BinaryOp::Shl, InstFlags::empty(), from, by_value);
            let constant = b.cx.int(ty, c << by);
            Some(Rewrite::Op(Op::Binary(BinaryOp::Add, InstFlags::empty(), [shifted, constant])))
        }
        (BinaryOp::LShr, Some(Op::Cast(CastOp::ZExt, _, from))) if by >= b.bits(b.ty(from)) => {
            let zero = b.cx.zero(ty);
            Some(Rewrite::Value(zero))
        }
        _ => None,
    }
}

fn with(b: &mut Builder<'_, '_>, x: Value, by: u32, ty: TypeId) -> [Value; 2] {
    [x, b.cx.int(ty, by.into())]
}
