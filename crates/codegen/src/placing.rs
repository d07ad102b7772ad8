//! Order and registers of one function. An order that leaves room where registers are few shows its worth in allocation
//! alone: where values went to memory, others that need fewer registers are tried, and the cheapest stays; where none did, fewer
//! registers are tried with which more warps run.

use crate::error::CompileError;
use oriole_ori::Function;
use oriole_ori::analysis::CallNode;
use oriole_regalloc::{AllocError, FunctionAllocation, ModuleAllocator, OWN_NEED, RegisterBudget, estimated_work};
use oriole_sched::{MOVE_CYCLES, Ordered, Usage, order_values};
use rustc_hash::{FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};

/// What is kept free for other purposes while a function is got ready for allocation.
#[derive(Clone, Copy)]
pub(crate) struct Spare {
    /// Registers that stay for what lives within a block ([`OWN_NEED`]).
    own_need: u32,
    /// Registers that the order leaves to allocation beyond what it needs: wide values need neighbours, and what lives across
    /// calls the registers that these leave alone.
    less: u32,
    /// What the order reckons for a value that goes to memory, or comes back, in cycles.
    move_cycles: u32,
}

/// Where values must not go to memory if there is another way.
const DEAR: u32 = 60;

/// What is tried first.
pub(crate) const USUAL: Spare = Spare { own_need: OWN_NEED, less: 0, move_cycles: MOVE_CYCLES };
/// And then, as long as something is spilled.
const TRIES: [Spare; 6] = [
    Spare { own_need: OWN_NEED, less: 12, move_cycles: DEAR },
    Spare { own_need: OWN_NEED + 6, less: 4, move_cycles: DEAR },
    Spare { own_need: OWN_NEED, less: 8, move_cycles: DEAR },
    Spare { own_need: OWN_NEED + 3, less: 2, move_cycles: DEAR },
    Spare { own_need: OWN_NEED + 9, less: 6, move_cycles: DEAR },
    Spare { own_need: OWN_NEED - 4, less: 4, move_cycles: DEAR },
];
/// With so many that did not help one after the other it is enough.
const VAIN: u32 = 3;
/// Instructions that are put in order and allocated once more at most, all tries together.
const AGAIN: usize = 2048;
/// With so many registers all warps run on every target.
const LEAST: u16 = 30;
/// What is tried for a step of occupancy.
const LOWER: [Spare; 2] = [
    Spare { own_need: OWN_NEED + 3, less: 6, move_cycles: DEAR },
    Spare { own_need: OWN_NEED + 3, less: 2, move_cycles: DEAR },
];
/// In functions of so many instructions at most.
const SHORT: usize = 4096;
/// Steps of occupancy that are tried.
const STEPS: usize = 8;
/// How much longer an order may take for a step, for each warp that runs more; and at most.
const LONGER: f32 = 1.4;
const LONGEST: f32 = 2.0;
/// What may be executed for one, as a part of what was.
const MORE_WORK: f32 = 1.08;

/// What to do with a function before it has registers.
pub(crate) struct Placing<'a> {
    pub(crate) allocator: &'a ModuleAllocator<'a>,
    pub(crate) budget: &'a RegisterBudget,
}

impl Placing<'_> {
    /// The function as it has to be kept for other tries, if these may be needed.
    pub(crate) fn keep(&self, func: &Function) -> Option<Function> {
        let count = func.inst_count();
        let may_spill = count <= AGAIN && self.budget.may_be_short(func);
        let may_save_steps = count <= SHORT && self.budget.capped(LEAST).may_be_short(func);
        (may_spill || may_save_steps).then(|| func.clone())
    }

    /// Compute again what has no room, and put each block in order.
    ///
    /// # Errors
    /// Those of allocation.
    pub(crate) fn order(&self, func: &mut Function, spare: Spare) -> Result<Ordered, CompileError> {
        let arch = self.allocator.arch();
        let flow = oriole_regalloc::recompute(func, arch, self.budget, spare.own_need)?;
        let in_block = |block| self.budget.in_block(block).saturating_sub(spare.less);
        let budget = |needed| self.budget.of(needed);
        Ok(order_values(func, arch, flow, Usage { budget, in_block, move_cycles: spare.move_cycles }))
    }

    /// Give the function registers. `ordered` is what [`Self::order`] said of it, `kept` the function before that.
    ///
    /// # Errors
    /// Those of allocation.
    pub(crate) fn allocate(
        &self,
        node: CallNode,
        func: &mut Function,
        Ordered { flow, cycles }: Ordered,
        kept: Option<Function>,
    ) -> Result<FunctionAllocation, CompileError> {
        let first = kept.as_ref().map(|_| fingerprint(func));
        let mut best = self.allocator.allocate(node.clone(), func, flow, None)?;
        let Some(kept) = kept else { return Ok(best) };
        if !best.own.spills.any() {
            let is_short = kept.inst_count() <= SHORT;
            return if is_short { self.for_more_warps(&node, func, best, &kept, cycles) } else { Ok(best) };
        }
        let mut seen = FxHashSet::from_iter(first);
        let mut work = estimated_work(func);
        let mut vain = 0;
        let most = AGAIN / kept.inst_count().max(1);
        for spare in TRIES.into_iter().take(most) {
            let Some((allocation, other)) = self.attempt(&node, &kept, spare, None, &mut seen)? else { continue };
            let other_work = estimated_work(&other);
            let spills_no_more = !allocation.own.spills.any();
            vain += 1;
            if spills_no_more || other_work < work {
                (best, work, vain) = (allocation, other_work, 0);
                *func = other;
            }
            if spills_no_more || vain == VAIN {
                break;
            }
        }
        Ok(best)
    }

    /// Fewer registers where more warps run with them, nothing is spilled and little more is done. The order that the function
    /// has takes so many `cycles`.
    fn for_more_warps(
        &self,
        node: &CallNode,
        func: &mut Function,
        mut best: FunctionAllocation,
        kept: &Function,
        cycles: u32,
    ) -> Result<FunctionAllocation, CompileError> {
        let work = estimated_work(func);
        let mut caps = std::iter::successors(self.budget.step_below(&best.own.used), |cap| self.budget.next_step(*cap));
        let named = |cap: u16| f32::from(cap);
        let Some(first) = caps.next() else { return Ok(best) };
        for cap in std::iter::once(first).chain(caps).take(STEPS) {
            let lower = Placing { budget: &self.budget.capped(cap), ..*self };
            let longest = (cycles as f32 * (LONGER * named(first) / named(cap)).min(LONGEST)) as u32;
            let pays = |(allocation, other): &(FunctionAllocation, Function)| {
                !allocation.own.spills.any() && estimated_work(other) <= work * MORE_WORK
            };
            let mut found = None;
            for spare in LOWER {
                found = lower.attempt(node, kept, spare, Some((cap, longest)), &mut FxHashSet::default())?.filter(pays);
                if found.is_some() {
                    break;
                }
            }
            let Some((allocation, other)) = found else { break };
            best = allocation;
            *func = other;
        }
        Ok(best)
    }

    /// Another allocation of `kept`, unless its order is one that was `seen`, or it does not find room.
    fn attempt(
        &self,
        node: &CallNode,
        kept: &Function,
        spare: Spare,
        cap: Option<(u16, u32)>,
        seen: &mut FxHashSet<u64>,
    ) -> Result<Option<(FunctionAllocation, Function)>, CompileError> {
        let mut other = kept.clone();
        let Ordered { flow, cycles } = self.order(&mut other, spare)?;
        if cap.is_some_and(|(_, longest)| cycles > longest) || !seen.insert(fingerprint(&other)) {
            return Ok(None);
        }
        match self.allocator.allocate(node.clone(), &mut other, flow, cap.map(|(cap, _)| cap)) {
            Err(AllocError::OutOfRegisters { .. }) => Ok(None),
            done => Ok(Some((done?, other))),
        }
    }
}

/// Of the order of the instructions: orders of the same code that have the same one are taken to be the same.
fn fingerprint(func: &Function) -> u64 {
    let mut hasher = FxHasher::default();
    func.layout().iter().for_each(|block| func.block_insts(*block).hash(&mut hasher));
    hasher.finish()
}
