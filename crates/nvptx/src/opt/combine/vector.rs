//! Vectors and structures that are built and taken apart again.

use smallvec::SmallVec;

use crate::analysis::View;
use crate::ir::{ConstId, Constant, Op, TypeId, Value};
use crate::opt::Context;

/// Element `index` of a constant vector, array or structure.
pub(super) fn element(cx: &mut Context<'_>, id: ConstId, index: u64) -> Option<ConstId> {
    let ty = cx.module.types.element(cx.module.constants.ty(id), index);
    match &cx.module.constants[id] {
        Constant::Aggregate(_, items) => items.get(usize::try_from(index).ok()?).copied(),
        Constant::Bytes(_, bytes) => {
            let byte = *bytes.get(usize::try_from(index).ok()?)?;
            Some(cx.module.constants.int(TypeId::I8, 8, byte.into()))
        }
        Constant::Zero(_) => cx.zero(ty?).constant(),
        Constant::Undef(_) => Some(cx.module.constants.intern(Constant::Undef(ty?))),
        Constant::Poison(_) => cx.poison(ty?).constant(),
        _ => None,
    }
}

/// A constant vector or structure of these elements.
pub(super) fn constant(cx: &mut Context<'_>, ty: TypeId, items: Vec<ConstId>) -> Value {
    let constants = &mut cx.module.constants;
    let constant = if items.iter().all(|&item| constants.is_zero(item)) {
        Constant::Zero(ty)
    } else if items.iter().all(|&item| matches!(constants[item], Constant::Poison(_))) {
        Constant::Poison(ty)
    } else {
        Constant::Aggregate(ty, items.into())
    };
    constants.intern(constant).into()
}

/// The value at `path` of an aggregate: what was inserted there, or what lies in a constant.
pub(super) fn extract_value(cx: &mut Context<'_>, body: &crate::ir::Body, from: Value, path: &[u32]) -> Option<Value> {
    let mut at = from;
    loop {
        if let Value::Const(mut id) = at {
            for &index in path {
                id = element(cx, id, index.into())?;
            }
            return Some(id.into());
        }
        let Op::InsertValue([whole, part], into) = body.def_op(at)? else { return None };
        if into.as_slice() == path {
            return Some(*part);
        }
        if path.starts_with(into) {
            return extract_value(cx, body, *part, &path[into.len()..]).filter(|_| path.len() > into.len());
        }
        // Only a part of what is asked for has been inserted.
        if into.starts_with(path) {
            return None;
        }
        at = *whole;
    }
}

/// Element `index` of a vector: what was inserted there, shuffled there, or lies in a constant.
pub(super) fn extract_element(cx: &mut Context<'_>, body: &crate::ir::Body, from: Value, index: u64) -> Option<Value> {
    let (mut at, mut index) = (from, index);
    for _ in 0..64 {
        if let Value::Const(id) = at {
            return element(cx, id, index).map(Value::Const);
        }
        match body.def_op(at)? {
            Op::InsertElement([whole, part, place]) => match cx.view(body).int(*place)? {
                place if place == u128::from(index) => return Some(*part),
                _ => at = *whole,
            },
            Op::Shuffle([a, b], mask) => {
                let (_, len) = cx.module.types.as_vector(cx.ty(body, *a))?;
                let source = u64::try_from(*mask.get(usize::try_from(index).ok()?)?).ok()?;
                (at, index) = if source < u64::from(len) { (*a, source) } else { (*b, source - u64::from(len)) };
            }
            _ => return None,
        }
    }
    None
}

/// The operand that a shuffle only hands on.
pub(super) fn shuffle(view: View<'_>, [a, b]: [Value; 2], mask: &[i32]) -> Option<Value> {
    let (_, len) = view.module.types.as_vector(view.ty(a))?;
    let identity = |offset: u32| {
        mask.len() == len as usize
            && mask.iter().zip(offset..).all(|(&source, index)| source < 0 || source as u32 == index)
    };
    if identity(0) {
        Some(a)
    } else if identity(len) {
        Some(b)
    } else {
        None
    }
}

/// True for a path that leads to nothing that was inserted: `insertvalue` of what was extracted from there.
pub(super) fn reinserts(view: View<'_>, whole: Value, part: Value, path: &SmallVec<[u32; 2]>) -> bool {
    matches!(view.op(part), Some(Op::ExtractValue(from, own)) if *from == whole && own == path)
}
