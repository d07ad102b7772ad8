//! Control flow becomes simpler: branches that are decided, empty blocks, blocks that follow each other, and small
//! conditional pieces that are as well computed always and selected.

mod if_convert;

use smallvec::SmallVec;

use super::edit::{for_each_phi_mut, phis, remove_incoming, remove_unreachable, rename_incoming, retarget};
use super::{Context, Replacements};
use crate::analysis::Cfg;
use crate::ir::{BlockId, Body, InstFlags, IntPredicate, Op, TypeId, Value};

/// How often the steps follow each other at most.
const ROUNDS: usize = 4;

/// Runs the pass.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    // Addresses of blocks must stay what they are.
    let has_addresses = body
        .layout
        .iter()
        .any(|&block| body.terminator(block).is_some_and(|inst| matches!(body[inst].op, Op::IndirectBr(..))));
    if has_addresses {
        return false;
    }
    let mut changed = false;
    for _ in 0..ROUNDS {
        let mut again = fold_branches(body, cx);
        again |= remove_unreachable(body);
        again |= single_phis(body);
        again |= if_convert::run(body, cx);
        again |= remove_unreachable(body);
        again |= thread_empty(body);
        again |= remove_unreachable(body);
        again |= merge(body);
        changed |= again;
        if !again {
            break;
        }
    }
    changed
}

/// Branches on constants, to one place only, and switches of one case.
fn fold_branches(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let mut changed = false;
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        let Some(last) = body.terminator(block) else { continue };
        let (old, target) = match &body[last].op {
            Op::CondBr(condition, [yes, no]) => {
                let old = [*yes, *no];
                let taken = match cx.view(body).int(*condition) {
                    Some(value) => Some(if value != 0 { *yes } else { *no }),
                    None => (yes == no).then_some(*yes),
                };
                (SmallVec::<[BlockId; 4]>::from_slice(&old), taken)
            }
            Op::Switch { value, default, cases } => {
                let old = cases.iter().map(|(_, block)| *block).chain([*default]).collect();
                let taken = match cx.view(body).int(*value) {
                    Some(value) => Some(cases.iter().find(|(case, _)| *case == value).map_or(*default, |case| case.1)),
                    None => cases.iter().all(|(_, block)| block == default).then_some(*default),
                };
                (old, taken)
            }
            _ => continue,
        };
        match target {
            Some(target) => {
                let mut keep = true;
                for to in old {
                    if to == target && keep {
                        keep = false;
                    } else {
                        remove_incoming(body, block, to);
                    }
                }
                body[last].op = Op::Br(target);
                changed = true;
            }
            None => changed |= shrink_switch(body, cx, block),
        }
    }
    changed
}

/// Drops cases that go where the default goes; what has one case left is a branch.
fn shrink_switch(body: &mut Body, cx: &mut Context<'_>, block: BlockId) -> bool {
    let Some(last) = body.terminator(block) else { return false };
    let Op::Switch { value, default, cases } = &mut body[last].op else { return false };
    let (value, default) = (*value, *default);
    let before = cases.len();
    cases.retain(|(_, to)| *to != default);
    let dropped = before - cases.len();
    let single = match cases.as_slice() {
        [(case, to)] => Some((*case, *to)),
        _ => None,
    };
    for _ in 0..dropped {
        remove_incoming(body, block, default);
    }
    if let Some((case, to)) = single {
        let constant = cx.int(cx.ty(body, value), case);
        let op = Op::ICmp(IntPredicate::Eq, InstFlags::empty(), [value, constant]);
        let compare = cx.make(body, op, TypeId::I1, last);
        let end = body[block].insts.len() - 1;
        body[block].insts.insert(end, compare);
        body[last].op = Op::CondBr(body.result(compare).into(), [to, default]);
    }
    dropped > 0 || single.is_some()
}

/// `phi`s of a single value, or of one value and themselves, are that value.
fn single_phis(body: &mut Body) -> bool {
    let mut same = Replacements::default();
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        let mut gone = Vec::new();
        for inst in phis(body, block) {
            let Op::Phi(incoming) = &body[inst].op else { continue };
            let own = Value::Local(body.result(inst));
            let mut others = incoming.iter().map(|(_, value)| same.resolve(*value)).filter(|value| *value != own);
            if let Some(first) = others.next()
                && others.all(|value| value == first)
            {
                same.set(body.result(inst), first);
                gone.push(inst);
            }
        }
        if !gone.is_empty() {
            body[block].insts.retain(|inst| !gone.contains(inst));
        }
    }
    same.apply(body)
}

/// Branches to a block that only branches on go there at once.
fn thread_empty(body: &mut Body) -> bool {
    let cfg = Cfg::of_reachable(body);
    let mut changed = false;
    for &empty in cfg.rpo().iter().skip(1) {
        let [only] = body[empty].insts.as_slice() else { continue };
        let Op::Br(target) = body[*only].op else { continue };
        // The edge back to a loop's header stays one, and so does the one that enters it.
        let is_header = cfg.preds(target).iter().any(|&pred| cfg.rpo_number(pred) >= cfg.rpo_number(target));
        if target == empty || is_header {
            continue;
        }
        for &pred in cfg.preds(empty) {
            changed |= redirect(body, pred, empty, target);
        }
    }
    changed
}

/// Lets `pred` go to `target` instead of `empty`, if the `phi`s there allow it.
fn redirect(body: &mut Body, pred: BlockId, empty: BlockId, target: BlockId) -> bool {
    let Some(last) = body.terminator(pred) else { return false };
    let mut edges = 0;
    body[last].op.for_each_successor(|to| edges += usize::from(to == empty));
    let mut agrees = edges > 0;
    for_each_phi_mut(body, target, |incoming| {
        let from = |block| incoming.iter().find(|(from, _)| *from == block).map(|(_, value)| *value);
        agrees &= from(empty).is_some() && (from(pred).is_none() || from(pred) == from(empty));
    });
    if !agrees {
        return false;
    }
    retarget(body, pred, empty, target);
    for_each_phi_mut(body, target, |incoming| {
        if let Some(&(_, value)) = incoming.iter().find(|(from, _)| *from == empty) {
            incoming.extend(std::iter::repeat_n((pred, value), edges));
        }
    });
    true
}

/// A block whose only way in is the only way out of another is joined to that.
fn merge(body: &mut Body) -> bool {
    let cfg = Cfg::of_reachable(body);
    let mut changed = false;
    for &block in cfg.rpo() {
        // Blocks that have been joined to another are empty now.
        while let Some(last) = body.terminator(block) {
            let Op::Br(next) = body[last].op else { break };
            if next == block || cfg.preds(next).len() != 1 || phis(body, next).next().is_some() {
                break;
            }
            let moved = std::mem::take(&mut body[next].insts);
            body[block].insts.pop();
            body[block].insts.extend(moved);
            for to in body.successors(block) {
                rename_incoming(body, to, next, block);
            }
            changed = true;
        }
    }
    if changed {
        let entry = body.layout[0];
        let kept: Vec<BlockId> =
            body.layout.iter().copied().filter(|&block| block == entry || !body[block].insts.is_empty()).collect();
        body.layout = kept;
    }
    changed
}
