//! Rules for addresses, and for intrinsics that copy memory or hand on their argument.

use super::build::Builder;
use super::rewrite::Rewrite;
use crate::analysis::Intrinsic;
use crate::analysis::alias::constant_offset;
use crate::analysis::known_bits::{alignment, known_bits};
use crate::ir::{Call, GepFlags, Op, TypeId, Value};

/// Rewrites one `getelementptr`: constant offsets are bytes, and follow each other as one.
pub(super) fn offset(
    b: &mut Builder<'_, '_>,
    source: TypeId,
    flags: GepFlags,
    base: Value,
    indices: &[Value],
    ty: TypeId,
) -> Option<Rewrite> {
    if b.ty(base) != ty || b.cx.module.types.as_vector(ty).is_some() {
        return None;
    }
    let view = b.view();
    let bytes = constant_offset(view, source, indices.iter().map(|&index| view.signed(index)))?;
    if let Some(Op::Gep { source, flags: inner, base, indices }) = b.op(base).cloned() {
        let view = b.view();
        if let Some(before) = constant_offset(view, source, indices.iter().map(|&index| view.signed(index))) {
            let flags = flags & inner & GepFlags::INBOUNDS;
            let bytes = before.checked_add(bytes)?;
            return Some(Rewrite::Op(at(b, base, bytes, flags)));
        }
    }
    (source != TypeId::I8).then(|| Rewrite::Op(at(b, base, bytes, flags)))
}

fn at(b: &mut Builder<'_, '_>, base: Value, bytes: i64, flags: GepFlags) -> Op {
    b.cx.bytes_behind(base, bytes, flags)
}

/// Rewrites the call of an intrinsic.
pub(super) fn call(b: &mut Builder<'_, '_>, call: &Call, intrinsic: Intrinsic) -> Option<Rewrite> {
    match (intrinsic, call.args.as_slice()) {
        (Intrinsic::LaunderInvariant | Intrinsic::StripInvariant, [value, ..]) => Some(Rewrite::Value(*value)),
        (Intrinsic::Abs, [value, ..]) if known_bits(b.view(), *value).is_non_negative() => Some(Rewrite::Value(*value)),
        (Intrinsic::SMin | Intrinsic::SMax | Intrinsic::UMin | Intrinsic::UMax, [x, y]) if x == y => {
            Some(Rewrite::Value(*x))
        }
        // Whether something is constant or how large an object is has been asked of optimisers before this one.
        (Intrinsic::IsConstant, [value]) => {
            let known = value.constant().is_some();
            Some(Rewrite::Value(b.cx.module.constants.bool(known).into()))
        }
        (Intrinsic::ObjectSize, [_, smallest, ..]) => {
            let smallest = b.view().int(*smallest)? != 0;
            let ty = b.view().result_type(call);
            Some(Rewrite::Value(b.cx.int(ty, if smallest { 0 } else { u128::MAX })))
        }
        (Intrinsic::MemCpy | Intrinsic::MemMove | Intrinsic::MemCpyInline, [to, from, length, volatile]) => {
            copy(b, call, *to, *from, *length, *volatile)
        }
        _ => None,
    }
}

/// A copy of a few bytes that are aligned to their number is a load and a store.
fn copy(
    b: &mut Builder<'_, '_>,
    call: &Call,
    to: Value,
    from: Value,
    length: Value,
    volatile: Value,
) -> Option<Rewrite> {
    let length = b.int_of(length)?;
    if length == 0 {
        return Some(Rewrite::Gone);
    }
    let ty = match length {
        1 => TypeId::I8,
        2 => TypeId::I16,
        4 => TypeId::I32,
        8 => TypeId::I64,
        _ => return None,
    };
    let align = |b: &Builder<'_, '_>, index: u32, pointer: Value| {
        let own = call.arg_attributes.iter().find(|(arg, _)| *arg == index).map_or(1, |(_, own)| own.align);
        u64::from(own).max(alignment(b.view(), pointer)) as u32
    };
    let (target, source) = (align(b, 0, to), align(b, 1, from));
    if b.int_of(volatile) != Some(0) || u128::from(target.min(source)) < length {
        return None;
    }
    let value = b.push(Op::load(from, source), ty);
    let inst = b.cx.make(b.body, Op::store(value, to, target), TypeId::VOID, b.like);
    b.out.push(inst);
    Some(Rewrite::Gone)
}
