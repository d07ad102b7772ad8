//! The order before allocation: loads ahead of their uses, as far as there are registers.
//!
//! Each block is put in order on virtual registers ([`crate::list`]) with the dependence graph of the order behind
//! allocation. What it may use is what the caller says that costs no warps. Where the source needs more than that, an order
//! that needs few registers is made first ([`crate::choice`]), and what does not fit is reckoned by what has to leave the
//! registers ([`crate::evictions`]). An order that is not shorter than that of the source is not taken.

use crate::choice::Tables;
use crate::lives::{Class, Counts};
use crate::seed::OrderSeed;
use crate::sink::sink_late;
use crate::survey::{LongBlock, Stretch, Survey, may_gain};
use crate::values::Values;
use oriole_isa::Arch;
use oriole_ori::analysis::Flow;
use oriole_ori::terminator::is_terminator;
use oriole_ori::{Block, Function, InstId, SecondaryMap, VReg, entry_for_each};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Registers that an allocation needs beyond those in use at a time: the stack pointer, and gaps before wide values.
const ALLOWANCE: u32 = 3;
/// Predicates of either kind that are in use at a time: one of seven is left for what allocation has to do.
const PREDICATES: i32 = 6;
/// What it costs that a value goes to memory, or comes back, where nothing else is said.
pub const MOVE_CYCLES: u32 = 4;

/// How registers are to be used.
#[derive(Clone, Copy)]
pub struct Usage<B, I> {
    /// How many R registers a function may use that needs so many.
    pub budget: B,
    /// How many at most in a block.
    pub in_block: I,
    /// What it costs that a value goes to memory, or comes back, in cycles ([`MOVE_CYCLES`]).
    pub move_cycles: u32,
    /// Which order is taken.
    pub seed: OrderSeed,
}

/// A function in order.
pub struct Ordered {
    /// What is known of its flow.
    pub flow: Option<Flow>,
    /// Cycles that its stretches take by the tables, each once.
    pub cycles: u32,
    /// General registers in use at a time at most, if that was looked at.
    pub peak: Option<u32>,
    /// Uniform registers in use at a time at most.
    pub uniform_peak: u32,
    /// The order in the source.
    pub source: SourceOrder,
}

/// Where instructions stood that stand elsewhere now.
#[derive(Default)]
pub struct SourceOrder(SecondaryMap<InstId, Option<u32>>);

impl SourceOrder {
    fn keep(&mut self, insts: &[InstId]) {
        (0..).zip(insts).for_each(|(place, inst)| self.0[*inst] = Some(place));
    }

    /// The places of some instructions that follow each other, in the order in which they stood; `None` if that is the order
    /// in which they stand. What was not there before stands ahead of what follows it now.
    pub(crate) fn of(&self, insts: impl DoubleEndedIterator<Item = InstId> + ExactSizeIterator) -> Option<Vec<u32>> {
        let mut behind = u32::MAX;
        let mut keyed: Vec<(u32, u32)> = Vec::with_capacity(insts.len());
        for (place, inst) in (0..insts.len() as u32).rev().zip(insts.rev()) {
            behind = self.0[inst].unwrap_or(behind);
            keyed.push((behind, place));
        }
        keyed.reverse();
        (!keyed.is_sorted()).then(|| {
            keyed.sort_unstable();
            keyed.into_iter().map(|(_, place)| place).collect()
        })
    }
}

/// Put the instructions of each block in an order in which results have come when they are needed. `flow` may hold what is
/// known of the function's flow, and `survey` what has been seen of the function as it stands.
pub fn order_values<B, I>(
    func: &mut Function,
    arch: Arch,
    flow: Option<Flow>,
    survey: Option<Survey>,
    usage: Usage<B, I>,
) -> Ordered
where
    B: Fn(u32) -> u32,
    I: Fn(Block) -> u32,
{
    let Usage { budget, in_block, move_cycles, seed } = usage;
    if !may_gain(func, arch) {
        return Ordered { flow, cycles: 0, peak: None, uniform_peak: 0, source: SourceOrder::default() };
    }
    let flow = flow.unwrap_or_else(|| Flow::new(func));
    let mut survey = survey.unwrap_or_else(|| Survey::of(func, arch, &flow.live));
    if sink_in_long_blocks(func, arch, &survey, &budget, &in_block) {
        survey = Survey::of(func, arch, &flow.live);
    }
    let uniform_peak = survey.uniform_peak();
    let mut cycles = 0;
    let mut peak;
    let orders: Vec<(Stretch, Vec<InstId>)> = {
        let mut values = Values::new(func, arch);
        let limit = limits(&survey, arch, &budget);
        let mut tables = Tables::new(values.registers(), move_cycles, seed);
        peak = survey.peak_elsewhere;
        let ordered = |stretch| {
            let ordered = tables.order(&mut values, &stretch, limit.within(in_block(stretch.block)));
            cycles += ordered.cycles;
            peak = peak.max(ordered.peak);
            Some((stretch, undefined_late(func, ordered.insts?)))
        };
        survey.stretches.into_iter().filter_map(ordered).collect()
    };
    let mut source = SourceOrder(entry_for_each(func.insts().len()));
    for (stretch, order) in orders {
        source.keep(&func.block_insts(stretch.block)[stretch.places.clone()]);
        func.edit().reorder(stretch.block, stretch.places.start, &order);
    }
    let peak = Some(peak.0[Class::General as usize].max(0) as u32);
    Ordered { flow: Some(flow), cycles, peak, uniform_peak, source }
}

/// Loads as late as may be in blocks of several stretches that need more registers than there are. Whether some have moved.
fn sink_in_long_blocks(
    func: &mut Function,
    arch: Arch,
    survey: &Survey,
    budget: &impl Fn(u32) -> u32,
    in_block: &impl Fn(Block) -> u32,
) -> bool {
    if survey.long_blocks.is_empty() {
        return false;
    }
    let orders: Vec<(Block, Vec<InstId>)> = {
        let mut values = Values::new(func, arch);
        let limit = limits(survey, arch, budget);
        let sunk = |long: &LongBlock| {
            let limit = limit.within(in_block(long.block));
            let insts = func.block_insts(long.block);
            let ops = (!long.peak.is_within(limit)).then(|| values.ops(insts))?;
            let order = sink_late(&values, &ops, &long.live_out, limit)?;
            Some((long.block, order.into_iter().map(|at| ops[at as usize].id).collect()))
        };
        survey.long_blocks.iter().filter_map(sunk).collect()
    };
    for (block, order) in &orders {
        func.edit().reorder(*block, 0, order);
    }
    !orders.is_empty()
}

/// The order with each undefined value made where it is needed: it costs nothing, but from there on it is live.
pub(crate) fn undefined_late(func: &Function, order: Vec<InstId>) -> Vec<InstId> {
    if !order.iter().any(|inst| func[*inst].is_undef()) {
        return order;
    }
    let mut late = Vec::with_capacity(order.len());
    let mut held: FxHashMap<VReg, SmallVec<[InstId; 2]>> = FxHashMap::default();
    let mut last: Vec<VReg> = Vec::new();
    for inst in order {
        let mut marked = None;
        func.for_each_reg(inst, |access| {
            if func[inst].is_undef() {
                marked = Some(access.reg);
            } else if let Some(markers) = held.remove(&access.reg) {
                late.extend(markers);
            }
        });
        match marked {
            Some(reg) => {
                held.entry(reg).or_default().push(inst);
                last.push(reg);
            }
            None => late.push(inst),
        }
    }
    // What nobody here reads may be read in other blocks.
    let end = late.iter().position(|inst| is_terminator(&func[*inst])).unwrap_or(late.len());
    late.splice(end..end, last.into_iter().filter_map(|reg| held.remove(&reg)).flatten());
    late
}

/// How many values fit so many registers.
fn room(registers: u32) -> i32 {
    i32::try_from(registers.saturating_sub(ALLOWANCE)).unwrap_or(i32::MAX)
}

impl Counts {
    /// The same with no more than `registers` R registers.
    fn within(mut self, registers: u32) -> Counts {
        self.0[0] = self.0[0].min(room(registers));
        self
    }
}

fn limits(survey: &Survey, arch: Arch, budget: impl Fn(u32) -> u32) -> Counts {
    // The stack pointer is there in any case.
    limit(room(budget(survey.general_need() + 1)), arch)
}

/// So many general registers, and what there is of others.
pub(crate) fn limit(general: i32, arch: Arch) -> Counts {
    let uniform = arch.sm().uniform_registers as i32 - ALLOWANCE as i32;
    Counts([general, PREDICATES, uniform, PREDICATES])
}
