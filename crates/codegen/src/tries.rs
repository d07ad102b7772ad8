//! Other orders and allocations of one function. An order that leaves room where registers are few shows its worth in
//! allocation alone: where values went to memory, others that need fewer registers are tried, and the cheapest stays; where
//! none did, fewer registers are tried with which more warps run.

use crate::error::CompileError;
use crate::placing::{AGAIN, Placing, Spare};
use crate::throughput::{NEAR, cycles_per_warp, latency};
use oriole_ori::analysis::{CallNode, Flow};
use oriole_ori::{Block, Function};
use oriole_regalloc::{
    AllocError, FunctionAllocation, OWN_NEED, Recomputable, Recomputing, RegisterBudget, Wanted, estimated_work,
    work_without_copies,
};
use oriole_sched::{Lower, Lowering, Ordered, Reordering, SourceOrder};
use rustc_hash::{FxHashSet, FxHasher};
use std::borrow::Cow;
use std::cell::OnceCell;
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
/// What spills nothing is good enough where it takes so much of what the order takes for which there was no room.
const GOOD: f32 = 1.1;
/// Longer functions are tried less often: it takes long.
const LONG: usize = 700;
const LONG_TRIES: usize = 2;
/// Registers that stay for what lives within a block where there shall be fewer for the sake of more warps.
const LOWER_NEED: u32 = OWN_NEED + 3;
/// Registers that an order leaves free then, and where allocation finds no room so.
const LOWER_SPARE: u32 = 2;
const MORE_SPARE: u32 = 8;
const MOST_SPARE: u32 = 14;
/// Steps of occupancy that are tried.
const STEPS: usize = 8;
/// How much longer an order may take for a step, for each warp that runs more; and at most.
const LONGER: f32 = 2.4;
const LONGEST: f32 = 2.8;
/// How much more may be executed for a step at most.
const MOST_WORK: f32 = 1.3;
/// How long the warps of a step may take together, as a part of what they take without it, by [`cycles_per_warp`]: a launch may have
/// fewer warps than would run, and loads that come one behind the other cost more than is estimated. Where values are computed again
/// for a further step, it has to pay more.
const MOST_CYCLES: f32 = 0.95;
const MOST_CYCLES_FURTHER: f32 = 0.92;

/// The form of the function as it was put in order.
const KEPT: usize = 0;

/// Fewer registers than a function has.
#[derive(Clone, Copy)]
struct Step {
    /// So many may be named.
    cap: u16,
    /// What has gone to uniform registers is taken to have stayed: it is to make steps easier, not to allow more of them.
    uniform: u32,
    /// Cycles that an order may take longer for it, if that matters.
    longer: Option<u32>,
    /// What may be executed then ([`estimated_work`]).
    work: f32,
    /// What there is without it, if its warps shall not take much longer together.
    than: Option<Than>,
}

/// What a step has to be worth its while against.
#[derive(Clone, Copy)]
struct Than {
    /// Registers of the kept function.
    named: u16,
    /// What is executed of it ([`estimated_work`]).
    work: f32,
    /// How long its warps may take together ([`cycles_per_warp`]), as a part of what these do.
    most: f32,
}

impl Step {
    fn lower(self, spare: u32) -> Lower {
        Lower { registers: u32::from(self.cap).saturating_sub(self.uniform), spare, cycles: self.longer }
    }
}

/// Other tries with one function.
pub(crate) struct Tries<'a> {
    placing: &'a Placing<'a>,
    node: &'a CallNode,
    /// The function as it was put in order.
    kept: &'a Function,
    ordered: &'a Ordered,
    recomputable: Recomputable<'a>,
    /// That of the kept function, once it is asked for.
    latency: OnceCell<f32>,
    /// The kept function is the first.
    forms: Vec<Form<'a>>,
    /// The most registers of the steps that have been tried.
    tried: u16,
}

/// The function with what is computed again in it for a step, and its orders. It is the same for several steps.
struct Form<'a> {
    func: Cow<'a, Function>,
    flow: Cow<'a, Flow>,
    source: &'a SourceOrder,
    /// Once it is asked for.
    lowering: Option<Lowering>,
    /// Registers that what lives across calls needs, once it is asked for.
    across_calls: Option<u16>,
}

impl<'a> Form<'a> {
    fn new(func: Cow<'a, Function>, flow: Cow<'a, Flow>, source: &'a SourceOrder) -> Self {
        Form { func, flow, source, lowering: None, across_calls: None }
    }

    /// Whether it may be that the registers of a step suffice.
    fn may_do(&mut self, step: Step, placing: &Placing<'_>) -> bool {
        let (func, flow, allocator, seed) = (&*self.func, &self.flow, placing.allocator, placing.seed);
        let across_calls = *self.across_calls.get_or_insert_with(|| allocator.least_across_calls(func, flow));
        let lowering = self.lowering.get_or_insert_with(|| Lowering::new(func, allocator.arch(), &flow.live, seed));
        across_calls <= step.cap && lowering.is_possible(func, self.source, step.lower(LOWER_SPARE))
    }

    /// Registers that its blocks lack for a step.
    fn missing(&mut self, step: Step) -> Vec<(Block, u32)> {
        self.lowering.as_mut().map_or_else(Vec::new, |low| low.missing(&self.func, self.source, step.lower(MORE_SPARE)))
    }

    /// Its instructions in an order for a step that leaves so many registers free. Whether there is one is judged as if what
    /// is in uniform registers were in general ones; the order then has their room.
    fn order(&mut self, step: Step, spare: u32) -> Option<Reordering> {
        let lowering = self.lowering.as_mut()?;
        let judged = lowering.order(&self.func, self.source, step.lower(spare))?;
        if step.uniform == 0 {
            return Some(judged);
        }
        lowering.order(&self.func, self.source, Step { uniform: 0, ..step }.lower(spare)).or(Some(judged))
    }
}

impl<'a> Tries<'a> {
    /// For a function that is in order, with its flow.
    pub(crate) fn new(
        placing: &'a Placing<'a>,
        node: &'a CallNode,
        kept: &'a Function,
        ordered: &'a Ordered,
        flow: &'a Flow,
    ) -> Self {
        let forms = vec![Form::new(Cow::Borrowed(kept), Cow::Borrowed(flow), &ordered.source)];
        let recomputable = Recomputable::new(kept, placing.allocator.arch(), flow);
        Tries { placing, node, kept, ordered, recomputable, latency: OnceCell::new(), forms, tried: 0 }
    }

    /// The allocation of those that are tried whose warps take least time together.
    pub(crate) fn for_fewer_spills(
        &mut self,
        func: &mut Function,
        mut best: FunctionAllocation,
    ) -> Result<FunctionAllocation, CompileError> {
        let mut least = self.cycles(func, &best);
        if let Some((allocation, other)) = self.without_spills(estimated_work(func))? {
            let cycles = self.cycles(&other, &allocation);
            if cycles < least {
                (best, least) = (allocation, cycles);
                *func = other;
            }
            if cycles <= GOOD * self.kept_cycles(&best) {
                return Ok(best);
            }
        }
        // Orders of the same code that have the same one are taken to be the same.
        let mut seen = FxHashSet::from_iter([fingerprint(self.kept)]);
        let mut vain = 0;
        let count = self.kept.inst_count();
        let most = if count > LONG { LONG_TRIES } else { AGAIN / count.max(1) };
        for spare in TRIES.into_iter().take(most) {
            let mut other = self.kept.clone();
            let Ordered { flow, .. } = self.placing.order_with(&mut other, spare, None, None)?;
            if !seen.insert(fingerprint(&other)) {
                continue;
            }
            let Some(allocation) = self.placing.attempt(self.node, &mut other, flow, None)? else { continue };
            let cycles = self.cycles(&other, &allocation);
            let spills_no_more = !allocation.own.spills.any();
            vain += 1;
            if cycles < least {
                (best, least, vain) = (allocation, cycles, 0);
                *func = other;
            }
            if spills_no_more || vain == VAIN {
                break;
            }
        }
        Ok(best)
    }

    /// An allocation with which nothing goes to memory and no more than so much is executed.
    fn without_spills(&mut self, work: f32) -> Result<Option<(FunctionAllocation, Function)>, CompileError> {
        let Some(cap) = self.placing.budget.everywhere() else { return Ok(None) };
        let step = Step { cap, uniform: 0, longer: None, work, than: None };
        let at = self.form(cap)?;
        if self.forms[at].may_do(step, self.placing) { self.allocate_lower(step, at) } else { Ok(None) }
    }

    /// Fewer registers than are `named` where more warps run with them, nothing is spilled and little more is done than the `work`
    /// that there is.
    pub(crate) fn for_more_warps(
        &mut self,
        named: u16,
        work: impl FnOnce() -> f32,
    ) -> Result<Option<(FunctionAllocation, Function)>, CompileError> {
        let budget = self.placing.budget;
        let Some(first) = budget.next_step(named).filter(|first| *first > self.tried) else { return Ok(None) };
        let work = work();
        let tried = std::mem::replace(&mut self.tried, first);
        let caps = std::iter::successors(Some(first), |cap| budget.next_step(*cap)).take_while(|cap| *cap > tried);
        let extra_work = self.placing.retries.extra_work;
        let step = |cap: u16| {
            let gain = f32::from(first) / f32::from(cap);
            let more_work = (1.0 + extra_work * (f32::from(named) / f32::from(cap) - 1.0)).min(MOST_WORK);
            let longer = self.ordered.cycles as f32 * ((LONGER * gain).min(LONGEST) - 1.0);
            let (uniform, than) = (self.ordered.uniform_peak, Some(Than { named, work, most: MOST_CYCLES }));
            Step { cap, uniform, longer: Some(longer as u32), work: work * more_work, than }
        };
        // As far down as there are orders; then up again until one of them is short enough and finds room.
        let steps: Vec<Step> = caps.take(STEPS).map(step).collect();
        let mut down = Vec::new();
        for step in steps {
            // What is computed again is executed more often: for one step alone.
            if self.forms[KEPT].may_do(step, self.placing) {
                down.push((step, KEPT));
                continue;
            }
            let most = if down.is_empty() { MOST_CYCLES } else { MOST_CYCLES_FURTHER };
            let step = Step { than: Some(Than { named, work, most }), ..step };
            down.extend(self.recomputed_for(step)?.map(|at| (step, at)));
            break;
        }
        for (step, at) in down.into_iter().rev() {
            let found = self.allocate_lower(step, at)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The kept function with what has to be computed again so that there are no more registers than `cap`.
    fn form(&mut self, cap: u16) -> Result<usize, AllocError> {
        self.recompute(cap, &[]).map_or(Ok(KEPT), |recomputing| self.recomputed(&recomputing))
    }

    /// The form that does for a step of those in which more and more is computed again.
    fn recomputed_for(&mut self, step: Step) -> Result<Option<usize>, AllocError> {
        let at = self.form(step.cap)?;
        let may_do = at != KEPT && self.forms[at].may_do(step, self.placing);
        if may_do { Ok(Some(at)) } else { self.roomier(at, step) }
    }

    /// Where a form does not do for a step: another in which more is computed again, for what its blocks lack.
    fn roomier(&mut self, at: usize, step: Step) -> Result<Option<usize>, AllocError> {
        let missing = self.forms[at].missing(step);
        let Some(recomputing) = self.recompute(step.cap, &missing) else { return Ok(None) };
        if recomputing.short() > MORE_SPARE {
            return Ok(None);
        }
        let at = self.recomputed(&recomputing)?;
        Ok(self.forms[at].may_do(step, self.placing).then_some(at))
    }

    /// What has to be computed again in the kept function so that there are no more registers than `cap`. In some blocks more
    /// may be known to be `missing`.
    fn recompute(&self, cap: u16, missing: &[(Block, u32)]) -> Option<Recomputing> {
        self.recomputable.plan(&self.placing.budget.capped(cap), Wanted::of(LOWER_NEED), missing)
    }

    fn recomputed(&mut self, recomputing: &Recomputing) -> Result<usize, AllocError> {
        let func = recomputing.in_copy(self.kept)?;
        let flow = Flow::new(&func);
        self.forms.push(Form::new(Cow::Owned(func), Cow::Owned(flow), &self.ordered.source));
        Ok(self.forms.len() - 1)
    }

    /// Registers for the function in a lower order, or in one that is lower yet; nothing if something is spilled then, or too much
    /// is executed.
    fn allocate_lower(
        &mut self,
        step: Step,
        at: usize,
    ) -> Result<Option<(FunctionAllocation, Function)>, CompileError> {
        let form = &mut self.forms[at];
        let mut before = None;
        for spare in [LOWER_SPARE, MORE_SPARE, MOST_SPARE] {
            let Some(order) = form.order(step, spare).filter(|order| before.as_ref() != Some(order)) else { break };
            let mut func = form.func.clone().into_owned();
            order.apply(&mut func);
            before = Some(order);
            let found =
                self.placing.attempt(self.node, &mut func, Some(form.flow.clone().into_owned()), Some(step.cap))?;
            if let Some(allocation) = found {
                let work = estimated_work(&func);
                let pays = !allocation.own.spills.any() && work <= step.work && self.is_fast(&func, work, step);
                return Ok(pays.then_some((allocation, func)));
            }
        }
        Ok(None)
    }

    /// The same of the function as it was put in order, if it found room in what an allocation names.
    fn kept_cycles(&self, allocation: &FunctionAllocation) -> f32 {
        let (arch, named) = (self.placing.allocator.arch(), RegisterBudget::named(&allocation.own.used));
        cycles_per_warp(arch, named, work_without_copies(self.kept), self.kept_latency())
    }

    fn kept_latency(&self) -> f32 {
        let arch = self.placing.allocator.arch();
        *self.latency.get_or_init(|| latency(self.kept, arch, &self.forms[KEPT].flow.live, NEAR))
    }

    /// Cycles of a scheduler for each warp of an allocated function.
    fn cycles(&self, func: &Function, allocation: &FunctionAllocation) -> f32 {
        let (arch, named) = (self.placing.allocator.arch(), RegisterBudget::named(&allocation.own.used));
        cycles_per_warp(arch, named, estimated_work(func), latency(func, arch, &Flow::new(func).live, NEAR))
    }

    /// Whether an allocation for a step, with so much to execute, is worth it: its warps do not take too long together.
    fn is_fast(&self, func: &Function, work: f32, step: Step) -> bool {
        let Some(than) = step.than else { return true };
        let arch = self.placing.allocator.arch();
        let kept = self.kept_latency();
        let lower = latency(func, arch, &Flow::new(func).live, NEAR);
        cycles_per_warp(arch, step.cap, work, lower) <= than.most * cycles_per_warp(arch, than.named, than.work, kept)
    }
}

/// Of the order of the instructions.
fn fingerprint(func: &Function) -> u64 {
    let mut hasher = FxHasher::default();
    func.layout().iter().for_each(|block| func.block_insts(*block).hash(&mut hasher));
    hasher.finish()
}
