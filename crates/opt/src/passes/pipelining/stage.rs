//! Which loads of a loop are a stage of their own: those that can be, as far as it pays.

use super::cost;
use super::slices::{Slice, Slices};
use crate::Context;
use crate::passes::one_block::OneBlock;
use oriole_isa::{Effects, Opcode};
use oriole_ori::analysis::{Passed, is_free};
use oriole_ori::{Function, InstFlags, InstId, VReg};
use rustc_hash::FxHashSet;

/// Longer loops are no wait for one load.
const LONGEST: usize = 1024;
/// So many registers hold what is loaded ahead, at most: with more of them fewer warps would run.
const MOST_WORDS: usize = 16;

/// The first stage of a loop.
pub(super) struct Stage {
    pub(super) body: OneBlock,
    /// In the order of the block.
    pub(super) loads: Vec<Load>,
    /// Behind this instruction they are executed for the next round: the number in the block behind the MovPhis.
    pub(super) place: usize,
    /// Of the round before theirs, what says whether there is another and what MovPhis are in it: in the order of the block.
    pub(super) again: Vec<InstId>,
    /// The values of MovPhis with which what they need begins.
    pub(super) heads: FxHashSet<VReg>,
}

/// A load that is executed a round ahead.
pub(super) struct Load {
    pub(super) inst: InstId,
    /// What it needs of its own round, in the order of the block.
    pub(super) slice: Vec<InstId>,
    heads: FxHashSet<VReg>,
    /// What gives the MovPhis' values for that.
    before: Slice,
    /// Registers that it writes.
    words: usize,
    /// The last instruction that reads what it loads: the number in the block behind the MovPhis.
    place: usize,
}

impl Stage {
    /// The loads for which a round becomes shortest, if that is short enough: the first ones of those that can go ahead, by the order of
    /// their last readers.
    pub(super) fn of(func: &Function, context: &Context, body: OneBlock) -> Option<Stage> {
        let insts = body.insts(func);
        if insts.len() > LONGEST {
            return None;
        }
        let slices = Slices::of(func, context.arch, body);
        let mut again = slices.of_value(body.goes_on.pred)?;
        let mut loads = candidates(&slices, body);
        if loads.is_empty() {
            return None;
        }
        let percent = u32::try_from(context.knobs.int("pipelining")).unwrap_or(0).min(100);
        let mut limit = cost::before(&slices, insts).interval() * (100 - percent) / 100;
        let (mut best, mut words) = (None, 0);
        for (at, load) in loads.iter().enumerate() {
            again.extend(&load.before);
            words += load.words;
            if words > MOST_WORDS {
                break;
            }
            if loads.get(at + 1).is_some_and(|next| next.place == load.place) {
                continue;
            }
            let ordered = slices.in_order(&again.insts);
            let interval = cost::after(&slices, insts, (&loads[..=at], &ordered), load.place).interval();
            if interval <= limit {
                limit = interval.saturating_sub(1);
                best = Some((at + 1, load.place, ordered));
            }
        }
        let (count, place, again) = best?;
        loads.truncate(count);
        loads.sort_by_key(|load| slices.number(load.inst));
        let heads = loads.iter().flat_map(|load| load.heads.iter().copied()).collect();
        Some(Stage { body, loads, place, again, heads })
    }
}

/// What can go ahead, by the order of the last readers.
fn candidates(slices: &Slices<'_>, body: OneBlock) -> Vec<Load> {
    let (func, mut loads) = (slices.func, Vec::new());
    let insts = body.insts(func);
    for (number, &inst) in insts.iter().enumerate().filter(|(_, inst)| is_plain(func, **inst)) {
        let Some(place) = slices.last_reader(inst) else { continue };
        if !is_free_to_go(func, body, (number, place)) {
            continue;
        }
        let Some(slice) = slices.of_reads(inst) else { continue };
        let Some(before) = slices.of_heads(&slice) else { continue };
        let mut words = 0;
        func.for_each_def(inst, |_| words += 1);
        loads.push(Load { inst, slice: slices.in_order(&slice.insts), heads: slice.heads, before, words, place });
    }
    loads.sort_by_key(|load| load.place);
    loads
}

/// Whether it is a load of global memory of which nothing is said about order. What it leaves as it was under a guard is an operand.
fn is_plain(func: &Function, inst: InstId) -> bool {
    let data = &func[inst];
    let mut values = data.call.is_none();
    func.for_each_def(inst, |write| values &= func.is_value(write.reg) && !write.conditional);
    values && is_free(data) && matches!(data.opcode, Opcode::LDG | Opcode::LD)
}

/// Whether load `number` of the next round may happen behind instruction `place` of this one: all that is between the two lets it pass.
fn is_free_to_go(func: &Function, body: OneBlock, (number, place): (usize, usize)) -> bool {
    let insts = body.insts(func);
    let load = &func[insts[number]];
    let mut between =
        insts[place + 1..].iter().chain(&insts[..number]).filter(|inst| **inst != body.branch).map(|inst| &func[*inst]);
    if load.flags.contains(InstFlags::INVARIANT) {
        // Nobody writes what it reads; but it may not be executed where the thread would have ended.
        const ENDS: Effects = Effects::BRANCH.with(Effects::TRAP);
        return !between.any(|inst| inst.call.is_some() || inst.opcode.info().effects.intersects(ENDS));
    }
    let mut passed = Passed::default();
    between.for_each(|inst| passed.add(inst));
    passed.lets_pass(load)
}
