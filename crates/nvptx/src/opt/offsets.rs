//! Constant parts of indices become constant offsets: `a[i + 3]` is three elements behind `a[i]`, an offset that an
//! access holds for nothing, and `a[i - 1]`, `a[i]`, `a[i + 1]` share one address.
//!
//! An index is taken apart where that does not change its value: sums and products in the width of addresses, and
//! narrower ones that are extended and cannot overflow. What varies is added first, values of outer blocks before
//! those of inner ones, so that partial sums can be shared and leave loops.

pub(super) mod linear;

use cranelift_entity::SecondaryMap;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;

use super::Context;
use crate::analysis::Cfg;
use crate::ir::{BlockId, Body, CastOp, GepFlags, InstId, Op, Type, TypeId, Value, ValueId};
use linear::{Detail, Extension, Sum, Term, Terms, address};

/// Varying parts of one address, at most.
const MAX_TERMS: usize = 3;
/// Constant offsets that accesses hold: 24 bits with sign.
const REACH: std::ops::Range<i64> = -(1 << 23)..1 << 23;

/// Runs the pass.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let cfg = Cfg::of_reachable(body);
    let mut place: SecondaryMap<ValueId, u32> = SecondaryMap::new();
    for (number, &block) in (1..).zip(cfg.rpo()) {
        for &inst in &body[block].insts {
            if let Some(result) = body[inst].result.expand() {
                place[result] = number;
            }
        }
    }
    let mut splits: Vec<(BlockId, InstId, Value, Sum)> = Vec::new();
    let mut whole: Vec<(BlockId, InstId, Value)> = Vec::new();
    let mut shared: FxHashSet<(Value, Terms)> = FxHashSet::default();
    for &block in cfg.rpo() {
        for &inst in &body[block].insts {
            let view = cx.view(body);
            let Some((base, mut sum)) = address(view, inst, Detail::Constants) else { continue };
            sort(&mut sum.terms, &place);
            if sum.constant == 0 {
                whole.push((block, inst, base));
            } else if sum.terms.len() <= MAX_TERMS && REACH.contains(&sum.constant) {
                if sum.terms.len() > 1 {
                    shared.insert((base, sum.terms.clone()));
                }
                splits.push((block, inst, base, sum));
            }
        }
    }
    for (block, inst, base) in whole.into_iter().filter(|_| !shared.is_empty()) {
        let Some((_, mut sum)) = address(cx.view(body), inst, Detail::Sums) else { continue };
        sort(&mut sum.terms, &place);
        if shared.contains(&(base, sum.terms.clone())) {
            splits.push((block, inst, base, sum));
        }
    }
    let changed = !splits.is_empty();
    let mut plans: SecondaryMap<InstId, Option<(Value, Sum)>> = SecondaryMap::new();
    let mut blocks: FxHashSet<BlockId> = FxHashSet::default();
    for (block, inst, base, sum) in splits {
        plans[inst] = Some((base, sum));
        blocks.insert(block);
    }
    for &block in cfg.rpo().iter().filter(|block| blocks.contains(block)) {
        let old = std::mem::take(&mut body[block].insts);
        let mut insts = Vec::with_capacity(old.len());
        let mut known = Known::default();
        for inst in old {
            if let Some((base, sum)) = plans[inst].take() {
                rewrite(body, cx, inst, base, &sum, &mut known, &mut insts);
            }
            insts.push(inst);
        }
        body[block].insts = insts;
    }
    changed
}

/// The partial sums that a block has made: neighbours share them.
type Known = FxHashMap<(Value, Term), Value>;

/// Values of outer blocks first; equal sets of terms in one order.
fn sort(terms: &mut Terms, place: &SecondaryMap<ValueId, u32>) {
    terms.sort_unstable_by_key(|term| (term.value.local().map_or(0, |id| place[id]), term.value, term.scale));
}

/// Lets an address computation start from what varies; what must stand before it goes to `made`.
fn rewrite(
    body: &mut Body,
    cx: &mut Context<'_>,
    inst: InstId,
    base: Value,
    sum: &Sum,
    known: &mut Known,
    made: &mut Vec<InstId>,
) {
    let mut at = base;
    for term in &sum.terms {
        at = *known.entry((at, *term)).or_insert_with(|| step(body, cx, inst, at, term, made));
    }
    body[inst].op = cx.bytes_behind(at, sum.constant, GepFlags::empty());
}

/// An address and a term: a value, not a product.
pub(super) fn step(
    body: &mut Body,
    cx: &mut Context<'_>,
    like: InstId,
    base: Value,
    term: &Term,
    made: &mut Vec<InstId>,
) -> Value {
    let ty = body[like].ty;
    let mut index = term.value;
    if term.extension == Extension::Zero {
        let wide = cx.cast(body, CastOp::ZExt, index, TypeId::I64, like);
        index = body.result(wide).into();
        made.push(wide);
    }
    // Sizes and factors are positive.
    let source = match term.scale.unsigned_abs() {
        1 => TypeId::I8,
        scale => cx.module.types.intern(Type::Array(TypeId::I8, scale)),
    };
    let step = Op::Gep { source, flags: GepFlags::empty(), base, indices: smallvec![index] };
    let step = cx.make(body, step, ty, like);
    made.push(step);
    body.result(step).into()
}
