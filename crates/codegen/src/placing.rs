//! Order and registers of one function. An order that leaves room where registers are few shows its worth in allocation
//! alone: where values went to memory, others that need fewer registers are tried, and the cheapest stays.

use crate::error::CompileError;
use oriole_ori::Function;
use oriole_ori::analysis::{CallNode, Flow};
use oriole_regalloc::{AllocError, FunctionAllocation, ModuleAllocator, OWN_NEED, RegisterBudget, estimated_work};
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
}

/// What is tried first.
pub(crate) const USUAL: Spare = Spare { own_need: OWN_NEED, less: 0 };
/// And then, as long as something is spilled.
const TRIES: [Spare; 6] = [
    Spare { own_need: OWN_NEED, less: 12 },
    Spare { own_need: OWN_NEED + 6, less: 4 },
    Spare { own_need: OWN_NEED, less: 8 },
    Spare { own_need: OWN_NEED + 3, less: 2 },
    Spare { own_need: OWN_NEED + 9, less: 6 },
    Spare { own_need: OWN_NEED - 4, less: 4 },
];
/// With so many registers all warps run on every target.
const LEAST: u16 = 30;
/// With so many that did not help one after the other it is enough.
const VAIN: u32 = 3;
/// Instructions that are put in order and allocated once more at most, all tries together.
const AGAIN: usize = 2048;

/// What to do with a function before it has registers.
pub(crate) struct Placing<'a> {
    pub(crate) allocator: &'a ModuleAllocator<'a>,
    pub(crate) budget: &'a RegisterBudget,
}

/// What is tried for a step of occupancy.
const LOWER: [Spare; 1] = [Spare { own_need: OWN_NEED + 3, less: 2 }];
/// In functions of so many instructions at most.
const SHORT: usize = 384;
/// Steps of occupancy that are tried.
const STEPS: u32 = 2;
/// What may be executed for one, as a part of what was.
const MORE_WORK: f32 = 1.08;

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
    pub(crate) fn order(&self, func: &mut Function, spare: Spare) -> Result<Option<Flow>, CompileError> {
        let arch = self.allocator.arch();
        let flow = oriole_regalloc::recompute(func, arch, self.budget, spare.own_need)?;
        let in_block = |block| self.budget.in_block(block).saturating_sub(spare.less);
        Ok(oriole_sched::order_values(func, arch, flow, |needed| self.budget.of(needed), in_block))
    }

    /// Give the function registers. `flow` may hold what is known of its flow, `kept` the function before [`Self::order`].
    ///
    /// # Errors
    /// Those of allocation.
    pub(crate) fn allocate(
        &self,
        node: CallNode,
        func: &mut Function,
        flow: Option<Flow>,
        kept: Option<Function>,
    ) -> Result<FunctionAllocation, CompileError> {
        let mut seen: FxHashSet<u64> = kept.iter().map(|_| fingerprint(func)).collect();
        let mut best = self.allocator.allocate(node.clone(), func, flow, None)?;
        let Some(kept) = kept else { return Ok(best) };
        if !best.own.spills.any() {
            if kept.inst_count() > SHORT {
                return Ok(best);
            }
            return self.for_more_warps(node, func, best, &kept);
        }
        let mut work = estimated_work(func);
        let mut vain = 0;
        let most = AGAIN / kept.inst_count().max(1);
        for spare in TRIES.into_iter().take(most) {
            if vain == VAIN {
                break;
            }
            let mut other = kept.clone();
            let flow = self.order(&mut other, spare)?;
            if !seen.insert(fingerprint(&other)) {
                continue;
            }
            let allocation = self.allocator.allocate(node.clone(), &mut other, flow, None)?;
            let other_work = estimated_work(&other);
            let spills_no_more = !allocation.own.spills.any();
            vain += 1;
            if spills_no_more || other_work < work {
                (best, work, vain) = (allocation, other_work, 0);
                *func = other;
            }
            if spills_no_more {
                break;
            }
        }
        Ok(best)
    }

    /// Fewer registers where more warps run with them, nothing is spilled and little more is done.
    fn for_more_warps(
        &self,
        node: CallNode,
        func: &mut Function,
        mut best: FunctionAllocation,
        kept: &Function,
    ) -> Result<FunctionAllocation, CompileError> {
        let work = estimated_work(func);
        for _ in 0..STEPS {
            let Some(cap) = self.budget.step_below(&best.own.used) else { break };
            let budget = self.budget.capped(cap);
            let lower = Placing { budget: &budget, ..*self };
            let mut found = None;
            for spare in LOWER {
                let mut other = kept.clone();
                let flow = lower.order(&mut other, spare)?;
                let allocation = match self.allocator.allocate(node.clone(), &mut other, flow, Some(cap)) {
                    Err(AllocError::OutOfRegisters { .. }) => continue,
                    done => done?,
                };
                if !allocation.own.spills.any() && estimated_work(&other) <= work * MORE_WORK {
                    found = Some((allocation, other));
                    break;
                }
            }
            let Some((allocation, other)) = found else { break };
            best = allocation;
            *func = other;
        }
        Ok(best)
    }
}

/// Of the order of the instructions: orders of the same code that have the same one are taken to be the same.
fn fingerprint(func: &Function) -> u64 {
    let mut hasher = FxHasher::default();
    func.layout().iter().for_each(|block| func.block_insts(*block).hash(&mut hasher));
    hasher.finish()
}
