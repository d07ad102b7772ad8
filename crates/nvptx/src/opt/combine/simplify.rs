//! Operations that give a value that is there already.

use super::vector;
use crate::analysis::known_bits::known_bits;
use crate::analysis::{KnownBits, View};
use crate::ir::{BinaryOp, Body, CastOp, Constant, InstFlags, IntPredicate, Op, TypeId, Value};
use crate::opt::Context;

/// The value that an operation of type `ty` gives, without a new instruction.
pub(super) fn simplify(cx: &mut Context<'_>, body: &Body, op: &Op, ty: TypeId) -> Option<Value> {
    if let Some(folded) = super::fold::fold(cx, body, op, ty) {
        return Some(folded);
    }
    match op {
        Op::Binary(op, flags, args) => binary(cx, body, *op, *flags, *args, ty),
        Op::ICmp(predicate, _, args) => compare(cx, body, *predicate, *args, ty),
        Op::Cast(op, _, from) => cast(cx, body, *op, *from, ty),
        Op::Select(_, args) => select(cx.view(body), *args),
        Op::Freeze(from) => freeze(cx.view(body), *from),
        Op::ExtractValue(from, path) => vector::extract_value(cx, body, *from, path),
        Op::InsertValue([whole, part], path) => vector::reinserts(cx.view(body), *whole, *part, path).then_some(*whole),
        Op::ExtractElement([from, index]) => {
            let index = cx.view(body).int(*index)?;
            vector::extract_element(cx, body, *from, u64::try_from(index).ok()?)
        }
        Op::InsertElement([whole, part, index]) => {
            // What was taken from there goes back there.
            matches!(body.def_op(*part), Some(Op::ExtractElement(from)) if from == &[*whole, *index]).then_some(*whole)
        }
        Op::Shuffle(pair, mask) => vector::shuffle(cx.view(body), *pair, mask),
        Op::Gep { base, indices, .. } => {
            let view = cx.view(body);
            let nothing = indices.iter().all(|&index| view.splat_int(index) == Some(0));
            (nothing && view.ty(*base) == ty).then_some(*base)
        }
        Op::Phi(incoming) => {
            // Constants and parameters are there everywhere.
            let (_, first) = *incoming.first()?;
            let everywhere = first.local().is_none_or(|_| cx.view(body).param(first).is_some());
            (everywhere && incoming.iter().all(|(_, value)| *value == first)).then_some(first)
        }
        _ => None,
    }
}

fn is_float_bits(view: View<'_>, value: Value, expected: f64) -> bool {
    let bits = |id| match view.module.constants[id] {
        Constant::Float(TypeId::HALF, bits) => Some(half::f16::from_bits(bits as u16).to_f64()),
        Constant::Float(TypeId::BFLOAT, bits) => Some(half::bf16::from_bits(bits as u16).to_f64()),
        Constant::Float(TypeId::FLOAT, bits) => Some(f64::from(f32::from_bits(bits as u32))),
        Constant::Float(TypeId::DOUBLE, bits) => Some(f64::from_bits(bits)),
        _ => None,
    };
    let is = |id| bits(id).is_some_and(|value: f64| value.to_bits() == expected.to_bits());
    match view.constant(value) {
        Some(Constant::Aggregate(_, items)) => items.iter().all(|&item| is(item)),
        Some(Constant::Zero(ty)) => {
            expected.to_bits() == 0 && view.module.types.is_float(view.module.types.scalar(*ty))
        }
        Some(_) => value.constant().is_some_and(is),
        None => false,
    }
}

fn binary(
    cx: &mut Context<'_>,
    body: &Body,
    op: BinaryOp,
    flags: InstFlags,
    [a, b]: [Value; 2],
    ty: TypeId,
) -> Option<Value> {
    let view = cx.view(body);
    if op.is_float() {
        let is = |value, expected| is_float_bits(view, value, expected);
        let nsz = flags.contains(InstFlags::NO_SIGNED_ZEROS);
        let keeps = match op {
            BinaryOp::FAdd => is(b, -0.0) || nsz && is(b, 0.0),
            BinaryOp::FSub => is(b, 0.0) || nsz && is(b, -0.0),
            BinaryOp::FMul | BinaryOp::FDiv => is(b, 1.0),
            _ => false,
        };
        let zero = op == BinaryOp::FMul && nsz && flags.contains(InstFlags::NO_NANS) && is(b, 0.0);
        return if keeps {
            Some(a)
        } else if zero {
            Some(b)
        } else {
            None
        };
    }
    let constant = view.splat_int(b);
    let bits = view.scalar_bits(ty)?;
    let ones = u128::MAX >> (128 - bits);
    match (op, constant) {
        (
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::Shl
            | BinaryOp::LShr
            | BinaryOp::AShr,
            Some(0),
        )
        | (BinaryOp::Mul | BinaryOp::UDiv | BinaryOp::SDiv, Some(1)) => return Some(a),
        (BinaryOp::Mul | BinaryOp::And, Some(0)) => return Some(b),
        (BinaryOp::URem | BinaryOp::SRem, Some(1)) => return Some(cx.zero(ty)),
        (BinaryOp::And, Some(all)) if all == ones => return Some(a),
        (BinaryOp::Or, Some(all)) if all == ones => return Some(b),
        _ => {}
    }
    if a == b {
        match op {
            BinaryOp::Sub | BinaryOp::Xor => return Some(cx.zero(ty)),
            BinaryOp::And | BinaryOp::Or => return Some(a),
            _ => {}
        }
    }
    match (op, view.op(a), view.op(b)) {
        // (x + y) - y, (x - y) + y
        (BinaryOp::Sub, Some(Op::Binary(BinaryOp::Add, _, [x, y])), _) if *y == b => return Some(*x),
        (BinaryOp::Sub, Some(Op::Binary(BinaryOp::Add, _, [x, y])), _) if *x == b => return Some(*y),
        (BinaryOp::Add, Some(Op::Binary(BinaryOp::Sub, _, [x, y])), _) if *y == b => return Some(*x),
        (BinaryOp::Add, _, Some(Op::Binary(BinaryOp::Sub, _, [x, y]))) if *y == a => return Some(*x),
        (BinaryOp::Xor, Some(Op::Binary(BinaryOp::Xor, _, [x, y])), _) if *y == b => return Some(*x),
        _ => {}
    }
    by_known_bits(cx, body, op, [a, b], ty)
}

/// What the bits of the operands decide.
fn by_known_bits(cx: &mut Context<'_>, body: &Body, op: BinaryOp, [a, b]: [Value; 2], ty: TypeId) -> Option<Value> {
    let view = cx.view(body);
    match (op, view.splat_int(b)) {
        (BinaryOp::And, Some(mask)) => {
            let known = known_bits(view, a);
            if !known.zero & !mask & known.mask() == 0 {
                return Some(a);
            }
            if !known.zero & mask & known.mask() == 0 {
                return Some(cx.zero(ty));
            }
            None
        }
        (BinaryOp::Or, Some(mask)) => {
            let known = known_bits(view, a);
            (known.one & mask == mask).then_some(a)
        }
        (BinaryOp::LShr | BinaryOp::UDiv | BinaryOp::URem, Some(amount)) => {
            let known = known_bits(view, a);
            match op {
                BinaryOp::URem if known.max() < amount => Some(a),
                BinaryOp::UDiv if known.max() < amount => Some(cx.zero(ty)),
                BinaryOp::LShr if amount < 128 && known.max() >> amount == 0 => Some(cx.zero(ty)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn compare(
    cx: &mut Context<'_>,
    body: &Body,
    predicate: IntPredicate,
    [a, b]: [Value; 2],
    ty: TypeId,
) -> Option<Value> {
    let answer = |cx: &mut Context<'_>, value: bool| Some(cx.int(ty, if value { 1 } else { 0 }));
    if a == b {
        use IntPredicate::{Eq, Sge, Sle, Uge, Ule};
        return answer(cx, matches!(predicate, Eq | Sge | Sle | Uge | Ule));
    }
    let view = cx.view(body);
    // A comparison of flags with true or false is the flag.
    if view.ty(a) == TypeId::I1 {
        match (predicate, view.int(b)) {
            (IntPredicate::Ne, Some(0)) | (IntPredicate::Eq, Some(1)) => return Some(a),
            _ => {}
        }
    }
    let bits = view.scalar_bits(view.ty(a))?;
    // Only where one side is constant is it worth asking.
    view.splat_int(b)?;
    let (a, b) = (known_bits(view, a), known_bits(view, b));
    if a.bits != bits || a.zero | a.one == 0 {
        return None;
    }
    decide(predicate, &a, &b).and_then(|value| answer(cx, value))
}

/// The answer of a comparison, when the known bits decide it.
fn decide(predicate: IntPredicate, a: &KnownBits, b: &KnownBits) -> Option<bool> {
    use IntPredicate::*;
    let differ = (a.one & b.zero) | (a.zero & b.one) != 0;
    let below = |a: (i128, i128), b: (i128, i128)| {
        if a.1 < b.0 {
            Some(true)
        } else if a.0 >= b.1 {
            Some(false)
        } else {
            None
        }
    };
    let (ua, ub) = (unsigned(a)?, unsigned(b)?);
    let (sa, sb) = (signed(a), signed(b));
    match predicate {
        Eq => differ.then_some(false),
        Ne => differ.then_some(true),
        Ult => below(ua, ub),
        Uge => below(ua, ub).map(|value| !value),
        Ugt => below(ub, ua),
        Ule => below(ub, ua).map(|value| !value),
        Slt => below(sa, sb),
        Sge => below(sa, sb).map(|value| !value),
        Sgt => below(sb, sa),
        Sle => below(sb, sa).map(|value| !value),
    }
}

/// Smallest and largest value without sign; `None` beyond 127 bits.
fn unsigned(known: &KnownBits) -> Option<(i128, i128)> {
    (known.bits < 128).then(|| (known.min() as i128, known.max() as i128))
}

/// Smallest and largest value with sign.
fn signed(known: &KnownBits) -> (i128, i128) {
    let sign = 1u128 << (known.bits - 1);
    let extend = |value: u128| super::fold_int::sext(value, known.bits);
    let low = if known.is_non_negative() { known.min() } else { known.min() | sign };
    let high = if known.is_negative() { known.max() } else { known.max() & !sign };
    (extend(low), extend(high))
}

fn cast(cx: &mut Context<'_>, body: &Body, op: CastOp, from: Value, ty: TypeId) -> Option<Value> {
    let view = cx.view(body);
    if view.ty(from) == ty {
        return Some(from);
    }
    let Some(Op::Cast(inner, _, source)) = view.op(from) else { return None };
    let back = match (op, inner) {
        (CastOp::Trunc, CastOp::ZExt | CastOp::SExt)
        | (CastOp::Bitcast, CastOp::Bitcast)
        | (CastOp::AddrSpaceCast, CastOp::AddrSpaceCast) => true,
        (CastOp::IntToPtr, CastOp::PtrToInt) | (CastOp::PtrToInt, CastOp::IntToPtr) => {
            view.scalar_bits(view.ty(from)) == view.scalar_bits(ty)
        }
        (CastOp::FpTrunc, CastOp::FpExt) => true,
        _ => false,
    };
    (back && view.ty(*source) == ty).then_some(*source)
}

fn select(view: View<'_>, [condition, a, b]: [Value; 3]) -> Option<Value> {
    if a == b {
        return Some(a);
    }
    if view.ty(a) == TypeId::I1 && view.int(a) == Some(1) && view.int(b) == Some(0) {
        return Some(condition);
    }
    // select (a == b), a, b is b; with != it is a.
    match view.op(condition) {
        Some(Op::ICmp(IntPredicate::Eq, _, pair)) if pair == &[a, b] || pair == &[b, a] => Some(b),
        Some(Op::ICmp(IntPredicate::Ne, _, pair)) if pair == &[a, b] || pair == &[b, a] => Some(a),
        _ => None,
    }
}

/// What is never poison need not be frozen.
fn freeze(view: View<'_>, from: Value) -> Option<Value> {
    let known = match from {
        Value::Const(id) => {
            matches!(view.module.constants[id], Constant::Int(..) | Constant::Float(..) | Constant::Null(_))
        }
        Value::Local(_) => matches!(view.op(from), Some(Op::Freeze(_))),
    };
    known.then_some(from)
}
