//! The order before allocation: loads ahead of their uses, as far as there are registers.
//!
//! Each block is put in order on virtual registers ([`crate::list`]) with the dependence graph of the order behind
//! allocation. What it may use is what the caller says that costs no warps. Where the source needs more than that, an order
//! that needs few registers is made first ([`crate::backward`]), and what does not fit is reckoned by what has to leave the
//! registers ([`crate::evictions`]). An order that is not shorter than that of the source is not taken.

use crate::backward::backward_order;
use crate::code::{ByRegister, Op};
use crate::dependence::{Graph, RegState, build};
use crate::evictions::evictions;
use crate::list::{Order, in_order, list_order};
use crate::lives::{Class, Counts, Lives};
use crate::order::heights;
use crate::sink::sink_loads;
use crate::survey::{LongBlock, Stretch, Survey, has_long_block, may_gain};
use crate::values::Values;
use oriole_isa::Arch;
use oriole_ori::analysis::Flow;
use oriole_ori::{Block, Function, InstId, VReg};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Registers that an allocation needs beyond those in use at a time: the stack pointer, and gaps before wide values.
const ALLOWANCE: u32 = 3;
/// Predicates of either kind that are in use at a time: one of seven is left for what allocation has to do.
const PREDICATES: i32 = 6;
/// What it costs that a value goes to memory, or comes back.
const MOVE_CYCLES: u32 = 4;
/// Orders that are tried with fewer and fewer registers.
const ATTEMPTS: u32 = 3;

/// Put the instructions of each block in an order in which results have come when they are needed. `budget` says how many
/// R registers a function may use that needs so many, `in_block` how many at most in a block. `flow` may hold what is known
/// of the function's flow; what is known then, or was known before, is given back.
pub fn order_values(
    func: &mut Function,
    arch: Arch,
    flow: Option<Flow>,
    budget: impl Fn(u32) -> u32,
    in_block: impl Fn(Block) -> u32,
) -> Option<Flow> {
    if !may_gain(func, arch) {
        return flow;
    }
    let flow = flow.unwrap_or_else(|| Flow::new(func));
    if has_long_block(func) {
        sink_in_long_blocks(func, arch, &flow, &budget, &in_block);
    }
    let orders: Vec<(Stretch, Vec<InstId>)> = {
        let mut values = Values::new(func, arch);
        let survey = Survey::new(&values, func, &flow.live, arch);
        let limit = limits(survey.peak, arch, &budget);
        let mut tables = Tables::new(values.registers());
        let ordered = |stretch| {
            let order = tables.order(&mut values, &stretch, limit.within(in_block(stretch.block)))?;
            Some((stretch, undefined_late(func, order)))
        };
        survey.stretches.into_iter().filter_map(ordered).collect()
    };
    for (stretch, order) in orders {
        func.edit().reorder(stretch.block, stretch.places.start, &order);
    }
    Some(flow)
}

/// Loads as late as may be in blocks of several stretches that need more registers than there are.
fn sink_in_long_blocks(
    func: &mut Function,
    arch: Arch,
    flow: &Flow,
    budget: &impl Fn(u32) -> u32,
    in_block: &impl Fn(Block) -> u32,
) {
    let orders: Vec<(Block, Vec<InstId>)> = {
        let mut values = Values::new(func, arch);
        let survey = Survey::new(&values, func, &flow.live, arch);
        let limit = limits(survey.peak, arch, budget);
        let sunk = |long: &LongBlock| {
            let limit = limit.within(in_block(long.block));
            let insts = func.block_insts(long.block);
            let ops = (!long.peak.is_within(limit)).then(|| values.ops(insts))?;
            let order = sink_loads(&values, &ops, &long.live_out, limit)?;
            Some((long.block, order.into_iter().map(|at| ops[at as usize].id).collect()))
        };
        survey.long_blocks.iter().filter_map(sunk).collect()
    };
    for (block, order) in orders {
        func.edit().reorder(block, 0, &order);
    }
}

/// The order with each undefined value made where it is needed: it costs nothing, but from there on it is live.
fn undefined_late(func: &Function, order: Vec<InstId>) -> Vec<InstId> {
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
    late.extend(last.into_iter().filter_map(|reg| held.remove(&reg)).flatten());
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

fn limits(peak: Counts, arch: Arch, budget: impl Fn(u32) -> u32) -> Counts {
    // The stack pointer is there in any case.
    let general = room(budget(peak.0[0].max(0) as u32 + 1));
    let uniform = arch.sm().uniform_registers as i32 - ALLOWANCE as i32;
    Counts([general, PREDICATES, uniform, PREDICATES, i32::MAX])
}

/// Tables by register, for one stretch after the other.
struct Tables {
    states: ByRegister<RegState>,
    current: ByRegister<Option<u32>>,
}

impl Tables {
    fn new(registers: usize) -> Self {
        Tables { states: ByRegister::of(registers), current: ByRegister::of(registers) }
    }

    /// The stretch in a better order; `None` where that of the source is as good.
    fn order(&mut self, values: &mut Values<'_>, stretch: &Stretch, limit: Counts) -> Option<Vec<InstId>> {
        let ops: Vec<Op<InstId>> = values.stretch(stretch);
        let graph = build(&ops, &values.accesses, &mut self.states);
        let lives = Lives::new(values, stretch, &ops, &mut self.current);
        let heights = heights(&graph);
        let every = 0..ops.len() as u32;
        let source = in_order(&graph, lives.clone(), every.clone());
        let order = if source.peak.is_within(limit) {
            let ranks: Vec<u32> = every.collect();
            shortest(&graph, &heights, &lives, limit, &ranks).ok().filter(|order| order.cycles < source.cycles)
        } else {
            let source = Priced::new(source, &lives, limit);
            let lowest = lowest(&graph, &heights, &lives, limit);
            (lowest.cycles < source.cycles).then_some(lowest.order)
        };
        Some(order?.insts.iter().map(|at| ops[*at as usize].id).collect())
    }
}

/// A short order within `limit`, by `ranks` where nothing fits; the last that was tried where there is none.
fn shortest(graph: &Graph, heights: &[u32], lives: &Lives, limit: Counts, ranks: &[u32]) -> Result<Order, Order> {
    let mut aim = limit;
    let mut order = list_order(graph, heights, lives.clone(), (aim, aim), ranks);
    for _ in 1..ATTEMPTS {
        if order.peak.is_within(limit) {
            break;
        }
        aim = aim.less(order.peak, limit);
        order = list_order(graph, heights, lives.clone(), (aim, aim), ranks);
    }
    if order.peak.is_within(limit) { Ok(order) } else { Err(order) }
}

/// An order for a stretch that needs more than `limit` as it stands in the source: a short one within it if there is one, or
/// else the cheapest of one that needs little, one that needs as much but is shorter, and one that lets go what is not read
/// again in the stretch.
fn lowest(graph: &Graph, heights: &[u32], lives: &Lives, limit: Counts) -> Priced {
    let insts = backward_order(graph, lives);
    let mut ranks = vec![0; insts.len()];
    (0..).zip(&insts).for_each(|(rank, at)| ranks[*at as usize] = rank);
    let low = in_order(graph, lives.clone(), insts.into_iter());
    let low_peak = low.peak;
    let mut best = Priced::new(low, lives, limit);
    if !best.order.peak.is_far_above(limit) {
        match shortest(graph, heights, lives, limit, &ranks) {
            Ok(order) => return Priced::new(order, lives, limit),
            Err(near) => best = best.or(Priced::new(near, lives, limit)),
        }
        let aim = limit.max(low_peak);
        best = best.or(Priced::new(list_order(graph, heights, lives.clone(), (aim, aim), &ranks), lives, limit));
    }
    let aims = (limit.less_for_ranks(), limit);
    let spilling = list_order(graph, heights, lives.clone().until_last_read(), aims, &ranks);
    best.or(Priced::new(spilling, lives, limit))
}

/// An order, and how long it takes with what has to leave the registers and come back.
struct Priced {
    order: Order,
    cycles: u32,
}

impl Priced {
    fn new(order: Order, lives: &Lives, limit: Counts) -> Self {
        let moves: u32 = [Class::General, Class::Predicate]
            .into_iter()
            .filter(|class| order.peak.0[*class as usize] > limit.0[*class as usize])
            .map(|class| evictions(lives, &order.insts, class, limit.0[class as usize]))
            .sum();
        let cycles = order.cycles.saturating_add(moves.saturating_mul(MOVE_CYCLES));
        Priced { order, cycles }
    }

    fn or(self, other: Priced) -> Priced {
        if other.cycles < self.cycles { other } else { self }
    }
}
