//! Triangles and diamonds of cheap instructions become straight code with `select`s.

use crate::analysis::Cfg;
use crate::analysis::effects::effects;
use crate::ir::{BlockId, Body, CastOp, InstFlags, InstId, Op, Value};
use crate::opt::Context;
use crate::opt::edit::phis;

/// The most instructions that are computed always instead of on one side, selects included.
const MAX_COST: usize = 5;

/// Converts what can be, inner pieces first.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let cfg = Cfg::of_reachable(body);
    let mut changed = false;
    for &block in cfg.rpo().iter().rev() {
        changed |= convert(body, cx, &cfg, block);
    }
    changed
}

fn convert(body: &mut Body, cx: &mut Context<'_>, cfg: &Cfg, block: BlockId) -> bool {
    let Some(last) = body.terminator(block) else { return false };
    let Op::CondBr(condition, [yes, no]) = body[last].op else { return false };
    if yes == no {
        return false;
    }
    let side = |to: BlockId| side_of(body, cx, cfg, block, to);
    let (sides, join): (Vec<BlockId>, BlockId) = match (side(yes), side(no)) {
        (Some(a), Some(b)) if a == b => (vec![yes, no], a),
        (Some(a), _) if a == no => (vec![yes], no),
        (_, Some(b)) if b == yes => (vec![no], yes),
        _ => return false,
    };
    if join == block {
        return false;
    }
    let from = |incoming: &[(BlockId, Value)], to: BlockId| {
        let source = if to == join { block } else { to };
        incoming.iter().find(|(from, _)| *from == source).map(|(_, value)| *value)
    };
    let mut selects: Vec<(InstId, [Value; 2])> = Vec::new();
    for phi in phis(body, join) {
        let Op::Phi(incoming) = &body[phi].op else { continue };
        let (Some(a), Some(b)) = (from(incoming, yes), from(incoming, no)) else { return false };
        selects.push((phi, [a, b]));
    }
    let cost =
        sides.iter().map(|&side| cost(body, side)).sum::<usize>() + selects.iter().filter(|(_, [a, b])| a != b).count();
    if cost > MAX_COST {
        return false;
    }
    body[block].insts.pop();
    for &side in &sides {
        let mut moved = std::mem::take(&mut body[side].insts);
        let branch = moved.pop();
        body[block].insts.extend(moved);
        if let Some(attached) = branch.and_then(|branch| body.attachments.remove(&branch)) {
            body.attachments.insert(last, attached);
        }
        // The block is not reached any more, but it has to end in something until it is dropped.
        body[side].insts.extend(branch);
    }
    for (phi, [a, b]) in selects {
        let value = if a == b {
            a
        } else {
            let ty = body[phi].ty;
            let select = cx.make(body, Op::Select(InstFlags::empty(), [condition, a, b]), ty, phi);
            body[block].insts.push(select);
            body.result(select).into()
        };
        if let Op::Phi(incoming) = &mut body[phi].op {
            incoming.retain(|(from, _)| *from != block && !sides.contains(from));
            incoming.push((block, value));
        }
    }
    body[last].op = Op::Br(join);
    body[block].insts.push(last);
    true
}

/// Where a block goes that is reached from `from` only and can be computed always.
fn side_of(body: &Body, cx: &Context<'_>, cfg: &Cfg, from: BlockId, block: BlockId) -> Option<BlockId> {
    let (&last, rest) = body[block].insts.split_last()?;
    let Op::Br(join) = body[last].op else { return None };
    let view = cx.view(body);
    let simple = cfg.single_pred(block) == Some(from)
        && rest.len() <= 2 * MAX_COST
        && rest.iter().all(|&inst| {
            let op = &body[inst].op;
            !matches!(op, Op::Phi(_) | Op::Call(_)) && effects(view, inst).is_speculatable() && !is_slow(op)
        });
    (simple && join != block).then_some(join)
}

/// Operations that take many instructions.
fn is_slow(op: &Op) -> bool {
    use crate::ir::BinaryOp::{FDiv, FRem};
    matches!(op, Op::Binary(op, ..) if op.is_int_division() || matches!(op, FDiv | FRem))
}

/// The instructions of a side that cost something.
fn cost(body: &Body, side: BlockId) -> usize {
    let free = |op: &Op| {
        matches!(
            op,
            Op::Cast(CastOp::Bitcast | CastOp::PtrToInt | CastOp::IntToPtr | CastOp::Trunc, ..)
                | Op::ExtractValue(..)
                | Op::InsertValue(..)
                | Op::Freeze(_)
                | Op::Br(_)
        )
    };
    body[side].insts.iter().filter(|&&inst| !free(&body[inst].op)).count()
}
