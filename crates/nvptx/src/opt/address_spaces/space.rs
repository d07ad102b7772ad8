//! What is known of the space that a pointer points into.

use cranelift_entity::SecondaryMap;

use crate::analysis::View;
use crate::ir::{AddressSpace, CastOp, ConstExpr, ConstId, Constant, Value, ValueId};
use crate::opt::Context;

/// What is known of the space that a generic pointer points into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Space {
    /// No value has been seen yet.
    Unseen,
    /// Always this one.
    Known(AddressSpace),
    /// Several, or not known.
    Generic,
}

impl Space {
    /// What is known where either may come.
    pub(super) fn join(self, other: Space) -> Space {
        match (self, other) {
            (Space::Unseen, known) | (known, Space::Unseen) => known,
            (a, b) if a == b => a,
            _ => Space::Generic,
        }
    }
}

/// The space of any pointer.
pub(super) fn space_of(view: View<'_>, spaces: &SecondaryMap<ValueId, Space>, value: Value) -> Space {
    match view.module.types.address_space(view.ty(value)) {
        Some(AddressSpace::GENERIC) => {}
        Some(space) => return Space::Known(space),
        None => return Space::Generic,
    }
    match value {
        Value::Local(id) => spaces[id],
        Value::Const(id) => space_of_constant(view, id),
    }
}

fn space_of_constant(view: View<'_>, id: ConstId) -> Space {
    match &view.module.constants[id] {
        Constant::Undef(_) | Constant::Poison(_) => Space::Unseen,
        // Only in global memory is the null pointer the same number as the generic one.
        Constant::Null(_) => Space::Known(AddressSpace::GLOBAL),
        Constant::Expr(_, expr) => match &**expr {
            ConstExpr::Gep { base, .. } => space_of_constant(view, *base),
            ConstExpr::Cast(CastOp::AddrSpaceCast, from) => {
                match view.module.types.address_space(view.module.constants.ty(*from)) {
                    Some(AddressSpace::GENERIC) | None => Space::Generic,
                    Some(space) => Space::Known(space),
                }
            }
            _ => Space::Generic,
        },
        _ => Space::Generic,
    }
}

/// A constant pointer in the space that it has been cast from, if it is such a one.
pub(super) fn strip_constant(cx: &mut Context<'_>, id: ConstId, space: AddressSpace) -> Option<ConstId> {
    let ty = cx.pointer(space);
    let simple = match cx.module.constants[id].clone() {
        Constant::Undef(_) => Constant::Undef(ty),
        Constant::Poison(_) => Constant::Poison(ty),
        Constant::Null(_) => Constant::Null(ty),
        Constant::Expr(_, expr) => match *expr {
            ConstExpr::Cast(CastOp::AddrSpaceCast, from) => return Some(from),
            ConstExpr::Gep { source, flags, base, indices } => {
                let base = strip_constant(cx, base, space)?;
                Constant::Expr(ty, Box::new(ConstExpr::Gep { source, flags, base, indices }))
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(cx.module.constants.intern(simple))
}
