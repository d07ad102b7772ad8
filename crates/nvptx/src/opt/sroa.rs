//! Scalar replacement of aggregates: a frame slot whose parts are accessed at constant offsets becomes a slot for
//! each part, which [`super::mem2reg`] then makes a value.
//!
//! Parts are found by joining the accesses that overlap. Copies and fills of memory are taken apart along the parts.
//! Slots that are indexed by values, or whose address goes elsewhere, stay.

mod aggregates;
mod parts;
mod rewrite;
mod slots;

use slots::Slots;

use super::Context;
use crate::ir::Body;

/// Rounds of splitting: a copy between two slots is taken apart for one of them first.
const ROUNDS: usize = 3;
/// Runs the pass.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let mut changed = false;
    for _ in 0..ROUNDS {
        let mut slots = Slots::find(cx.view(body));
        if slots.list.is_empty() {
            break;
        }
        if aggregates::split(body, cx, &slots) {
            changed = true;
            slots = Slots::find(cx.view(body));
        }
        let plans = parts::plan(cx, body, &mut slots);
        if plans.iter().all(Option::is_none) {
            break;
        }
        rewrite::apply(body, cx, &slots, &plans);
        changed = true;
    }
    changed
}
