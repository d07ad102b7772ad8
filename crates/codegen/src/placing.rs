//! Order and registers of one function, and whether it is tried again ([`crate::tries`]).

use crate::error::CompileError;
use crate::laps::{Laps, Stage};
use crate::throughput::{FAR, cycles_per_warp, latency};
use crate::tries::Tries;
use oriole_isa::{Effects, Opcode, Space};
use oriole_opt::knobs::Knobs;
use oriole_ori::analysis::{CallNode, Flow};
use oriole_ori::{Block, Function};
use oriole_passes::{FastCompile, Settings};
use oriole_regalloc::{
    AllocError, FunctionAllocation, ModuleAllocator, OWN_NEED, Recomputable, RegisterBudget, Wanted, estimated_work,
    retest, work_without_copies,
};
use oriole_sched::{MOVE_CYCLES, OrderSeed, Ordered, Survey, Usage, order_values};

/// What is kept free for other purposes while a function is got ready for allocation.
#[derive(Clone, Copy)]
pub(crate) struct Spare {
    /// Registers that stay for what lives within a block ([`OWN_NEED`]).
    pub(crate) own_need: u32,
    /// Registers that the order leaves to allocation beyond what it needs: wide values need neighbours, and what lives across
    /// calls the registers that these leave alone.
    pub(crate) less: u32,
    /// What the order reckons for a value that goes to memory, or comes back, in cycles.
    pub(crate) move_cycles: u32,
}

/// What is tried first.
const USUAL: Spare = Spare { own_need: OWN_NEED, less: 0, move_cycles: MOVE_CYCLES };
/// Registers that stay for what lives within a block if no more than so much is executed for it, as a part of what is anyway: the
/// first of these that is to be had.
const ROOMS: [(u32, f32); 2] = [(OWN_NEED + 9, 1.01), (OWN_NEED + 3, 1.05)];
/// Room for the loads of several rounds of a loop, where it costs little.
const MUCH_ROOM: Wanted = Wanted { own_need: 28, dearest: 0.1 };
/// Only blocks with so many loads of global memory have some to move, and only in functions of so many instructions at most was anything
/// won: of 97 functions that were put in order with that room four were faster, all of these.
const LOADS: usize = 4;
const ROOMY: usize = 1024;
/// How long the function with that room may take at most, as a part of what it takes without: what is estimated has to be worth it.
const ROOMIER: f32 = 0.975;
/// Instructions that are put in order and allocated once more at most for fewer spills, all tries together.
pub(crate) const AGAIN: usize = 2048;
/// With so many registers all warps run on every target.
const LEAST: u16 = 30;
/// Instructions of a function at most that is tried again for more warps.
const SHORT: usize = 4096;

/// What to do with a function before it has registers.
pub(crate) struct Placing<'a> {
    pub(crate) allocator: &'a ModuleAllocator<'a>,
    pub(crate) budget: &'a RegisterBudget,
    pub(crate) retries: Retries,
    /// Which order is taken.
    pub(crate) seed: OrderSeed,
}

/// The level from which on functions are ordered and allocated again.
const RETRIED_FROM: u8 = 3;

/// Whether a function is ordered and allocated again, and how much that may cost.
#[derive(Clone, Copy)]
pub(crate) struct Retries {
    /// At all.
    pub(crate) allowed: bool,
    /// How much more may be executed so that more warps run, as a part of the registers that this saves.
    pub(crate) extra_work: f32,
}

impl Retries {
    /// As the options have it: nothing is tried again with `--fast-compile`, nor below -O3. It takes an eighth of the time.
    pub(crate) fn new(knobs: &Knobs, settings: &Settings) -> Self {
        let allowed = knobs.is_set("retries") && settings.fast == FastCompile::Off && settings.level >= RETRIED_FROM;
        Retries { allowed, extra_work: knobs.double("extra-work") as f32 }
    }
}

impl Placing<'_> {
    /// Compute again what has no room, and put each block in order.
    ///
    /// # Errors
    /// Those of allocation.
    pub(crate) fn order(&self, func: &mut Function, laps: &mut Laps) -> Result<Ordered, CompileError> {
        let flow = retest(func, None)?;
        let (mut flow, mut survey) = self.make_room(func, flow)?;
        let roomier = self.roomier(func, &mut flow, &mut survey)?;
        laps.end(Stage::Recompute);
        let ordered = self.order_for_room(func, flow, survey, roomier);
        laps.end(Stage::Order);
        ordered
    }

    /// Put each block in order: of the function, or of its `roomier` form if that is faster so.
    fn order_for_room(
        &self,
        func: &mut Function,
        flow: Option<Flow>,
        survey: Option<Survey>,
        roomier: Option<Function>,
    ) -> Result<Ordered, CompileError> {
        let mut ordered = self.order_with(func, USUAL, flow, survey)?;
        let Some(mut other) = roomier else { return Ok(ordered) };
        let mut of_other = self.order_with(&mut other, USUAL, None, None)?;
        if self.cycles(&other, &mut of_other) > ROOMIER * self.cycles(func, &mut ordered) {
            return Ok(ordered);
        }
        *func = other;
        Ok(of_other)
    }

    /// The function with room for many loads at a time, where values that live through loops can be computed again behind them
    /// for little. Most code is slower so (what is computed again is executed again): whether it pays is seen in its order.
    /// `flow` and `survey` hold what is known of the function, or will then.
    fn roomier(
        &self,
        func: &Function,
        flow: &mut Option<Flow>,
        survey: &mut Option<Survey>,
    ) -> Result<Option<Function>, AllocError> {
        if !self.retries.allowed || func.inst_count() > ROOMY || !self.budget.capped(LEAST).may_be_short(func) {
            return Ok(None);
        }
        if !func.layout().iter().any(|block| loads(func, *block) >= LOADS) {
            return Ok(None);
        }
        let (arch, flow) = (self.allocator.arch(), flow.get_or_insert_with(|| Flow::new(func)));
        if flow.cfg.backedges().is_empty() {
            return Ok(None);
        }
        let survey = survey.get_or_insert_with(|| Survey::of(func, arch, &flow.live));
        let recomputing = Recomputable::new(func, arch, flow).plan(&self.free(survey), MUCH_ROOM, &[]);
        recomputing.map(|recomputing| recomputing.in_copy(func)).transpose()
    }

    /// As many registers as cost no warps beside those that the function needs.
    fn free(&self, survey: &Survey) -> RegisterBudget {
        self.budget.capped(self.budget.of(survey.general_need()) as u16)
    }

    /// Cycles for each warp ([`cycles_per_warp`]) of a function that is in order, as if its loads came from far away.
    fn cycles(&self, func: &Function, ordered: &mut Ordered) -> f32 {
        let arch = self.allocator.arch();
        let named = ordered.peak.map_or(LEAST, |peak| self.budget.of(peak) as u16);
        let flow = ordered.flow.get_or_insert_with(|| Flow::new(func));
        cycles_per_warp(arch, named, work_without_copies(func), latency(func, arch, &flow.live, FAR))
    }

    /// Compute again what lives through blocks where, with as many registers as cost no warps, little would be left for what lives
    /// within them: an order needs some to choose from. `flow` may hold what is known of the function's flow; gives what is known
    /// then, and what was seen of the function, if it was looked at and has not changed.
    fn make_room(&self, func: &mut Function, flow: Option<Flow>) -> Result<(Option<Flow>, Option<Survey>), AllocError> {
        if !self.budget.capped(LEAST).may_be_short(func) {
            return Ok((flow, None));
        }
        let (arch, flow) = (self.allocator.arch(), flow.unwrap_or_else(|| Flow::new(func)));
        let survey = Survey::of(func, arch, &flow.live);
        let free = self.free(&survey);
        let recomputable = Recomputable::new(func, arch, &flow);
        let mut work = None;
        for (need, most) in ROOMS {
            let Some(recomputing) = recomputable.plan(&free, Wanted::of(need), &[]) else { continue };
            let roomy = recomputing.in_copy(func)?;
            // Most functions have room: what they execute is not asked then.
            let before = *work.get_or_insert_with(|| work_without_copies(func));
            if work_without_copies(&roomy) <= most * before {
                *func = roomy;
                return Ok((None, None));
            }
        }
        Ok((Some(flow), Some(survey)))
    }

    pub(crate) fn order_with(
        &self,
        func: &mut Function,
        spare: Spare,
        flow: Option<Flow>,
        survey: Option<Survey>,
    ) -> Result<Ordered, AllocError> {
        let arch = self.allocator.arch();
        let flow = oriole_regalloc::recompute(func, arch, self.budget, spare.own_need, flow)?;
        // The flow is kept where nothing has changed.
        let survey = survey.filter(|_| flow.is_some());
        let in_block = |block| self.budget.in_block(block).saturating_sub(spare.less);
        let budget = |needed| self.budget.of(needed);
        let usage = Usage { budget, in_block, move_cycles: spare.move_cycles, seed: self.seed };
        Ok(order_values(func, arch, flow, survey, usage))
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
        let may_spill = self.retries.allowed && count <= AGAIN && self.budget.may_be_short(func);
        let may_save_steps = self.retries.allowed && count <= SHORT && self.budget.capped(LEAST).may_be_short(func);
        if !may_spill && !may_save_steps {
            return Ok(self.allocator.allocate(node.clone(), func, ordered.flow.take(), None)?);
        }
        let kept = func.clone();
        let flow = ordered.flow.take().unwrap_or_else(|| Flow::new(func));
        let mut tries = Tries::new(self, node, &kept, &ordered, &flow);
        // What the first allocation would name can be told from the order: a step below that needs no first allocation.
        let named = ordered.peak.filter(|_| may_save_steps).map_or(0, |peak| self.budget.of(peak) as u16);
        if let Some((allocation, lower)) = tries.for_more_warps(named, || work_without_copies(&kept))? {
            *func = lower;
            return Ok(allocation);
        }
        let first = self.allocator.allocate(node.clone(), func, Some(flow.clone()), None)?;
        if first.own.spills.any() {
            return if may_spill { tries.for_fewer_spills(func, first) } else { Ok(first) };
        }
        let more = Some(RegisterBudget::named(&first.own.used)).filter(|more| may_save_steps && *more > named);
        let found = more.map(|named| tries.for_more_warps(named, || estimated_work(func))).transpose()?.flatten();
        Ok(found.map_or(first, |(allocation, lower)| {
            *func = lower;
            allocation
        }))
    }

    /// Another allocation, if there is room.
    pub(crate) fn attempt(
        &self,
        node: &CallNode,
        func: &mut Function,
        flow: Option<Flow>,
        cap: Option<u16>,
    ) -> Result<Option<FunctionAllocation>, AllocError> {
        match self.allocator.allocate(node.clone(), func, flow, cap) {
            Err(AllocError::OutOfRegisters(_)) => Ok(None),
            done => done.map(Some),
        }
    }
}

/// Loads of global memory in a block.
fn loads(func: &Function, block: Block) -> usize {
    let is_load = |opcode: Opcode| {
        let effects = opcode.info().effects;
        let reads = effects.contains(Effects::READS_MEMORY) && !effects.contains(Effects::WRITES_MEMORY);
        reads && Space::Global.meets(opcode.space())
    };
    func.block_insts(block).iter().filter(|inst| is_load(func[**inst].opcode)).count()
}
