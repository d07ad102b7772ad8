//! Rules for floating-point arithmetic. All are exact: fusing is selection's business.

use super::build::Builder;
use super::fold_float::exact_inverse;
use super::rewrite::Rewrite;
use crate::ir::{BinaryOp, Constant, InstFlags, Op, TypeId, Value};

/// Rewrites one operation.
pub(super) fn rewrite(
    b: &mut Builder<'_, '_>,
    op: BinaryOp,
    flags: InstFlags,
    [x, y]: [Value; 2],
    ty: TypeId,
) -> Option<Rewrite> {
    if op.is_commutative() && x.constant().is_some() && y.local().is_some() {
        return Some(Rewrite::Op(Op::Binary(op, flags, [y, x])));
    }
    let negated = |value| match b.op(value) {
        Some(Op::FNeg(_, from)) => Some(*from),
        _ => None,
    };
    match (op, negated(x), negated(y)) {
        (BinaryOp::FAdd, _, Some(y)) => return Some(Rewrite::Op(Op::Binary(BinaryOp::FSub, flags, [x, y]))),
        (BinaryOp::FAdd, Some(x), _) => return Some(Rewrite::Op(Op::Binary(BinaryOp::FSub, flags, [y, x]))),
        (BinaryOp::FSub, _, Some(y)) => return Some(Rewrite::Op(Op::Binary(BinaryOp::FAdd, flags, [x, y]))),
        (BinaryOp::FMul | BinaryOp::FDiv, Some(x), Some(y)) => {
            return Some(Rewrite::Op(Op::Binary(op, flags, [x, y])));
        }
        _ => {}
    }
    let float = |value| match b.view().constant(value) {
        Some(&Constant::Float(ty, bits)) => Some((ty, bits)),
        _ => None,
    };
    let sign = 1u64 << (b.cx.module.layout.bits(&b.cx.module.types, b.cx.module.types.scalar(ty)).clamp(1, 64) - 1);
    match (op, float(x), float(y)) {
        // -0 - y, and 0 - y where signs of zeros do not matter
        (BinaryOp::FSub, Some((_, bits)), _)
            if bits == sign || bits == 0 && flags.contains(InstFlags::NO_SIGNED_ZEROS) =>
        {
            Some(Rewrite::Op(Op::FNeg(flags, y)))
        }
        (BinaryOp::FDiv, _, Some((of, bits))) => {
            let inverse = exact_inverse(of, bits)?;
            let inverse = b.cx.module.constants.intern(Constant::Float(of, inverse));
            Some(Rewrite::Op(Op::Binary(BinaryOp::FMul, flags, [x, inverse.into()])))
        }
        (BinaryOp::FMul, _, Some((of, bits))) if bits == minus_one(of)? => Some(Rewrite::Op(Op::FNeg(flags, x))),
        _ => None,
    }
}

fn minus_one(ty: TypeId) -> Option<u64> {
    match ty {
        TypeId::HALF => Some(0xBC00),
        TypeId::BFLOAT => Some(0xBF80),
        TypeId::FLOAT => Some(0xBF80_0000),
        TypeId::DOUBLE => Some(0xBFF0_0000_0000_0000),
        _ => None,
    }
}

/// Rewrites `fneg`.
pub(super) fn negation(b: &mut Builder<'_, '_>, from: Value) -> Option<Rewrite> {
    match b.op(from)? {
        Op::FNeg(_, inner) => Some(Rewrite::Value(*inner)),
        _ => None,
    }
}
