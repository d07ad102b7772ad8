//! Operations whose operands are all constants.

use rustc_apfloat::Round;

use super::fold_int::{Folded, mask, sext};
use super::{fold_float, fold_int};
use crate::analysis::Intrinsic;
use crate::analysis::intrinsics::called;
use crate::ir::{Body, CastOp, ConstId, Constant, InstFlags, Op, Type, TypeId, Value};
use crate::opt::Context;

/// The constant that an operation of type `ty` on constants gives.
pub(super) fn fold(cx: &mut Context<'_>, body: &Body, op: &Op, ty: TypeId) -> Option<Value> {
    let constant = |value: &Value| value.constant();
    match op {
        Op::Binary(op, flags, [a, b]) => {
            let (a, b) = (constant(a)?, constant(b)?);
            each(cx, ty, &[a, b], &mut |cx, ty, items| binary(cx, *op, *flags, ty, items[0], items[1]))
        }
        Op::ICmp(predicate, _, [a, b]) => {
            let (a, b) = (constant(a)?, constant(b)?);
            each(cx, ty, &[a, b], &mut |cx, _, items| {
                let bits = int_bits(cx, items[0])?;
                let (a, b) = (cx.module.constants.as_int(items[0])?, cx.module.constants.as_int(items[1])?);
                Some(cx.module.constants.bool(predicate.holds(a, b, bits)))
            })
        }
        Op::FCmp(predicate, _, [a, b]) => {
            let (a, b) = (constant(a)?, constant(b)?);
            each(cx, ty, &[a, b], &mut |cx, _, items| {
                let ((ty, a), (_, b)) = (float(cx, items[0])?, float(cx, items[1])?);
                Some(cx.module.constants.bool(fold_float::compare(*predicate, ty, a, b)?))
            })
        }
        Op::FNeg(_, a) => {
            let a = constant(a)?;
            each(cx, ty, &[a], &mut |cx, ty, items| {
                let (_, bits) = float(cx, items[0])?;
                let sign = 1u64 << (cx.module.layout.bits(&cx.module.types, ty) - 1);
                Some(cx.module.constants.intern(Constant::Float(ty, bits ^ sign)))
            })
        }
        Op::Cast(op, flags, a) => cast(cx, *op, *flags, constant(a)?, ty),
        Op::Select(_, [condition, a, b]) => match cx.module.constants[constant(condition)?] {
            Constant::Int(_, value) => Some(if value != 0 { *a } else { *b }),
            _ => None,
        },
        Op::Call(call) => {
            let intrinsic = called(cx.view(body), call)?;
            let args: Option<Vec<ConstId>> = call.args.iter().map(constant).collect();
            intrinsic_call(cx, intrinsic, &args?, ty)
        }
        _ => None,
    }
}

/// A fold of scalars: the type of the result, the operands.
type Scalar<'a> = &'a mut dyn FnMut(&mut Context<'_>, TypeId, &[ConstId]) -> Option<ConstId>;

/// Folds a scalar operation, or one on vectors element by element.
fn each(cx: &mut Context<'_>, ty: TypeId, args: &[ConstId], scalar: Scalar<'_>) -> Option<Value> {
    if args.iter().any(|&arg| matches!(cx.module.constants[arg], Constant::Poison(_))) {
        return Some(cx.poison(ty));
    }
    let Some((element, len)) = cx.module.types.as_vector(ty) else {
        return scalar(cx, ty, args).map(Value::Const);
    };
    let mut items = Vec::with_capacity(len as usize);
    for index in 0..u64::from(len) {
        let parts: Option<Vec<ConstId>> = args.iter().map(|&arg| super::vector::element(cx, arg, index)).collect();
        items.push(scalar(cx, element, &parts?)?);
    }
    Some(super::vector::constant(cx, ty, items))
}

fn int_bits(cx: &Context<'_>, id: ConstId) -> Option<u32> {
    match cx.module.types[cx.module.constants.ty(id)] {
        Type::Int(bits @ 1..=128) => Some(bits),
        Type::Pointer(space) => Some(cx.module.layout.pointer_bits(space)),
        _ => None,
    }
}

/// Type and bits of a floating-point constant.
fn float(cx: &Context<'_>, id: ConstId) -> Option<(TypeId, u64)> {
    match cx.module.constants[id] {
        Constant::Float(ty, bits) => Some((ty, bits)),
        _ => None,
    }
}

fn binary(
    cx: &mut Context<'_>,
    op: crate::ir::BinaryOp,
    flags: InstFlags,
    ty: TypeId,
    a: ConstId,
    b: ConstId,
) -> Option<ConstId> {
    if op.is_float() {
        let ((_, a), (_, b)) = (float(cx, a)?, float(cx, b)?);
        let bits = fold_float::binary(op, ty, a, b)?;
        return Some(cx.module.constants.intern(Constant::Float(ty, bits)));
    }
    let bits = int_bits(cx, a)?;
    let (a, b) = (cx.module.constants.as_int(a)?, cx.module.constants.as_int(b)?);
    Some(match fold_int::binary(op, flags, a, b, bits)? {
        Folded::Value(value) => cx.module.constants.int(ty, bits, value),
        Folded::Poison => cx.module.constants.intern(Constant::Poison(ty)),
    })
}

fn cast(cx: &mut Context<'_>, op: CastOp, flags: InstFlags, from: ConstId, ty: TypeId) -> Option<Value> {
    match cx.module.constants[from] {
        Constant::Poison(_) => return Some(cx.poison(ty)),
        Constant::Undef(_) if matches!(op, CastOp::Trunc | CastOp::Bitcast) => {
            return Some(cx.module.constants.intern(Constant::Undef(ty)).into());
        }
        _ => {}
    }
    if op == CastOp::Bitcast {
        return bitcast(cx, from, ty);
    }
    each(cx, ty, &[from], &mut |cx, ty, items| {
        let from = items[0];
        if let CastOp::FpTrunc | CastOp::FpExt = op {
            let (source, bits) = float(cx, from)?;
            let bits = fold_float::convert(source, ty, bits)?;
            return Some(cx.module.constants.intern(Constant::Float(ty, bits)));
        }
        if let CastOp::FpToUi | CastOp::FpToSi = op {
            let (source, bits) = float(cx, from)?;
            let width = cx.module.types.int_bits(ty).filter(|width| (1..=128).contains(width))?;
            let value = fold_float::to_int(source, bits, width, op == CastOp::FpToSi)?;
            return Some(cx.module.constants.int(ty, width, value));
        }
        let bits = int_bits(cx, from)?;
        let value = cx.module.constants.as_int(from)?;
        match op {
            CastOp::UiToFp | CastOp::SiToFp => {
                let bits = fold_float::from_int(ty, value, bits, op == CastOp::SiToFp)?;
                Some(cx.module.constants.intern(Constant::Float(ty, bits)))
            }
            CastOp::Trunc | CastOp::ZExt | CastOp::SExt => {
                let width = cx.module.types.int_bits(ty).filter(|width| (1..=128).contains(width))?;
                if op == CastOp::ZExt && flags.contains(InstFlags::NNEG) && value >> (bits - 1) != 0 {
                    return Some(cx.module.constants.intern(Constant::Poison(ty)));
                }
                let value = if op == CastOp::SExt { sext(value, bits) as u128 } else { value };
                Some(cx.module.constants.int(ty, width, value))
            }
            CastOp::PtrToInt if value == 0 => {
                let width = cx.module.types.int_bits(ty)?;
                Some(cx.module.constants.int(ty, width, 0))
            }
            CastOp::IntToPtr if value == 0 => Some(cx.module.constants.intern(Constant::Null(ty))),
            _ => None,
        }
    })
}

/// The same bits as another type, of at most 128 bits.
fn bitcast(cx: &mut Context<'_>, from: ConstId, ty: TypeId) -> Option<Value> {
    let total = cx.module.layout.bits(&cx.module.types, ty);
    if total == 0 || total > 128 || matches!(cx.module.types[cx.module.types.scalar(ty)], Type::Pointer(_)) {
        return None;
    }
    let whole = bits_of(cx, from)?;
    let make = |cx: &mut Context<'_>, ty: TypeId, bits: u128| match cx.module.types[ty] {
        Type::Int(width) => Some(cx.module.constants.int(ty, width, bits)),
        Type::Half | Type::BFloat | Type::Float | Type::Double => {
            Some(cx.module.constants.intern(Constant::Float(ty, bits as u64)))
        }
        _ => None,
    };
    let Some((element, len)) = cx.module.types.as_vector(ty) else { return make(cx, ty, whole).map(Value::Const) };
    let width = cx.module.layout.bits(&cx.module.types, element) as u32;
    let items: Option<Vec<ConstId>> =
        (0..len).map(|index| make(cx, element, (whole >> (index * width)) & mask(width))).collect();
    Some(super::vector::constant(cx, ty, items?))
}

/// The bits of a constant, element 0 in the lowest.
fn bits_of(cx: &mut Context<'_>, id: ConstId) -> Option<u128> {
    match cx.module.constants[id] {
        Constant::Int(_, value) => Some(value),
        Constant::Float(_, bits) => Some(bits.into()),
        _ => {
            let (element, len) = cx.module.types.as_vector(cx.module.constants.ty(id))?;
            let width = cx.module.layout.bits(&cx.module.types, element) as u32;
            let mut whole = 0;
            for index in (0..len).rev() {
                let item = super::vector::element(cx, id, index.into())?;
                whole = (whole << width) | bits_of(cx, item)?;
            }
            Some(whole)
        }
    }
}

fn intrinsic_call(cx: &mut Context<'_>, intrinsic: Intrinsic, args: &[ConstId], ty: TypeId) -> Option<Value> {
    if let Some((_, a)) = args.first().and_then(|&arg| float(cx, arg)) {
        return float_intrinsic(cx, intrinsic, args, a, ty);
    }
    // Vectors of flags beside vectors of values are left alone.
    if args.iter().any(|&arg| int_bits(cx, arg).is_none()) || cx.module.types.as_vector(ty).is_some() {
        return None;
    }
    let bits = int_bits(cx, *args.first()?)?;
    let get = |index: usize| args.get(index).and_then(|&arg| cx.module.constants.as_int(arg));
    let a = get(0)?;
    let (x, low) = (sext(a, bits), u128::from(bits));
    let sign = 1u128 << (bits - 1);
    let value = match intrinsic {
        Intrinsic::Abs if a != sign => x.unsigned_abs(),
        Intrinsic::SMin => {
            if x <= sext(get(1)?, bits) {
                a
            } else {
                get(1)?
            }
        }
        Intrinsic::SMax => {
            if x >= sext(get(1)?, bits) {
                a
            } else {
                get(1)?
            }
        }
        Intrinsic::UMin => a.min(get(1)?),
        Intrinsic::UMax => a.max(get(1)?),
        Intrinsic::Ctpop => a.count_ones().into(),
        Intrinsic::Ctlz if a != 0 => u128::from(a.leading_zeros()) - (128 - low),
        Intrinsic::Cttz if a != 0 => a.trailing_zeros().into(),
        Intrinsic::Ctlz | Intrinsic::Cttz if get(1)? == 0 => low,
        Intrinsic::BSwap if bits.is_multiple_of(8) => a.swap_bytes() >> (128 - bits),
        Intrinsic::BitReverse => a.reverse_bits() >> (128 - bits),
        Intrinsic::FShl | Intrinsic::FShr if bits <= 64 => {
            let by = get(2)? % low;
            let pair = (a << bits) | get(1)?;
            if intrinsic == Intrinsic::FShl { (pair << by) >> bits } else { pair >> by }
        }
        Intrinsic::Expect | Intrinsic::SsaCopy => a,
        _ => return None,
    };
    Some(cx.int(ty, value))
}

fn float_intrinsic(cx: &mut Context<'_>, intrinsic: Intrinsic, args: &[ConstId], a: u64, ty: TypeId) -> Option<Value> {
    let get = |index: usize| args.get(index).and_then(|&arg| float(cx, arg)).map(|(_, bits)| bits);
    let sign = 1u64 << (cx.module.layout.bits(&cx.module.types, ty).clamp(1, 64) - 1);
    let bits = match intrinsic {
        Intrinsic::FAbs => a & !sign,
        Intrinsic::CopySign => (a & !sign) | (get(1)? & sign),
        Intrinsic::Floor => fold_float::round(ty, a, Round::TowardNegative)?,
        Intrinsic::Ceil => fold_float::round(ty, a, Round::TowardPositive)?,
        Intrinsic::Trunc => fold_float::round(ty, a, Round::TowardZero)?,
        Intrinsic::Rint | Intrinsic::NearbyInt | Intrinsic::RoundEven => {
            fold_float::round(ty, a, Round::NearestTiesToEven)?
        }
        Intrinsic::Round => fold_float::round(ty, a, Round::NearestTiesToAway)?,
        Intrinsic::Sqrt if ty == TypeId::DOUBLE => {
            let root = f64::from_bits(a).sqrt();
            if root.is_nan() { return None } else { root.to_bits() }
        }
        Intrinsic::Sqrt if ty == TypeId::FLOAT && f32::from_bits(a as u32).is_normal() => {
            let root = f32::from_bits(a as u32).sqrt();
            if root.is_nan() { return None } else { root.to_bits().into() }
        }
        Intrinsic::Fma => fold_float::fma(ty, a, get(1)?, get(2)?)?,
        Intrinsic::MinNum | Intrinsic::Minimum => fold_float::extremum(ty, a, get(1)?, false)?,
        Intrinsic::MaxNum | Intrinsic::Maximum => fold_float::extremum(ty, a, get(1)?, true)?,
        _ => return None,
    };
    Some(cx.module.constants.intern(Constant::Float(ty, bits)).into())
}
