//! Order and registers of one function. An order that leaves room where registers are few shows its worth in allocation
//! alone: where values went to memory, others that need fewer registers are tried, and the cheapest stays; where none did, fewer
//! registers are tried with which more warps run.

use crate::error::CompileError;
use oriole_ori::Function;
use oriole_ori::analysis::{CallNode, Flow};
use oriole_regalloc::{AllocError, FunctionAllocation, ModuleAllocator, OWN_NEED, RegisterBudget, estimated_work};
use oriole_sched::{Lower, MOVE_CYCLES, Ordered, Usage, order_lower, order_values};
use rustc_hash::{FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};

/// What is kept free for other purposes while a function is got ready for allocation.
#[derive(Clone, Copy)]
struct Spare {
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
const USUAL: Spare = Spare { own_need: OWN_NEED, less: 0, move_cycles: MOVE_CYCLES };
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
/// Registers that stay for what lives within a block where there shall be fewer for the sake of more warps.
const LOWER_NEED: u32 = OWN_NEED + 3;
/// Registers that an order leaves free then, and where allocation finds no room so.
const LOWER_SPARE: u32 = 2;
const MORE_SPARE: u32 = 8;
/// In functions of so many instructions at most.
const SHORT: usize = 4096;
/// Steps of occupancy that are tried.
const STEPS: usize = 8;
/// How much longer an order may take for a step, for each warp that runs more; and at most.
const LONGER: f32 = 2.0;
const LONGEST: f32 = 2.5;
/// How much more may be executed for a step, as a part of the registers that it saves; and at most.
const MORE_WORK: f32 = 1.0;
const MOST_WORK: f32 = 1.3;

/// Fewer registers than a function has.
#[derive(Clone, Copy)]
struct Step {
    /// So many may be named.
    cap: u16,
    /// Cycles that an order may take longer for it, if that matters.
    longer: Option<u32>,
    /// What may be executed then ([`estimated_work`]).
    work: f32,
}

/// What to do with a function before it has registers.
pub(crate) struct Placing<'a> {
    pub(crate) allocator: &'a ModuleAllocator<'a>,
    pub(crate) budget: &'a RegisterBudget,
}

impl Placing<'_> {
    /// Compute again what has no room, and put each block in order.
    ///
    /// # Errors
    /// Those of allocation.
    pub(crate) fn order(&self, func: &mut Function) -> Result<Ordered, CompileError> {
        Ok(self.order_with(func, USUAL)?)
    }

    fn order_with(&self, func: &mut Function, spare: Spare) -> Result<Ordered, AllocError> {
        let arch = self.allocator.arch();
        let flow = oriole_regalloc::recompute(func, arch, self.budget, spare.own_need)?;
        let in_block = |block| self.budget.in_block(block).saturating_sub(spare.less);
        let budget = |needed| self.budget.of(needed);
        Ok(order_values(func, arch, flow, Usage { budget, in_block, move_cycles: spare.move_cycles }))
    }

    /// Give the function registers. `ordered` is what [`Self::order`] said of it, if it is in order.
    ///
    /// # Errors
    /// Those of allocation.
    pub(crate) fn allocate(
        &self,
        node: &CallNode,
        func: &mut Function,
        ordered: Option<Ordered>,
    ) -> Result<FunctionAllocation, CompileError> {
        let Some(mut ordered) = ordered else {
            return Ok(self.allocator.allocate(node.clone(), func, None, None)?);
        };
        let count = func.inst_count();
        let may_spill = count <= AGAIN && self.budget.may_be_short(func);
        let may_save_steps = count <= SHORT && self.budget.capped(LEAST).may_be_short(func);
        let kept = (may_spill || may_save_steps).then(|| func.clone());
        let first = self.allocator.allocate(node.clone(), func, ordered.flow.take(), None)?;
        let Some(kept) = kept else { return Ok(first) };
        let tries = Tries { placing: self, node, kept: &kept, ordered: &ordered };
        match first.own.spills.any() {
            false => tries.for_more_warps(func, first),
            true if may_spill => tries.for_fewer_spills(func, first),
            true => Ok(first),
        }
    }

    /// Another allocation, if there is room.
    fn attempt(
        &self,
        node: &CallNode,
        func: &mut Function,
        flow: Option<Flow>,
        cap: Option<u16>,
    ) -> Result<Option<FunctionAllocation>, AllocError> {
        match self.allocator.allocate(node.clone(), func, flow, cap) {
            Err(AllocError::OutOfRegisters { .. }) => Ok(None),
            done => done.map(Some),
        }
    }
}

/// Other tries with one function.
struct Tries<'a> {
    placing: &'a Placing<'a>,
    node: &'a CallNode,
    /// The function as it was put in order.
    kept: &'a Function,
    ordered: &'a Ordered,
}

impl Tries<'_> {
    /// The allocation of those that are tried with which least is done.
    fn for_fewer_spills(
        &self,
        func: &mut Function,
        mut best: FunctionAllocation,
    ) -> Result<FunctionAllocation, CompileError> {
        let mut work = estimated_work(func);
        if let Some(cap) = self.placing.budget.everywhere() {
            let step = Step { cap, longer: None, work };
            if let Some(lower) = self.order_lower(step, LOWER_SPARE)?
                && let Some((allocation, other)) = self.allocate_lower(step, lower)?
            {
                *func = other;
                return Ok(allocation);
            }
        }
        // Orders of the same code that have the same one are taken to be the same.
        let mut seen = FxHashSet::from_iter([fingerprint(self.kept)]);
        let mut vain = 0;
        let most = AGAIN / self.kept.inst_count().max(1);
        for spare in TRIES.into_iter().take(most) {
            let mut other = self.kept.clone();
            let Ordered { flow, .. } = self.placing.order_with(&mut other, spare)?;
            if !seen.insert(fingerprint(&other)) {
                continue;
            }
            let Some(allocation) = self.placing.attempt(self.node, &mut other, flow, None)? else { continue };
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

    /// Fewer registers where more warps run with them, nothing is spilled and little more is done.
    fn for_more_warps(
        &self,
        func: &mut Function,
        best: FunctionAllocation,
    ) -> Result<FunctionAllocation, CompileError> {
        let budget = self.placing.budget;
        let named = RegisterBudget::named(&best.own.used);
        let Some(first) = budget.next_step(named) else { return Ok(best) };
        let work = estimated_work(func);
        let caps = std::iter::successors(Some(first), |cap| budget.next_step(*cap));
        let step = |cap: u16| {
            let gain = f32::from(first) / f32::from(cap);
            let more_work = (1.0 + MORE_WORK * (f32::from(named) / f32::from(cap) - 1.0)).min(MOST_WORK);
            let longer = self.ordered.cycles as f32 * ((LONGER * gain).min(LONGEST) - 1.0);
            Step { cap, longer: Some(longer as u32), work: work * more_work }
        };
        // As far down as there are orders; then up again until one of them finds room.
        let mut down = Vec::new();
        for step in caps.take(STEPS).map(step) {
            let Some(lower) = self.order_lower(step, LOWER_SPARE)? else { break };
            down.push((step, lower));
        }
        for (step, lower) in down.into_iter().rev() {
            if let Some((allocation, other)) = self.allocate_lower(step, lower)? {
                *func = other;
                return Ok(allocation);
            }
        }
        Ok(best)
    }

    /// The function in an order of fewer registers, if it does not take too long.
    fn order_lower(&self, step: Step, spare: u32) -> Result<Option<(Function, Flow)>, AllocError> {
        let (arch, mut func) = (self.placing.allocator.arch(), self.kept.clone());
        let flow = oriole_regalloc::recompute(&mut func, arch, &self.placing.budget.capped(step.cap), LOWER_NEED)?;
        let lower = Lower { registers: step.cap.into(), spare, cycles: step.longer };
        Ok(order_lower(&mut func, arch, flow, &self.ordered.source, lower).map(|flow| (func, flow)))
    }

    /// Registers for the function in a lower order, or in one that is lower yet; nothing if something is spilled then, or too much
    /// is executed.
    fn allocate_lower(
        &self,
        step: Step,
        (mut func, flow): (Function, Flow),
    ) -> Result<Option<(FunctionAllocation, Function)>, CompileError> {
        let attempt = |func: &mut Function, flow| self.placing.attempt(self.node, func, Some(flow), Some(step.cap));
        let mut found = attempt(&mut func, flow)?;
        if found.is_none()
            && let Some((lower, flow)) = self.order_lower(step, MORE_SPARE)?
        {
            func = lower;
            found = attempt(&mut func, flow)?;
        }
        let pays = |found: &FunctionAllocation| !found.own.spills.any() && estimated_work(&func) <= step.work;
        Ok(found.filter(pays).map(|allocation| (allocation, func)))
    }
}

/// Of the order of the instructions.
fn fingerprint(func: &Function) -> u64 {
    let mut hasher = FxHasher::default();
    func.layout().iter().for_each(|block| func.block_insts(*block).hash(&mut hasher));
    hasher.finish()
}
