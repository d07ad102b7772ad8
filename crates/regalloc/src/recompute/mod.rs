//! Ahead of the order: values that live through blocks where more are live than there are registers are computed again where
//! they are read, from what lives there all the same and from what never changes, by a few cheap instructions.
//!
//! The order of a block cannot help what lives through it, and the plan by next uses ([`crate::belady`]) computes nothing
//! again but constants. Addresses and bounds at fixed distances from each other are the rest, and whatever is made of the
//! thread's number and the parameters: `IADD3 R20, R19, -3` needs no register of its own where R19 has one, and the index
//! `IMAD R5, R3, R4, R2` of a thread none from its first use to the last, far behind.

mod general;
mod recipes;
mod rewrite;

use crate::AllocError;
use crate::limits::RegisterBudget;
use crate::weights::BlockWeights;
use oriole_isa::{Arch, RegFile};
use oriole_ori::analysis::{DomTree, Flow, LoopForest};
use oriole_ori::{Block, Function, SecondaryMap, VReg};
use recipes::{Needs, Recipes};
use rustc_hash::FxHashSet;
use std::cell::OnceCell;

/// Registers that usually stay for what lives within a block, beyond what lives through it: for its instructions, so that an
/// order finds room, for the stack pointer, and for gaps before wide values.
pub const OWN_NEED: u32 = 11;

/// Compute again what can be, where `func` needs more registers than `budget` gives and `own_need` of them stay for what
/// lives within a block ([`OWN_NEED`]). `flow` may hold what is known of its flow; gives what is known then.
///
/// # Errors
/// There is no name left for a register.
pub fn recompute(
    func: &mut Function,
    arch: Arch,
    budget: &RegisterBudget,
    own_need: u32,
    flow: Option<Flow>,
) -> Result<Option<Flow>, AllocError> {
    if !budget.may_be_short(func) {
        return Ok(flow);
    }
    let flow = flow.unwrap_or_else(|| Flow::new(func));
    let recomputing = Recomputable::new(func, arch, &flow).plan(budget, Wanted::of(own_need), &[]);
    let Some(recomputing) = recomputing else { return Ok(Some(flow)) };
    recomputing.carry_out(func)?;
    Ok(None)
}

/// Room that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Registers that stay for what lives within a block.
    pub own_need: u32,
    /// Instructions that may be executed more, for each time that a register is free where one was missing.
    pub dearest: f32,
}

impl Wanted {
    /// So many registers, whatever it takes.
    pub const fn of(own_need: u32) -> Self {
        Wanted { own_need, dearest: f32::INFINITY }
    }
}

/// A function in which values may be computed again, and what is known of it for any budget.
pub struct Recomputable<'a> {
    func: &'a Function,
    arch: Arch,
    flow: &'a Flow,
    /// R components that live through each block, once they are asked for.
    through: OnceCell<ByBlock>,
    facts: OnceCell<Facts<'a>>,
}

/// What is needed only where registers are missing.
struct Facts<'a> {
    weights: BlockWeights,
    recipes: Recipes<'a>,
    /// By register: the blocks through which it lives.
    lives_through: SecondaryMap<VReg, Vec<Block>>,
}

impl<'a> Recomputable<'a> {
    /// Of a function with this `flow`.
    pub fn new(func: &'a Function, arch: Arch, flow: &'a Flow) -> Self {
        Recomputable { func, arch, flow, through: OnceCell::new(), facts: OnceCell::new() }
    }

    /// What [`recompute`] does; `None` if nothing is to be done, or can be. In some blocks more registers may be known to be
    /// `missing`.
    pub fn plan(&self, budget: &RegisterBudget, wanted: Wanted, missing: &[(Block, u32)]) -> Option<Recomputing> {
        let func = self.func;
        if !budget.may_be_short(func) {
            return None;
        }
        let mut excess = self.through.get_or_init(|| through(func, self.flow)).clone();
        for block in func.layout() {
            let room = budget.in_block(*block).saturating_sub(wanted.own_need);
            excess[*block] = excess[*block].saturating_sub(room);
        }
        missing.iter().for_each(|(block, missing)| excess[*block] = excess[*block].max(*missing));
        if excess.values().all(|missing| *missing == 0) {
            return None;
        }
        let facts = self.facts.get_or_init(|| Facts::new(func, self.arch, self.flow));
        let chosen = Choice::new(func, facts).run(excess, wanted.dearest);
        if chosen.values.is_empty() {
            return None;
        }
        let plan = rewrite::plan(func, &facts.recipes, &chosen);
        Some(Recomputing { arch: self.arch, short: chosen.short, plan })
    }
}

impl<'a> Facts<'a> {
    fn new(func: &'a Function, arch: Arch, flow: &'a Flow) -> Self {
        let dominators = DomTree::dominators(&flow.cfg);
        let weights = BlockWeights::new(func, &LoopForest::new(&flow.cfg, &dominators));
        let mut lives_through: SecondaryMap<VReg, Vec<Block>> = SecondaryMap::new();
        for block in func.layout().iter().filter(|block| flow.cfg.is_reachable(**block)) {
            for (reg, _) in flow.live.main_live_in(*block) {
                if lives_through[reg].last() != Some(block) {
                    lives_through[reg].push(*block);
                }
            }
        }
        Facts { weights, recipes: Recipes::new(func, arch, flow, dominators), lives_through }
    }
}

/// What is to be computed again in a function, and where.
pub struct Recomputing {
    arch: Arch,
    short: u32,
    plan: Vec<(Block, rewrite::Again)>,
}

impl Recomputing {
    /// Registers that are missing in a block all the same, at most.
    pub fn short(&self) -> u32 {
        self.short
    }

    /// Do it in a copy of that function.
    ///
    /// # Errors
    /// There is no name left for a register.
    pub fn in_copy(&self, func: &Function) -> Result<Function, AllocError> {
        let mut copy = func.clone();
        self.carry_out(&mut copy)?;
        Ok(copy)
    }

    /// Do it in the function for which it was planned.
    ///
    /// # Errors
    /// There is no name left for a register.
    pub fn carry_out(&self, func: &mut Function) -> Result<(), AllocError> {
        rewrite::carry_out(func, self.arch, &self.plan)
    }
}

/// A number of R components.
type ByBlock = SecondaryMap<Block, u32>;

/// Those that live at the start of a block or at its end.
fn through(func: &Function, flow: &Flow) -> ByBlock {
    let mut counts = ByBlock::new();
    let general = |(reg, _): &(VReg, u8)| func[*reg].file() == RegFile::R;
    for block in func.layout() {
        let at_start = flow.live.main_live_in(*block).filter(general).count();
        let at_end = flow.live.main_live_out(*block).filter(general).count();
        counts[*block] = at_start.max(at_end) as u32;
    }
    counts
}

/// What is computed again.
#[derive(Default)]
pub(crate) struct Chosen {
    /// The values, with the blocks that need them.
    pub(crate) values: Vec<(VReg, Vec<Block>)>,
    /// By register: it is one of them.
    pub(crate) gone: SecondaryMap<VReg, bool>,
    /// Those that live longer so that another, the first, can be computed from them.
    pub(crate) longer: FxHashSet<(VReg, VReg)>,
    /// Registers that are missing in a block all the same, at most.
    short: u32,
}

/// A value that can be computed again.
struct Value<'a> {
    reg: VReg,
    /// Blocks through which it lives.
    lives_through: &'a [Block],
    /// What that takes.
    needs: Needs,
}

struct Choice<'a> {
    func: &'a Function,
    facts: &'a Facts<'a>,
    excess: ByBlock,
    chosen: Chosen,
    /// By register: blocks where something that was chosen is computed from it, other than those that read it.
    needed: SecondaryMap<VReg, Vec<Block>>,
}

impl<'a> Choice<'a> {
    fn new(func: &'a Function, facts: &'a Facts<'a>) -> Self {
        Choice { func, facts, excess: ByBlock::new(), chosen: Chosen::default(), needed: SecondaryMap::new() }
    }

    /// So that nowhere registers are missing, which are by `excess` now: the cheapest first.
    fn run(mut self, excess: ByBlock, dearest: f32) -> Chosen {
        self.excess = excess;
        let mut values: Vec<(f32, Value<'_>)> =
            self.values().into_iter().map(|value| (self.price(&value) / self.relief(&value), value)).collect();
        values.sort_by(|(a, left), (b, right)| a.total_cmp(b).then(left.reg.cmp(&right.reg)));
        for (price, value) in values {
            if price > dearest {
                break;
            }
            if value.lives_through.iter().any(|block| self.excess[*block] > 0) {
                self.choose(value.reg, value.lives_through);
            }
        }
        self.chosen.short = self.excess.values().copied().max().unwrap_or(0);
        self.chosen
    }

    /// Choose the value, if with what has been chosen before it still gives room.
    fn choose(&mut self, reg: VReg, lives_through: &[Block]) {
        // What others are computed from may go where it is computed from nothing that changes.
        let is_needed = !self.needed[reg].is_empty();
        let Some(needs) = self.needs(reg).filter(|needs| !is_needed || needs.is_closed()) else { return };
        let width = self.width(reg, &needs);
        if width == 0 {
            return;
        }
        lives_through.iter().for_each(|block| self.excess[*block] = self.excess[*block].saturating_sub(width));
        for (source, block) in needs.read {
            self.needed[source].push(block);
        }
        self.chosen.longer.extend(needs.longer.into_iter().map(|source| (reg, source)));
        self.chosen.gone[reg] = true;
        self.chosen.values.push((reg, needs.blocks));
    }

    /// What it takes to compute the value again wherever it is read, or is needed for others.
    fn needs(&self, reg: VReg) -> Option<Needs> {
        self.facts.recipes.needs(reg, &self.needed[reg], &self.chosen)
    }

    /// Instructions that are executed more than before.
    fn price(&self, value: &Value<'_>) -> f32 {
        value
            .needs
            .blocks
            .iter()
            .zip(&value.needs.costs)
            .map(|(block, cost)| self.facts.weights.of(*block) * *cost as f32)
            .sum()
    }

    /// How often registers become free where there are not enough.
    fn relief(&self, value: &Value<'_>) -> f32 {
        let crowded = value.lives_through.iter().filter(|block| self.excess[**block] > 0);
        self.width(value.reg, &value.needs) as f32 * crowded.map(|block| self.facts.weights.of(*block)).sum::<f32>()
    }

    /// How many registers become free where the value lives through.
    fn width(&self, reg: VReg, needs: &Needs) -> u32 {
        let is_longer = |source: &&VReg| self.needed[**source].is_empty();
        let longer: u32 = needs.longer.iter().filter(is_longer).map(|reg| u32::from(self.func[*reg].components)).sum();
        u32::from(self.func[reg].components).saturating_sub(longer)
    }

    /// Values that live through blocks with too many, and that can be computed wherever they are read.
    fn values(&self) -> Vec<Value<'a>> {
        let lives_through = &self.facts.lives_through;
        let crowded = |blocks: &[Block]| blocks.iter().any(|block| self.excess[*block] > 0);
        let regs =
            self.func.regs().keys().filter(|reg| self.func[*reg].file() == RegFile::R && crowded(&lives_through[*reg]));
        let value = |reg: VReg| {
            let value = Value { reg, lives_through: &lives_through[reg], needs: self.needs(reg)? };
            (self.width(reg, &value.needs) > 0).then_some(value)
        };
        regs.filter_map(value).collect()
    }
}
