//! What passes ask of frame slots.

use crate::analysis::View;
use crate::analysis::intrinsics::{Intrinsic, called};
use crate::ir::{Call, InstId, Op, TypeId};

/// The type of a slot that an instruction makes, if it is one element.
pub(super) fn single_slot(view: View<'_>, inst: InstId) -> Option<TypeId> {
    match view.body[inst].op {
        Op::Alloca { element, count, .. } if view.int(count) == Some(1) => Some(element),
        _ => None,
    }
}

/// True for the markers of a slot's lifetime.
pub(super) fn is_lifetime(view: View<'_>, call: &Call) -> bool {
    matches!(called(view, call), Some(Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd))
}
