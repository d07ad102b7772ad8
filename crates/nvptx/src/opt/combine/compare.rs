//! Rules for comparisons.

use super::build::Builder;
use super::fold_int::{mask, sext};
use super::rewrite::Rewrite;
use crate::analysis::known_bits::known_bits;
use crate::ir::{BinaryOp, CastOp, FloatPredicate, InstFlags, IntPredicate, Op, TypeId, Value};

/// Rewrites one comparison of integers or pointers.
pub(super) fn rewrite(b: &mut Builder<'_, '_>, predicate: IntPredicate, [x, y]: [Value; 2]) -> Option<Rewrite> {
    let compare = |predicate, x, y| Some(Rewrite::Op(Op::ICmp(predicate, InstFlags::empty(), [x, y])));
    if x.constant().is_some() && y.local().is_some() {
        return compare(predicate.swapped(), y, x);
    }
    let of = b.ty(x);
    if of == TypeId::I1 && predicate == IntPredicate::Eq && b.int_of(y) == Some(0) {
        let flag = b.not(x);
        return Some(Rewrite::Value(flag));
    }
    b.cx.module.types.int_bits(b.cx.module.types.scalar(of))?;
    match b.int_of(y) {
        Some(c) => with_constant(b, predicate, x, c, of),
        None => of_widened(b, predicate, x, y),
    }
}

fn with_constant(b: &mut Builder<'_, '_>, predicate: IntPredicate, x: Value, c: u128, of: TypeId) -> Option<Rewrite> {
    use IntPredicate::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
    let bits = b.bits(of);
    let with = |b: &mut Builder<'_, '_>, predicate, x, c: u128| {
        let c = b.cx.int(b.ty(x), c);
        Some(Rewrite::Op(Op::ICmp(predicate, InstFlags::empty(), [x, c])))
    };
    let (max, smax, smin) = (mask(bits), mask(bits) >> 1, 1u128 << (bits - 1));
    // One form for each: strict comparisons.
    match predicate {
        Ule if c != max => return with(b, Ult, x, c + 1),
        Uge if c != 0 => return with(b, Ugt, x, c - 1),
        Sle if c != smax => return with(b, Slt, x, c.wrapping_add(1)),
        Sge if c != smin => return with(b, Sgt, x, c.wrapping_sub(1)),
        Ult if c == 1 => return with(b, Eq, x, 0),
        Ugt if c == 0 => return with(b, Ne, x, 0),
        _ => {}
    }
    let equality = matches!(predicate, Eq | Ne);
    match b.op(x)?.clone() {
        Op::Binary(BinaryOp::Add, _, [from, add]) if equality => {
            let add = b.int_of(add)?;
            with(b, predicate, from, c.wrapping_sub(add))
        }
        Op::Binary(BinaryOp::Add, flags, [from, add]) if predicate.is_signed() && flags.contains(InstFlags::NSW) => {
            let add = sext(b.int_of(add)?, bits);
            let moved = sext(c, bits).checked_sub(add)?;
            (sext(moved as u128 & max, bits) == moved).then(|| with(b, predicate, from, moved as u128))?
        }
        Op::Binary(BinaryOp::Xor, _, [from, flip]) if equality => {
            let flip = b.int_of(flip)?;
            with(b, predicate, from, c ^ flip)
        }
        Op::Binary(BinaryOp::Sub, _, [p, q]) if equality && c == 0 => {
            Some(Rewrite::Op(Op::ICmp(predicate, InstFlags::empty(), [p, q])))
        }
        Op::Cast(CastOp::ZExt, _, from) => {
            let narrow = b.bits(b.ty(from));
            // Larger constants have been decided by known bits.
            if c > mask(narrow) {
                return None;
            }
            if narrow == 1 {
                return flag(b, predicate, from, c);
            }
            let unsigned = match predicate {
                Slt => Ult,
                Sgt => Ugt,
                other => other,
            };
            with(b, unsigned, from, c)
        }
        Op::Cast(CastOp::SExt, _, from) => {
            let narrow = b.bits(b.ty(from));
            let fits = sext(c & mask(narrow), narrow) == sext(c, bits);
            (fits && narrow > 1 && (equality || predicate.is_signed())).then(|| with(b, predicate, from, c))?
        }
        // A sign that is asked of what cannot be negative.
        _ if matches!(predicate, Slt | Sgt) && c < smin && known_bits(b.view(), x).is_non_negative() => {
            with(b, if predicate == Slt { Ult } else { Ugt }, x, c)
        }
        _ => None,
    }
}

/// A comparison of a widened flag with 0 or 1.
fn flag(b: &mut Builder<'_, '_>, predicate: IntPredicate, flag: Value, c: u128) -> Option<Rewrite> {
    let same = match (predicate, c) {
        (IntPredicate::Eq, 1) | (IntPredicate::Ne, 0) => true,
        (IntPredicate::Eq, 0) | (IntPredicate::Ne, 1) => false,
        _ => return None,
    };
    Some(Rewrite::Value(if same { flag } else { b.not(flag) }))
}

/// Both sides widened from the same type: the narrow ones are compared.
fn of_widened(b: &mut Builder<'_, '_>, predicate: IntPredicate, x: Value, y: Value) -> Option<Rewrite> {
    let (Op::Cast(p, _, from), Op::Cast(q, _, other)) = (b.op(x)?.clone(), b.op(y)?.clone()) else { return None };
    if p != q || b.ty(from) != b.ty(other) || b.bits(b.ty(from)) == 1 {
        return None;
    }
    let predicate = match (p, predicate) {
        (CastOp::ZExt, IntPredicate::Slt) => IntPredicate::Ult,
        (CastOp::ZExt, IntPredicate::Sle) => IntPredicate::Ule,
        (CastOp::ZExt, IntPredicate::Sgt) => IntPredicate::Ugt,
        (CastOp::ZExt, IntPredicate::Sge) => IntPredicate::Uge,
        (CastOp::ZExt, other) => other,
        (CastOp::SExt, other) if other.is_signed() || matches!(other, IntPredicate::Eq | IntPredicate::Ne) => other,
        _ => return None,
    };
    Some(Rewrite::Op(Op::ICmp(predicate, InstFlags::empty(), [from, other])))
}

/// Rewrites one comparison of floating-point numbers.
pub(super) fn float(
    b: &mut Builder<'_, '_>,
    predicate: FloatPredicate,
    flags: InstFlags,
    [x, y]: [Value; 2],
) -> Option<Rewrite> {
    if x.constant().is_some() && y.local().is_some() {
        return Some(Rewrite::Op(Op::FCmp(predicate.swapped(), flags, [y, x])));
    }
    match (b.op(x), b.op(y)) {
        (Some(Op::FNeg(_, p)), Some(Op::FNeg(_, q))) => {
            Some(Rewrite::Op(Op::FCmp(predicate.swapped(), flags, [*p, *q])))
        }
        (Some(Op::Cast(CastOp::FpExt, _, p)), Some(Op::Cast(CastOp::FpExt, _, q))) if b.ty(*p) == b.ty(*q) => {
            Some(Rewrite::Op(Op::FCmp(predicate, flags, [*p, *q])))
        }
        _ => None,
    }
}
