//! Order and registers of one function. An order that leaves room where registers are few shows its worth in allocation
//! alone: where values went to memory, others that need fewer registers are tried, and the cheapest stays.

use crate::error::CompileError;
use oriole_ori::Function;
use oriole_ori::analysis::{CallNode, Flow};
use oriole_regalloc::{FunctionAllocation, ModuleAllocator, RegisterBudget, estimated_work};
use rustc_hash::{FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};

/// Registers that the order leaves to allocation beyond what it needs, one try after the other: wide values need
/// neighbours, and what lives across calls the registers that these leave alone.
const TIGHTER: [u32; 5] = [12, 4, 8, 2, 6];
/// With so many that did not help one after the other it is enough.
const VAIN: u32 = 2;
/// Instructions that are put in order and allocated once more at most, all tries together.
const AGAIN: usize = 2048;

/// What to do with a function before it has registers.
pub(crate) struct Placing<'a> {
    pub(crate) allocator: &'a ModuleAllocator<'a>,
    pub(crate) budget: &'a RegisterBudget,
}

impl Placing<'_> {
    /// The function as it has to be kept for other orders, if these may be needed.
    pub(crate) fn keep(&self, func: &Function) -> Option<Function> {
        (self.budget.may_be_short(func) && func.inst_count() <= AGAIN).then(|| func.clone())
    }

    /// Put each block in order, leaving `less` registers of what there are.
    pub(crate) fn order(&self, func: &mut Function, flow: Option<Flow>, less: u32) -> Option<Flow> {
        let in_block = |block| self.budget.in_block(block).saturating_sub(less);
        oriole_sched::order_values(func, self.allocator.arch(), flow, |needed| self.budget.of(needed), in_block)
    }

    /// Give the function registers. `flow` may hold what is known of its flow, `kept` the function before it was put in order.
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
        let mut best = self.allocator.allocate(node.clone(), func, flow)?;
        let Some(kept) = kept.filter(|_| best.own.spills.any()) else { return Ok(best) };
        let mut work = estimated_work(func);
        let mut vain = 0;
        let most = AGAIN / kept.inst_count().max(1);
        for less in TIGHTER.into_iter().take(most) {
            if vain == VAIN {
                break;
            }
            let mut other = kept.clone();
            let flow = self.order(&mut other, None, less);
            if !seen.insert(fingerprint(&other)) {
                continue;
            }
            let allocation = self.allocator.allocate(node.clone(), &mut other, flow)?;
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
}

/// Of the order of the instructions: orders of the same code that have the same one are taken to be the same.
fn fingerprint(func: &Function) -> u64 {
    let mut hasher = FxHasher::default();
    func.layout().iter().for_each(|block| func.block_insts(*block).hash(&mut hasher));
    hasher.finish()
}
