//! Loop unrolling: a loop of known count becomes straight code when that is not long, or runs several times for each
//! test; what the source asks for (`!llvm.loop` metadata) goes first.
//!
//! The body is copied behind itself. Of a test whose count is known only the copy that leaves remains. Where no test
//! has a known count, several runs are made in front of the loop as long as more follow ([`ahead`]); where the source asks
//! for copies, all of them keep their tests.

mod ahead;
mod copy;
mod escape;
mod trip_count;

use cranelift_entity::EntitySet;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::Context;
use super::edit::remove_unreachable;
use crate::analysis::{Cfg, DomTree, Loop, Loops};
use crate::ir::{Attachment, BlockId, Body, InstId, Meta, MetaField, Op, Value};
use trip_count::{TripCount, trip_count};

/// How often loops that have changed let those around and beside them follow.
const ROUNDS: usize = 6;
/// Instructions of the straight code of a whole loop, at most.
const FULL: u64 = 320;
/// The same where indices of frame slots become known.
const FULL_WITH_SLOTS: u64 = 1600;
/// The same where the source asks for it.
const FULL_ASKED: u64 = 16_384;
/// Instructions of a loop that runs several times for each test, at most.
const PARTIAL: u64 = 160;
/// Runs for each test, at most.
const MOST_COPIES: u32 = 8;
/// What says that a loop is not to be unrolled.
const DISABLE: &str = "llvm.loop.unroll.disable";
/// What a call of a function counts.
const CALL: u64 = 25;
/// Instructions from which a function does not grow any more.
const LARGE: u64 = 20_000;

/// Runs the pass.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let mut done: EntitySet<BlockId> = EntitySet::new();
    let mut changed = false;
    for _ in 0..ROUNDS {
        let cfg = Cfg::of_reachable(body);
        let dominators = DomTree::dominators(&cfg);
        let loops = Loops::new(&cfg, &dominators);
        if loops.is_empty() || !round(body, cx, &cfg, &dominators, &loops, &mut done) {
            break;
        }
        remove_unreachable(body);
        changed = true;
    }
    changed
}

/// Unrolls loops none of which lies in another or leads to another: what is known of these holds no more.
fn round(
    body: &mut Body,
    cx: &mut Context<'_>,
    cfg: &Cfg,
    dominators: &DomTree,
    loops: &Loops,
    done: &mut EntitySet<BlockId>,
) -> bool {
    let mut escapes = None;
    let mut stale: EntitySet<Loop> = EntitySet::new();
    let mut touched: EntitySet<BlockId> = EntitySet::new();
    let mut size = body.insts_in_order().count() as u64;
    for id in loops.inner_first() {
        if stale.contains(id) {
            stale.extend(loops[id].parent);
            continue;
        }
        let leads_to = |block: BlockId| touched.contains(block);
        if leads_to(loops[id].header) || loops[id].exits.iter().any(|&(_, to)| leads_to(to)) {
            stale.extend(loops[id].parent);
            continue;
        }
        if !done.insert(loops[id].header) {
            continue;
        }
        let test = trip_count(body, cx, loops, dominators, id);
        let Some(weight) = weight(body, cx, loops, id, test.as_ref()) else { continue };
        let wish = wish(body, cx, loops[id].latches[0]);
        if matches!(wish, Wish::Never) {
            continue;
        }
        let Some(copies) = copies(body, cx, loops, id, test.as_ref(), weight, &wish) else {
            let plan = ahead::plan(body, cx, loops, id, weight).filter(|_| test.is_none());
            if let Some(plan) = plan.filter(|_| size <= LARGE) {
                size += weight * u64::from(ahead::COPIES);
                settle(body, cx, loops[id].latches[0]);
                done.insert(ahead::unroll(body, cx, cfg, &loops[id], &plan));
                changed(loops, id, &mut stale, &mut touched);
            }
            continue;
        };
        size += weight * u64::from(copies);
        if size > LARGE {
            break;
        }
        let escapes = escapes.get_or_insert_with(|| escape::escapes(body, loops));
        escape::close(body, cx, cfg, loops, id, &escapes[id]);
        settle(body, cx, loops[id].latches[0]);
        copy::unroll(body, cx, &loops[id], copies, test.as_ref());
        changed(loops, id, &mut stale, &mut touched);
    }
    !stale.is_empty()
}

/// Remembers that a loop has changed, and with it what it lies in and where it leads.
fn changed(loops: &Loops, id: Loop, stale: &mut EntitySet<Loop>, touched: &mut EntitySet<BlockId>) {
    stale.insert(id);
    stale.extend(loops[id].parent);
    touched.insert(loops[id].header);
    touched.extend(loops[id].exits.iter().map(|&(_, to)| to));
}

/// Lets a latch, and its copies, say that its loop has been unrolled.
fn settle(body: &mut Body, cx: &mut Context<'_>, latch: BlockId) {
    let Some(last) = body.terminator(latch) else { return };
    let nodes = &mut cx.module.metadata.nodes;
    let never = nodes.push(Meta::Node(vec![MetaField::String(DISABLE.into())]));
    let mark = nodes.push(Meta::Node(vec![MetaField::Node(never)]));
    let attached = body.attachments.entry(last).or_default();
    attached.retain(|(kind, _)| *kind != Attachment::Loop);
    attached.push((Attachment::Loop, mark));
}

/// The instructions of a loop that each copy of it adds, unless it must not be copied.
fn weight(body: &Body, cx: &Context<'_>, loops: &Loops, id: Loop, test: Option<&TripCount>) -> Option<u64> {
    if loops[id].latches.len() != 1 {
        return None;
    }
    let view = cx.view(body);
    let mut weight = 0;
    for &inst in loops[id].blocks.iter().flat_map(|&block| &body[block].insts) {
        weight += match &body[inst].op {
            Op::IndirectBr(..) | Op::Alloca { .. } => return None,
            Op::Phi(_) | Op::Br(_) | Op::CondBr(..) => 0,
            Op::Call(call) => match view.callee(call) {
                Some(callee) if callee.name.starts_with("llvm.") => 1,
                _ => CALL,
            },
            _ if test.is_some_and(|test| test.counting.contains(&inst)) => 0,
            _ => 1,
        };
    }
    Some(weight)
}

/// What the source says about a loop.
enum Wish {
    Nothing,
    /// `llvm.loop.unroll.disable`
    Never,
    /// `llvm.loop.unroll.full`, `llvm.loop.unroll.enable`
    Whole,
    /// `llvm.loop.unroll.count`
    Copies(u32),
}

fn wish(body: &Body, cx: &Context<'_>, latch: BlockId) -> Wish {
    let metadata = &cx.module.metadata;
    let node = body.terminator(latch).and_then(|last| body.attachment(last, Attachment::Loop));
    let options = node.map_or(&[][..], |node| metadata[node].operands());
    for option in options {
        let MetaField::Node(option) = option else { continue };
        match metadata[*option].operands() {
            [MetaField::String(name)] => match &**name {
                DISABLE => return Wish::Never,
                "llvm.loop.unroll.full" | "llvm.loop.unroll.enable" => return Wish::Whole,
                _ => {}
            },
            [MetaField::String(name), MetaField::Constant(count)] if &**name == "llvm.loop.unroll.count" => {
                let count = cx.view(body).int(Value::Const(*count)).and_then(|count| u32::try_from(count).ok());
                return count.filter(|&count| count > 1).map_or(Wish::Never, Wish::Copies);
            }
            _ => {}
        }
    }
    Wish::Nothing
}

/// How many runs follow each other in the code: more than one, or none when the loop stays.
fn copies(
    body: &Body,
    cx: &Context<'_>,
    loops: &Loops,
    id: Loop,
    test: Option<&TripCount>,
    weight: u64,
    wish: &Wish,
) -> Option<u32> {
    let whole = test.map(|test| test.passes + 1);
    let fits = |limit: u64| whole.filter(|&whole| u64::from(whole) * weight <= limit);
    let is_innermost = loops.is_innermost(id);
    let asked = match *wish {
        Wish::Never => return None,
        Wish::Whole => fits(FULL_ASKED),
        Wish::Copies(count) => {
            let count = whole.map_or(count, |whole| whole.min(count));
            (u64::from(count) * weight <= FULL_ASKED).then_some(count).filter(|_| is_innermost)
        }
        Wish::Nothing => None,
    };
    if asked.is_some() {
        return asked;
    }
    let fits_slots =
        || fits(FULL_WITH_SLOTS).filter(|_| test.is_some_and(|test| indexes_slots(body, cx, loops, id, test)));
    if let Some(whole) = fits(FULL).or_else(fits_slots) {
        return Some(whole);
    }
    let test = test.filter(|_| is_innermost)?;
    // A test in front of the body is passed once more than the body runs.
    let runs = if test.exiting == loops[id].latches[0] { test.passes + 1 } else { test.passes };
    (2..=MOST_COPIES).rev().find(|&copies| runs % copies == 0 && u64::from(copies) * weight <= PARTIAL)
}

/// True when a loop reaches into frame slots by indices that count its runs, and nothing else has indices there that
/// vary: then the slots can become registers.
fn indexes_slots(body: &Body, cx: &Context<'_>, loops: &Loops, id: Loop, test: &TripCount) -> bool {
    let view = cx.view(body);
    let slot = |inst: InstId| match &body[inst].op {
        Op::Gep { base, indices, .. } if matches!(view.op(*base), Some(Op::Alloca { .. })) => Some((*base, indices)),
        _ => None,
    };
    let inside = loops[id].blocks.iter().flat_map(|&block| &body[block].insts);
    let varying = |indices: &SmallVec<[Value; 2]>| indices.iter().any(|index| index.local().is_some());
    let reached: FxHashSet<Value> =
        inside.filter_map(|&inst| slot(inst)).filter(|(_, indices)| varying(indices)).map(|(base, _)| base).collect();
    let counts = |value: Value| {
        let inner = match view.op(value) {
            Some(&Op::Cast(_, _, inner)) => inner,
            _ => value,
        };
        value.constant().is_some() || body.def_inst(inner).is_some_and(|inst| test.counting.contains(&inst))
    };
    let known = |(base, indices): (Value, &SmallVec<[Value; 2]>)| {
        !reached.contains(&base) || indices.iter().all(|&index| counts(index))
    };
    !reached.is_empty() && body.insts_in_order().filter_map(|(_, inst)| slot(inst)).all(known)
}
