//! Other orders and allocations of one function. An order that leaves room where registers are few shows its worth in
//! allocation alone: where values went to memory, others that need fewer registers are tried, and the cheapest stays; where
//! none did, fewer registers are tried with which more warps run.

use crate::error::CompileError;
use crate::placing::{AGAIN, Placing, Spare};
use oriole_ori::Function;
use oriole_ori::analysis::{CallNode, Flow};
use oriole_regalloc::{AllocError, FunctionAllocation, OWN_NEED, Recomputing, RegisterBudget, estimated_work};
use oriole_sched::{Lower, Lowering, Ordered, SourceOrder};
use rustc_hash::{FxHashSet, FxHasher};
use std::borrow::Cow;
use std::hash::{Hash, Hasher};

/// Where values must not go to memory if there is another way.
const DEAR: u32 = 60;

/// What is tried as long as something is spilled.
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
/// Registers that stay for what lives within a block where there shall be fewer for the sake of more warps.
const LOWER_NEED: u32 = OWN_NEED + 3;
/// Registers that an order leaves free then, and where allocation finds no room so.
const LOWER_SPARE: u32 = 2;
const MORE_SPARE: u32 = 8;
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

impl Step {
    fn lower(self, spare: u32) -> Lower {
        Lower { registers: self.cap.into(), spare, cycles: self.longer }
    }
}

/// Other tries with one function.
pub(crate) struct Tries<'a> {
    pub(crate) placing: &'a Placing<'a>,
    pub(crate) node: &'a CallNode,
    /// The function as it was put in order.
    pub(crate) kept: &'a Function,
    pub(crate) ordered: &'a Ordered,
}

/// The function with what is computed again in it for a step, and its orders. It is the same for several steps.
struct Form<'a> {
    func: Cow<'a, Function>,
    flow: Flow,
    lowering: Lowering,
    source: &'a SourceOrder,
    /// Registers that what lives across calls needs.
    across_calls: u16,
}

impl Form<'_> {
    /// Whether it may be that so few registers suffice.
    fn may_do(&mut self, step: Step) -> bool {
        self.across_calls <= step.cap && self.lowering.is_possible(&self.func, self.source, step.lower(LOWER_SPARE))
    }
}

impl<'a> Tries<'a> {
    /// The allocation of those that are tried with which least is done. `flow` is that of the kept function.
    pub(crate) fn for_fewer_spills(
        &self,
        flow: Flow,
        func: &mut Function,
        mut best: FunctionAllocation,
    ) -> Result<FunctionAllocation, CompileError> {
        let mut work = estimated_work(func);
        if let Some(cap) = self.placing.budget.everywhere() {
            let step = Step { cap, longer: None, work };
            let mut form = match self.recomputed(cap, &flow)? {
                Some(form) => form,
                None => self.form(Cow::Borrowed(self.kept), flow),
            };
            if form.may_do(step)
                && let Some((allocation, other)) = self.allocate_lower(step, &mut form)?
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

    /// Fewer registers where more warps run with them, nothing is spilled and little more is done. `flow` is that of the kept
    /// function.
    pub(crate) fn for_more_warps(
        &self,
        flow: Flow,
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
        // As far down as there are orders; then up again until one of them is short enough and finds room.
        let mut forms = vec![self.form(Cow::Borrowed(self.kept), flow)];
        let mut down = Vec::new();
        for step in caps.take(STEPS).map(step) {
            let mut at = 0;
            if let Some(form) = self.recomputed(step.cap, &forms[0].flow)? {
                at = forms.len();
                forms.push(form);
            }
            if !forms[at].may_do(step) {
                break;
            }
            down.push((step, at));
        }
        for (step, at) in down.into_iter().rev() {
            if let Some((allocation, other)) = self.allocate_lower(step, &mut forms[at])? {
                *func = other;
                return Ok(allocation);
            }
        }
        Ok(best)
    }

    /// The kept function with what has to be computed again so that there are no more registers than `cap`, if there is
    /// something.
    fn recomputed(&self, cap: u16, flow: &Flow) -> Result<Option<Form<'a>>, AllocError> {
        let (arch, budget) = (self.placing.allocator.arch(), self.placing.budget.capped(cap));
        let Some(recomputing) = Recomputing::plan(self.kept, arch, flow, &budget, LOWER_NEED) else { return Ok(None) };
        let mut func = self.kept.clone();
        recomputing.carry_out(&mut func)?;
        let flow = Flow::new(&func);
        Ok(Some(self.form(Cow::Owned(func), flow)))
    }

    fn form(&self, func: Cow<'a, Function>, flow: Flow) -> Form<'a> {
        let allocator = self.placing.allocator;
        let lowering = Lowering::new(&func, allocator.arch(), &flow.live);
        let across_calls = allocator.least_across_calls(&func, &flow);
        Form { func, flow, lowering, source: &self.ordered.source, across_calls }
    }

    /// Registers for the function in a lower order, or in one that is lower yet; nothing if something is spilled then, or too much
    /// is executed.
    fn allocate_lower(
        &self,
        step: Step,
        form: &mut Form<'_>,
    ) -> Result<Option<(FunctionAllocation, Function)>, CompileError> {
        let mut before = None;
        for spare in [LOWER_SPARE, MORE_SPARE] {
            let order = form.lowering.order(&form.func, form.source, step.lower(spare));
            let Some(order) = order.filter(|order| before.as_ref() != Some(order)) else { break };
            let mut func = form.func.clone().into_owned();
            order.apply(&mut func);
            before = Some(order);
            let found = self.placing.attempt(self.node, &mut func, Some(form.flow.clone()), Some(step.cap))?;
            if let Some(allocation) = found {
                let pays = !allocation.own.spills.any() && estimated_work(&func) <= step.work;
                return Ok(pays.then_some((allocation, func)));
            }
        }
        Ok(None)
    }
}

/// Of the order of the instructions.
fn fingerprint(func: &Function) -> u64 {
    let mut hasher = FxHasher::default();
    func.layout().iter().for_each(|block| func.block_insts(*block).hash(&mut hasher));
    hasher.finish()
}
