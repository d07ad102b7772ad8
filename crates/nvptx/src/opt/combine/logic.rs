//! Rules for `and`, `or` and `xor`.

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
    if x.constant().is_some() && y.local().is_some() {
        return Some(Rewrite::Op(Op::Binary(op, flags, [y, x])));
    }
    match (op, b.int_of(y)) {
        (BinaryOp::And, Some(c)) => and_constant(b, x, c, ty),
        (BinaryOp::Or, Some(c)) => or_constant(b, flags, x, c, ty),
        (BinaryOp::Xor, Some(c)) => xor_constant(b, x, c, ty),
        (BinaryOp::Or, None) => or(b, flags, x, y, ty),
        _ => None,
    }
}

/// `(x op c1) op c2`
fn chained(b: &mut Builder<'_, '_>, op: BinaryOp, x: Value, c: u128, ty: TypeId) -> Option<Rewrite> {
    match *b.op(x)? {
        Op::Binary(inner, _, [x, c1]) if inner == op => {
            let c1 = b.int_of(c1)?;
            let both = match op {
                BinaryOp::And => c1 & c,
                BinaryOp::Or => c1 | c,
                _ => c1 ^ c,
            };
            let both = b.cx.int(ty, both);
            Some(Rewrite::Op(Op::Binary(op, InstFlags::empty(), [x, both])))
        }
        _ => None,
    }
}

fn and_constant(b: &mut Builder<'_, '_>, x: Value, c: u128, ty: TypeId) -> Option<Rewrite> {
    if let Some(done) = chained(b, BinaryOp::And, x, c, ty) {
        return Some(done);
    }
    match b.op(x)?.clone() {
        // Bits that the mask clears need not be set.
        Op::Binary(BinaryOp::Or, _, [from, set]) if b.int_of(set).is_some_and(|set| set & c == 0) => {
            let constant = b.cx.int(ty, c);
            Some(Rewrite::Op(Op::Binary(BinaryOp::And, InstFlags::empty(), [from, constant])))
        }
        // A mask of a widened value that keeps no more than it had.
        Op::Cast(CastOp::SExt, _, from) if c & !mask(b.bits(b.ty(from))) == 0 => {
            let wide = b.cast(CastOp::ZExt, from, ty);
            let constant = b.cx.int(ty, c);
            Some(Rewrite::Op(Op::Binary(BinaryOp::And, InstFlags::empty(), [wide, constant])))
        }
        _ => None,
    }
}

fn or_constant(b: &mut Builder<'_, '_>, flags: InstFlags, x: Value, c: u128, ty: TypeId) -> Option<Rewrite> {
    if let Some(done) = chained(b, BinaryOp::Or, x, c, ty) {
        return Some(done);
    }
    let known = known_bits(b.view(), x);
    if !flags.contains(InstFlags::DISJOINT) && !known.zero & c == 0 {
        let constant = b.cx.int(ty, c);
        return Some(Rewrite::Op(Op::Binary(BinaryOp::Or, flags | InstFlags::DISJOINT, [x, constant])));
    }
    None
}

fn xor_constant(b: &mut Builder<'_, '_>, x: Value, c: u128, ty: TypeId) -> Option<Rewrite> {
    if let Some(done) = chained(b, BinaryOp::Xor, x, c, ty) {
        return Some(done);
    }
    if b.bits(ty) == 1 && c == 1 && b.is_single(x) {
        return match *b.op(x)? {
            Op::ICmp(predicate, flags, args) => Some(Rewrite::Op(Op::ICmp(predicate.inverse(), flags, args))),
            Op::FCmp(predicate, flags, args) => {
                // What may be assumed about the answer holds for its negation too.
                Some(Rewrite::Op(Op::FCmp(predicate.inverse(), flags, args)))
            }
            _ => None,
        };
    }
    None
}

fn or(b: &mut Builder<'_, '_>, flags: InstFlags, x: Value, y: Value, ty: TypeId) -> Option<Rewrite> {
    if let Some(rotated) = rotation(b, x, y, ty).or_else(|| rotation(b, y, x, ty)) {
        return Some(Rewrite::Value(rotated));
    }
    if !flags.contains(InstFlags::DISJOINT) && b.cx.module.types.int_bits(ty).is_some() {
        let (p, q) = (known_bits(b.view(), x), known_bits(b.view(), y));
        if (p.zero | q.zero) & p.mask() == p.mask() {
            return Some(Rewrite::Op(Op::Binary(BinaryOp::Or, flags | InstFlags::DISJOINT, [x, y])));
        }
    }
    None
}

/// `(high << c) | (low >> (width - c))` is a funnel shift, which the targets have for 32 bits.
fn rotation(b: &mut Builder<'_, '_>, x: Value, y: Value, ty: TypeId) -> Option<Value> {
    if ty != TypeId::I32 || !b.is_single(x) || !b.is_single(y) {
        return None;
    }
    let (Op::Binary(BinaryOp::Shl, _, [high, left]), Op::Binary(BinaryOp::LShr, _, [low, right])) =
        (b.op(x)?.clone(), b.op(y)?.clone())
    else {
        return None;
    };
    let (l, r) = (b.int_of(left)?, b.int_of(right)?);
    (l + r == 32 && l > 0 && r > 0).then(|| b.overloaded("llvm.fshl", ty, &[high, low, left]))
}
