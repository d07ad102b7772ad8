//! Loop-invariant code motion: what a loop computes from values of outside is computed before it.
//!
//! Only what may run although the loop would not have reached it is moved; loads, when they stand in the header, where
//! they run whenever the loop does, and nothing in the loop may write what they read.

use cranelift_entity::EntitySet;

use super::Context;
use super::edit::{rename_incoming, retarget};
use crate::analysis::alias::{Private, Written, accessed};
use crate::analysis::effects::effects;
use crate::analysis::{Cfg, DomTree, Effects, Loop, Loops};
use crate::ir::{BlockId, Body, InstId, Op, Ordering, TypeId, ValueId};

/// A loop with more writes than this keeps its loads.
const MAX_WRITES: usize = 64;

/// Runs the pass, inner loops first.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let cfg = Cfg::of_reachable(body);
    let loops = Loops::new(&cfg, &DomTree::dominators(&cfg));
    if loops.is_empty() {
        return false;
    }
    let private = Private::new(cx.view(body));
    let mut changed = false;
    for id in loops.inner_first() {
        let moved = invariant(body, cx, &loops, id, &private);
        // A block before the loop that the forest does not know would hide what moves there from loops around.
        let Some(before) = loops[id].preheader.filter(|_| !moved.is_empty()).or_else(|| {
            (!moved.is_empty() && loops[id].parent.is_none()).then(|| make_preheader(body, cx, &cfg, &loops, id))?
        }) else {
            continue;
        };
        for &block in &loops[id].blocks {
            body[block].insts.retain(|inst| !moved.contains(inst));
        }
        let end = body[before].insts.len() - 1;
        body[before].insts.splice(end..end, moved);
        changed = true;
    }
    changed
}

/// The instructions that can move, in order.
fn invariant(body: &Body, cx: &Context<'_>, loops: &Loops, id: Loop, private: &Private) -> Vec<InstId> {
    let view = cx.view(body);
    let around = &loops[id];
    let mut inside: EntitySet<ValueId> = EntitySet::new();
    let mut writes = Vec::new();
    for &inst in around.blocks.iter().flat_map(|&block| &body[block].insts) {
        if let Some(result) = body[inst].result.expand() {
            inside.insert(result);
        }
        match Written::by(view, inst) {
            Written::Nothing => {}
            written => writes.push(written),
        }
    }
    let mut moved = Vec::new();
    for &block in &around.blocks {
        // As long as nothing before it may leave, what stands in the header runs.
        let mut reached = block == around.header;
        for &inst in &body[block].insts {
            let what = effects(view, inst);
            let op = &body[inst].op;
            let mut outside = true;
            op.for_each_value(|value| outside &= value.local().is_none_or(|id| !inside.contains(id)));
            let simple = what.is_speculatable() && !matches!(op, Op::Phi(_));
            let load = matches!(op, Op::Load { volatile: false, ordering: Ordering::NotAtomic, .. })
                && reached
                && outside
                && writes.len() <= MAX_WRITES
                && accessed(view, inst)
                    .is_some_and(|read| !writes.iter().any(|written| written.may_touch(view, private, &read)));
            reached &= !what.contains(Effects::MAY_NOT_RETURN);
            if let Some(result) = body[inst].result.expand().filter(|_| outside && (simple || load)) {
                inside.remove(result);
                moved.push(inst);
            }
        }
    }
    moved
}

/// Puts a block on the one edge that enters a loop.
fn make_preheader(body: &mut Body, cx: &Context<'_>, cfg: &Cfg, loops: &Loops, id: Loop) -> Option<BlockId> {
    let header = loops[id].header;
    let mut outside = cfg.preds(header).iter().copied().filter(|&pred| !loops.contains(id, pred));
    let pred = outside.next().filter(|_| outside.next().is_none())?;
    let last = body.terminator(pred)?;
    let mut edges = 0;
    body[last].op.for_each_successor(|to| edges += usize::from(to == header));
    if edges != 1 || matches!(body[last].op, Op::IndirectBr(..)) {
        return None;
    }
    let before = body.make_block();
    retarget(body, pred, header, before);
    rename_incoming(body, header, pred, before);
    let jump = cx.make(body, Op::Br(header), TypeId::VOID, last);
    body[before].insts.push(jump);
    let place = body.layout.iter().position(|&block| block == header)?;
    body.layout.insert(place, before);
    Some(before)
}
