//! Loops of unknown count: several runs without a test before the loop, as long as more follow.
//!
//! A new loop stands in front. It tests once whether the next runs all go on, and makes them; the loop itself makes
//! what is left, and is the only way out. Values behind the loop are as before.

use smallvec::SmallVec;

use super::super::edit::{phis, retarget};
use super::super::{Context, intrinsic};
use super::copy::Copier;
use crate::analysis::effects::effects;
use crate::analysis::known_bits::known_bits;
use crate::analysis::{Cfg, Effects, Loop, LoopData, Loops};
use crate::ir::{BinaryOp, BlockId, Body, InstFlags, InstId, IntPredicate, Op, TypeId, Value, ValueId};

/// Runs for each test.
pub(super) const COPIES: u32 = 4;
/// Instructions of all runs, at most.
const MOST: u64 = 100;

/// How to tell that several runs go on.
pub(super) struct Plan {
    /// The block with the test, and where it goes on.
    exiting: BlockId,
    inside: BlockId,
    counter: Counter,
    /// True while the loop goes on.
    predicate: IntPredicate,
    bound: Value,
}

/// The value that a test compares: a `phi` of the header that changes by a constant, and a constant.
struct Counter {
    phi: InstId,
    step: i64,
    /// What the test adds to the `phi`.
    before: i64,
}

/// Looks whether a loop of this weight can and should run ahead.
pub(super) fn plan(body: &Body, cx: &Context<'_>, loops: &Loops, id: Loop, weight: u64) -> Option<Plan> {
    let around = &loops[id];
    let [(exiting, outside)] = *around.exits.as_slice() else { return None };
    let latch = around.latches[0];
    if !loops.is_innermost(id) || weight * u64::from(COPIES) > MOST || (exiting != latch && exiting != around.header) {
        return None;
    }
    if !waits_for_memory(body, cx, around) {
        return None;
    }
    let Op::CondBr(condition, [yes, no]) = body[body.terminator(exiting)?].op else { return None };
    let inside = if yes == outside { no } else { yes };
    if !loops.contains(id, inside) {
        return None;
    }
    let &Op::ICmp(predicate, _, [counted, bound]) = body.def_op(condition)? else { return None };
    let predicate = if yes == outside { predicate.inverse() } else { predicate };
    let counter = counter(body, cx, around, counted)?;
    let bits = cx.module.types.int_bits(cx.ty(body, counted)).filter(|bits| matches!(bits, 32 | 64))?;
    let fits = counter.ahead()?.unsigned_abs() < 1 << (bits - 2);
    let goes = match predicate {
        IntPredicate::Slt | IntPredicate::Sle | IntPredicate::Ult | IntPredicate::Ule => counter.ahead()? > 0,
        IntPredicate::Sgt | IntPredicate::Sge | IntPredicate::Ugt | IntPredicate::Uge => counter.ahead()? < 0,
        // The counter may go past the bound and around: that is seen by the distance, too.
        IntPredicate::Ne => counter.step != 0 && counter.step.unsigned_abs() < 1 << 16,
        IntPredicate::Eq => false,
    };
    let changes = body.def_inst(bound).is_some_and(|inst| holds(body, around, inst));
    (fits && goes && !changes && !is_short(body, cx, around, &counter, bound)).then_some(Plan {
        exiting,
        inside,
        counter,
        predicate,
        bound,
    })
}

/// True for loops that load, and in which threads do not wait for each other: these must not be in different copies.
fn waits_for_memory(body: &Body, cx: &Context<'_>, around: &LoopData) -> bool {
    let stays = Effects::CONVERGENT | Effects::ORDERED | Effects::MAY_NOT_RETURN;
    let mut loads = false;
    for &inst in around.blocks.iter().flat_map(|&block| &body[block].insts) {
        if !body[inst].op.is_terminator() && effects(cx.view(body), inst).intersects(stays) {
            return false;
        }
        loads |= matches!(body[inst].op, Op::Load { .. });
    }
    loads
}

fn holds(body: &Body, around: &LoopData, inst: InstId) -> bool {
    around.blocks.iter().any(|&block| body[block].insts.contains(&inst))
}

/// True when a loop that counts up from a constant is known to end before its runs ahead would pay.
fn is_short(body: &Body, cx: &Context<'_>, around: &LoopData, counter: &Counter, bound: Value) -> bool {
    let view = cx.view(body);
    let Op::Phi(incoming) = &body[counter.phi].op else { return false };
    let first = incoming.iter().find(|(from, _)| *from != around.latches[0]).and_then(|(_, value)| view.int(*value));
    let most = known_bits(view, bound).max();
    let span = u128::from(COPIES) * u128::from(counter.step.unsigned_abs());
    first.is_some_and(|first| counter.step > 0 && most >= first && most - first <= span)
}

/// Finds the `phi` that a value is, or is a constant more than.
fn counter(body: &Body, cx: &Context<'_>, around: &LoopData, value: Value) -> Option<Counter> {
    let view = cx.view(body);
    // A value that is a constant more than another.
    let more = |value: Value| match *body.def_op(value)? {
        Op::Binary(BinaryOp::Add, _, [from, by]) => Some((from, view.signed(by)?)),
        _ => None,
    };
    let is_phi = |value: Value| phis(body, around.header).find(|&phi| Value::Local(body.result(phi)) == value);
    let (phi, before) = match is_phi(value) {
        Some(phi) => (phi, 0),
        None => more(value).and_then(|(from, by)| Some((is_phi(from)?, by)))?,
    };
    let Op::Phi(incoming) = &body[phi].op else { return None };
    let next = incoming.iter().find(|(from, _)| *from == around.latches[0])?.1;
    let (from, step) = more(next)?;
    (from == Value::Local(body.result(phi))).then_some(Counter { phi, step, before })
}

impl Counter {
    /// What the last of the runs has added when it tests.
    fn ahead(&self) -> Option<i64> {
        self.step.checked_mul(i64::from(COPIES) - 1)?.checked_add(self.before)
    }
}

/// Puts the runs in front of a loop. Answers the block with their test.
pub(super) fn unroll(body: &mut Body, cx: &mut Context<'_>, cfg: &Cfg, around: &LoopData, plan: &Plan) -> BlockId {
    let outside: Vec<BlockId> =
        cfg.preds(around.header).iter().copied().filter(|pred| !around.blocks.contains(pred)).collect();
    let test = body.make_block();
    let firsts = enter(body, cx, around.header, test, &outside);
    let mut copier = Copier::ahead(body, cx, around, &firsts);
    for _ in 1..COPIES {
        copier.add();
    }
    let made = copier.connect_ahead(test, plan.exiting, plan.inside);
    // The counter is one of the header's values.
    let first = firsts.iter().find(|(phi, _)| *phi == body.result(plan.counter.phi));
    let like = plan.counter.phi;
    let goes = match first {
        Some(&(_, first)) => condition(body, cx, test, plan, first, like),
        None => cx.int(TypeId::I1, 0),
    };
    let branch = cx.make(body, Op::CondBr(goes, [made[0], around.header]), TypeId::VOID, like);
    body[test].insts.push(branch);
    let place = body.layout.iter().position(|&block| block == around.header).unwrap_or(body.layout.len());
    body.layout.splice(place..place, std::iter::once(test).chain(made));
    test
}

/// What a `phi` takes from where.
type Incoming = SmallVec<[(BlockId, Value); 2]>;

/// Lets what enters the loop go to the new test, with `phi`s for those of the header: for each, its own there.
fn enter(
    body: &mut Body,
    cx: &Context<'_>,
    header: BlockId,
    test: BlockId,
    outside: &[BlockId],
) -> Vec<(ValueId, Value)> {
    let mut firsts = Vec::new();
    for phi in phis(body, header).collect::<Vec<_>>() {
        let Op::Phi(incoming) = &mut body[phi].op else { continue };
        let (entering, mut staying): (Incoming, Incoming) =
            incoming.iter().copied().partition(|(from, _)| outside.contains(from));
        let ty = body[phi].ty;
        let first = cx.make(body, Op::Phi(entering), ty, phi);
        let value: Value = body.result(first).into();
        staying.push((test, value));
        body[phi].op = Op::Phi(staying);
        body[test].insts.push(first);
        firsts.push((body.result(phi), value));
    }
    for &pred in outside {
        retarget(body, pred, header, test);
    }
    firsts
}

/// True when the tests of all runs from `first` on go on.
fn condition(body: &mut Body, cx: &mut Context<'_>, test: BlockId, plan: &Plan, first: Value, like: InstId) -> Value {
    use IntPredicate::*;
    let ty = cx.ty(body, first);
    let Counter { step, before, .. } = plan.counter;
    let ahead = plan.counter.ahead().unwrap_or(0).unsigned_abs();
    let push = |body: &mut Body, cx: &Context<'_>, op: Op, ty: TypeId| -> Value {
        let inst = cx.make(body, op, ty, like);
        body[test].insts.push(inst);
        body.result(inst).into()
    };
    let none = InstFlags::empty();
    if plan.predicate == Ne {
        // How often the counter still changes before it is the bound.
        let (to, from, offset) = if step > 0 { (plan.bound, first, -before) } else { (first, plan.bound, before) };
        let distance = push(body, cx, Op::Binary(BinaryOp::Sub, none, [to, from]), ty);
        let offset = cx.int(ty, offset as u64 as u128);
        let left = push(body, cx, Op::Binary(BinaryOp::Add, none, [distance, offset]), ty);
        let runs = cx.int(ty, u128::from(COPIES - 1) * u128::from(step.unsigned_abs()));
        return push(body, cx, Op::ICmp(Ugt, none, [left, runs]), TypeId::I1);
    }
    // Where the limit would overflow, it is one that nothing is beyond.
    let (name, margin, compared) = match plan.predicate {
        Slt => ("llvm.ssub.sat", ahead, Slt),
        Sle => ("llvm.ssub.sat", ahead - 1, Slt),
        Ult => ("llvm.usub.sat", ahead, Ult),
        Ule => ("llvm.usub.sat", ahead - 1, Ult),
        Sgt => ("llvm.sadd.sat", ahead, Sgt),
        Sge => ("llvm.sadd.sat", ahead - 1, Sgt),
        Ugt => ("llvm.uadd.sat", ahead, Ugt),
        _ => ("llvm.uadd.sat", ahead - 1, Ugt),
    };
    let margin = cx.int(ty, margin.into());
    let name = format!("{name}.{}", cx.module.types.text(ty));
    let limit = intrinsic::call(cx, &name, ty, body, &[plan.bound, margin]);
    let limit = push(body, cx, limit, ty);
    push(body, cx, Op::ICmp(compared, none, [first, limit]), TypeId::I1)
}
