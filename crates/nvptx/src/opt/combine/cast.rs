//! Rules for conversions.

use super::build::Builder;
use super::fold_int::mask;
use super::rewrite::Rewrite;
use crate::analysis::known_bits::known_bits;
use crate::ir::{BinaryOp, CastOp, InstFlags, Op, TypeId, Value};

/// Rewrites one conversion.
pub(super) fn rewrite(b: &mut Builder<'_, '_>, op: CastOp, from: Value, ty: TypeId) -> Option<Rewrite> {
    let rule = match b.op(from)?.clone() {
        Op::Cast(inner, inner_flags, source) => {
            let between = b.ty(from);
            of_cast(b, op, inner, inner_flags, source, between, ty)
        }
        Op::Binary(inner, _, args) if op == CastOp::Trunc && b.is_single(from) => narrowed(b, inner, args, ty),
        Op::Select(_, [condition, x, y])
            if matches!(op, CastOp::ZExt | CastOp::SExt | CastOp::Trunc)
                && x.constant().is_some()
                && y.constant().is_some() =>
        {
            let (x, y) = (b.cast(op, x, ty), b.cast(op, y, ty));
            Some(Rewrite::Op(Op::Select(InstFlags::empty(), [condition, x, y])))
        }
        _ => None,
    };
    if rule.is_some() {
        return rule;
    }
    // What is not negative is widened with zeros.
    if op == CastOp::SExt && known_bits(b.view(), from).is_non_negative() {
        return Some(Rewrite::Op(Op::Cast(CastOp::ZExt, InstFlags::NNEG, from)));
    }
    None
}

fn of_cast(
    b: &mut Builder<'_, '_>,
    op: CastOp,
    inner: CastOp,
    inner_flags: InstFlags,
    source: Value,
    between: TypeId,
    ty: TypeId,
) -> Option<Rewrite> {
    let cast = |op, flags, from| Some(Rewrite::Op(Op::Cast(op, flags, from)));
    let none = InstFlags::empty();
    match (op, inner) {
        (CastOp::ZExt, CastOp::ZExt) => cast(CastOp::ZExt, inner_flags & InstFlags::NNEG, source),
        (CastOp::SExt, CastOp::ZExt) => cast(CastOp::ZExt, inner_flags & InstFlags::NNEG, source),
        (CastOp::SExt, CastOp::SExt) | (CastOp::Trunc, CastOp::Trunc) | (CastOp::Bitcast, CastOp::Bitcast) => {
            cast(op, none, source)
        }
        (CastOp::Trunc, CastOp::ZExt | CastOp::SExt) => {
            // The type is another than the source's: that case is the source itself.
            let (have, want) = (b.bits(b.ty(source)), b.bits(ty));
            if want < have {
                cast(CastOp::Trunc, none, source)
            } else {
                cast(inner, inner_flags & InstFlags::NNEG, source)
            }
        }
        (CastOp::ZExt, CastOp::Trunc) if b.ty(source) == ty => {
            let keep = b.cx.int(ty, mask(b.bits(between)));
            Some(Rewrite::Op(Op::Binary(BinaryOp::And, none, [source, keep])))
        }
        (CastOp::UiToFp, CastOp::ZExt) => cast(CastOp::UiToFp, none, source),
        (CastOp::SiToFp, CastOp::SExt) => cast(CastOp::SiToFp, none, source),
        (CastOp::SiToFp, CastOp::ZExt) => cast(CastOp::UiToFp, none, source),
        (CastOp::FpExt, CastOp::FpExt) => cast(CastOp::FpExt, none, source),
        _ => None,
    }
}

/// The low bits of sums, products and logic depend on the low bits of the operands only.
fn narrowed(b: &mut Builder<'_, '_>, op: BinaryOp, [x, y]: [Value; 2], ty: TypeId) -> Option<Rewrite> {
    use BinaryOp::{Add, And, Mul, Or, Sub, Xor};
    let narrow = |b: &Builder<'_, '_>, value: Value| match b.op(value) {
        Some(Op::Cast(CastOp::ZExt | CastOp::SExt, _, from)) => b.bits(b.ty(*from)) == b.bits(ty),
        _ => value.constant().is_some() && b.int_of(value).is_some(),
    };
    let scalar = b.cx.module.types.int_bits(ty).is_some_and(|bits| bits >= 16);
    let cheap = narrow(b, x) && narrow(b, y);
    if !scalar || !cheap || !matches!(op, Add | Sub | Mul | And | Or | Xor) {
        return None;
    }
    let (x, y) = (b.cast(CastOp::Trunc, x, ty), b.cast(CastOp::Trunc, y, ty));
    Some(Rewrite::Op(Op::Binary(op, InstFlags::empty(), [x, y])))
}
