//! Rules for `select`.

use super::build::Builder;
use super::fold_int::mask;
use super::rewrite::Rewrite;
use crate::ir::{BinaryOp, CastOp, InstFlags, IntPredicate, Op, TypeId, Value};

/// Rewrites one `select`.
pub(super) fn rewrite(
    b: &mut Builder<'_, '_>,
    flags: InstFlags,
    [condition, x, y]: [Value; 3],
    ty: TypeId,
) -> Option<Rewrite> {
    let inner = b.op(condition).cloned();
    // select (not c), x, y
    if let Some(Op::Binary(BinaryOp::Xor, _, [flag, one])) = inner
        && b.ty(condition) == TypeId::I1
        && b.int_of(one) == Some(1)
    {
        return Some(Rewrite::Op(Op::Select(flags, [flag, y, x])));
    }
    if let (Some(bits), Some(p), Some(q)) = (b.cx.module.types.int_bits(ty), b.int_of(x), b.int_of(y))
        && b.ty(condition) == TypeId::I1
    {
        let cast = match (p, q) {
            (1, 0) => Some(CastOp::ZExt),
            (all, 0) if all == mask(bits) && bits > 1 => Some(CastOp::SExt),
            _ => None,
        };
        if let Some(cast) = cast.filter(|_| bits > 1) {
            return Some(Rewrite::Op(Op::Cast(cast, InstFlags::empty(), condition)));
        }
        if (p, q) == (0, 1) {
            let not = b.not(condition);
            return Some(if bits == 1 {
                Rewrite::Value(not)
            } else {
                Rewrite::Op(Op::Cast(CastOp::ZExt, InstFlags::empty(), not))
            });
        }
    }
    match inner? {
        Op::ICmp(predicate, _, pair) => extremum(b, predicate, pair, [x, y], ty),
        _ => None,
    }
}

/// `a < b ? a : b` and its like are minima and maxima; `a < 0 ? -a : a` is an absolute value.
fn extremum(
    b: &mut Builder<'_, '_>,
    predicate: IntPredicate,
    [p, q]: [Value; 2],
    [x, y]: [Value; 2],
    ty: TypeId,
) -> Option<Rewrite> {
    use IntPredicate::{Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
    if !matches!(b.cx.module.types.int_bits(ty)?, 16 | 32 | 64) || b.ty(p) != ty {
        return None;
    }
    let (predicate, p, q) = if (p, q) == (y, x) { (predicate.swapped(), q, p) } else { (predicate, p, q) };
    if (p, q) != (x, y) {
        return clamp(b, predicate, [p, q], [x, y], ty).or_else(|| absolute(b, predicate, [p, q], [x, y], ty));
    }
    let name = match predicate {
        Slt | Sle => "llvm.smin",
        Sgt | Sge => "llvm.smax",
        Ult | Ule => "llvm.umin",
        Ugt | Uge => "llvm.umax",
        _ => return None,
    };
    Some(Rewrite::Value(b.overloaded(name, ty, &[x, y])))
}

/// `a < c + 1 ? a : c`, as strict comparisons with constants come out.
fn clamp(
    b: &mut Builder<'_, '_>,
    predicate: IntPredicate,
    [p, q]: [Value; 2],
    [x, y]: [Value; 2],
    ty: TypeId,
) -> Option<Rewrite> {
    let limit = b.int_of(q)?;
    let all = mask(b.bits(ty));
    let (constant, swapped) = if p == x { (b.int_of(y)?, false) } else { (b.int_of(x)?, true) };
    if p != x && p != y {
        return None;
    }
    let predicate = if swapped { predicate.inverse() } else { predicate };
    let next = limit.wrapping_add(1) & all;
    let before = limit.wrapping_sub(1) & all;
    // Now `p predicate limit ? p : constant`; the limit and its neighbour give the same.
    let sign = (all >> 1) + 1;
    let name = match predicate {
        IntPredicate::Slt | IntPredicate::Sle
            if constant == limit
                || predicate == IntPredicate::Slt && constant == before && limit != sign
                || predicate == IntPredicate::Sle && constant == next && limit != sign - 1 =>
        {
            "llvm.smin"
        }
        IntPredicate::Sgt | IntPredicate::Sge
            if constant == limit
                || predicate == IntPredicate::Sgt && constant == next && limit != sign - 1
                || predicate == IntPredicate::Sge && constant == before && limit != sign =>
        {
            "llvm.smax"
        }
        IntPredicate::Ult | IntPredicate::Ule
            if constant == limit
                || predicate == IntPredicate::Ult && constant == before && limit != 0
                || predicate == IntPredicate::Ule && constant == next && limit != all =>
        {
            "llvm.umin"
        }
        IntPredicate::Ugt | IntPredicate::Uge
            if constant == limit
                || predicate == IntPredicate::Ugt && constant == next && limit != all
                || predicate == IntPredicate::Uge && constant == before && limit != 0 =>
        {
            "llvm.umax"
        }
        _ => return None,
    };
    let constant = b.cx.int(ty, constant);
    Some(Rewrite::Value(b.overloaded(name, ty, &[p, constant])))
}

fn absolute(
    b: &mut Builder<'_, '_>,
    predicate: IntPredicate,
    [p, q]: [Value; 2],
    [x, y]: [Value; 2],
    ty: TypeId,
) -> Option<Rewrite> {
    let limit = b.int_of(q)?;
    let negates = |value: Value| match b.op(value) {
        Some(Op::Binary(BinaryOp::Sub, _, [zero, from])) => b.int_of(*zero) == Some(0) && *from == p,
        _ => false,
    };
    let all = mask(b.bits(ty));
    let is_abs = match predicate {
        IntPredicate::Slt => (limit == 0 || limit == 1) && negates(x) && y == p,
        IntPredicate::Sgt => (limit == all || limit == 0) && negates(y) && x == p,
        _ => false,
    };
    let wraps = b.cx.int(TypeId::I1, 0);
    is_abs.then(|| Rewrite::Value(b.overloaded("llvm.abs", ty, &[p, wraps])))
}
