//! Addresses that differ by one value are reached from each other: `&a[(i + 1) * n + j]` is `n` elements behind
//! `&a[i * n + j]`, one product and sum where the index took several.
//!
//! Within a block, an address is compared with those before it that have its base. Both are taken apart as far as that
//! is exact; where only one value times a constant is left between them, and the index is computed for addresses alone,
//! the later one starts from the earlier.

use cranelift_entity::SecondaryMap;

use super::Context;
use super::offsets::linear::{Detail, Sum, address};
use super::offsets::step;
use crate::ir::{BlockId, Body, CastOp, GepFlags, InstId, Op, Value, ValueId};

/// Addresses that one is compared with, at most.
const NEAR: usize = 8;
/// Uses of an index that may all go.
const MAX_USES: u32 = 2;

/// Runs the pass.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let uses = body.use_counts();
    let mut changed = false;
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        changed |= walk(body, cx, &uses, block);
    }
    changed
}

/// An address that has been passed.
struct Known {
    inst: InstId,
    base: Value,
    sum: Sum,
}

fn walk(body: &mut Body, cx: &mut Context<'_>, uses: &SecondaryMap<ValueId, u32>, block: BlockId) -> bool {
    let mut known: Vec<Known> = Vec::new();
    let mut changed = false;
    let old = std::mem::take(&mut body[block].insts);
    let mut out = Vec::with_capacity(old.len());
    for inst in old {
        if let Some((base, sum)) = address(cx.view(body), inst, Detail::Products) {
            let close = known.iter().rev().filter(|known| known.base == base).take(NEAR);
            let found = close.filter(|_| is_for_addresses(body, uses, inst)).find_map(|known| {
                let difference = sum.less(&known.sum)?;
                let is_step = matches!(difference.terms.as_slice(),
                    [term] if term.times.is_none() && term.scale > 0 && i32::try_from(term.scale).is_ok());
                is_step.then_some((known.inst, difference))
            });
            if let Some((from, difference)) = found {
                rewrite(body, cx, inst, from, &difference, &mut out);
                changed = true;
            }
            known.push(Known { inst, base, sum });
        }
        out.push(inst);
    }
    body[block].insts = out;
    changed
}

/// True when an address has one varying index, which takes more than one step to compute and hardly serves others.
fn is_for_addresses(body: &Body, uses: &SecondaryMap<ValueId, u32>, inst: InstId) -> bool {
    let Op::Gep { indices, .. } = &body[inst].op else { return false };
    let mut varying = indices.iter().filter(|index| index.local().is_some());
    let (Some(&index), None) = (varying.next(), varying.next()) else { return false };
    let counted = |value: Value| value.local().is_some_and(|id| uses[id] <= MAX_USES);
    let index = match body.def_op(index) {
        Some(&Op::Cast(CastOp::SExt | CastOp::ZExt, _, from)) if counted(index) => from,
        _ => index,
    };
    let Some(&Op::Binary(_, _, [a, b])) = body.def_op(index) else { return false };
    let is_made_for_it = |value: Value| matches!(body.def_op(value), Some(Op::Binary(..))) && counted(value);
    counted(index) && (is_made_for_it(a) || is_made_for_it(b) || b.local().is_some())
}

/// Lets an address start from an earlier one.
fn rewrite(body: &mut Body, cx: &mut Context<'_>, inst: InstId, from: InstId, by: &Sum, out: &mut Vec<InstId>) {
    let Some(term) = by.terms.first() else { return };
    let base: Value = body.result(from).into();
    if by.constant != 0 {
        let at = step(body, cx, inst, base, term, out);
        body[inst].op = cx.bytes_behind(at, by.constant, GepFlags::empty());
        return;
    }
    let made = out.len();
    step(body, cx, inst, base, term, out);
    // The last step is the address itself.
    if let Some(last) = out.pop().filter(|_| out.len() >= made) {
        body[inst].op = body[last].op.clone();
    }
}
