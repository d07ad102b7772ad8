//! The order before allocation: loads ahead of their uses, as far as there are registers.
//!
//! Each block is put in order on virtual registers ([`crate::list`]) with the dependence graph of the order behind
//! allocation. What it may use is what the caller says that costs no warps. Where the source needs more than that, an order
//! that needs few registers is made first ([`FEW`]), and what does not fit is reckoned by what has to leave the
//! registers ([`crate::evictions`]). An order that is not shorter than that of the source is not taken.

use crate::backward::backward_order;
use crate::code::{ByRegister, Op};
use crate::dependence::{Graph, RegState, build};
use crate::depth_first::depth_first_order;
use crate::evictions::evictions;
use crate::list::{Order, in_order, list_order};
use crate::lives::{Class, Counts, Lives};
use crate::order::heights;
use crate::runs::order_by_runs;
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
/// What it costs that a value goes to memory, or comes back, where nothing else is said.
pub const MOVE_CYCLES: u32 = 4;
/// Orders that are tried with fewer and fewer registers.
const ATTEMPTS: u32 = 3;
/// Instructions of a stretch for which more than one of [`FEW`] is tried.
const MANY: usize = 1024;

/// A way to an order.
type Way = fn(&Graph, &Lives) -> Vec<u32>;

/// Ways to orders that need few registers, those first that take least time to go. None is the best everywhere: of 1,385
/// stretches of the kernels the second needs fewer registers than the first in 91, and more in 60.
const FEW: [Way; 4] = [
    |graph, lives| backward_order(graph, lives, false),
    |graph, lives| backward_order(graph, lives, true),
    order_by_runs,
    |graph, _| depth_first_order(graph),
];

/// How registers are to be used.
#[derive(Clone, Copy)]
pub struct Usage<B, I> {
    /// How many R registers a function may use that needs so many.
    pub budget: B,
    /// How many at most in a block.
    pub in_block: I,
    /// What it costs that a value goes to memory, or comes back, in cycles ([`MOVE_CYCLES`]).
    pub move_cycles: u32,
}

/// A function in order.
pub struct Ordered {
    /// What is known of its flow.
    pub flow: Option<Flow>,
    /// Cycles that its stretches take by the tables, each once.
    pub cycles: u32,
}

/// Put the instructions of each block in an order in which results have come when they are needed. `flow` may hold what is
/// known of the function's flow.
pub fn order_values<B, I>(func: &mut Function, arch: Arch, flow: Option<Flow>, usage: Usage<B, I>) -> Ordered
where
    B: Fn(u32) -> u32,
    I: Fn(Block) -> u32,
{
    let Usage { budget, in_block, move_cycles } = usage;
    if !may_gain(func, arch) {
        return Ordered { flow, cycles: 0 };
    }
    let flow = flow.unwrap_or_else(|| Flow::new(func));
    if has_long_block(func) {
        sink_in_long_blocks(func, arch, &flow, &budget, &in_block);
    }
    let mut cycles = 0;
    let orders: Vec<(Stretch, Vec<InstId>)> = {
        let mut values = Values::new(func, arch);
        let survey = Survey::new(&values, func, &flow.live, arch);
        let limit = limits(survey.peak, arch, &budget);
        let mut tables = Tables::new(values.registers(), move_cycles);
        let ordered = |stretch| {
            let (order, takes) = tables.order(&mut values, &stretch, limit.within(in_block(stretch.block)));
            cycles += takes;
            Some((stretch, undefined_late(func, order?)))
        };
        survey.stretches.into_iter().filter_map(ordered).collect()
    };
    for (stretch, order) in orders {
        func.edit().reorder(stretch.block, stretch.places.start, &order);
    }
    Ordered { flow: Some(flow), cycles }
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
    move_cycles: u32,
}

impl Tables {
    fn new(registers: usize, move_cycles: u32) -> Self {
        Tables { states: ByRegister::of(registers), current: ByRegister::of(registers), move_cycles }
    }

    /// The stretch in a better order, none where that of the source is as good, and how long it takes.
    fn order(&mut self, values: &mut Values<'_>, stretch: &Stretch, limit: Counts) -> (Option<Vec<InstId>>, u32) {
        let ops: Vec<Op<InstId>> = values.stretch(stretch);
        let graph = build(&ops, &values.accesses, &mut self.states);
        let lives = Lives::new(values, stretch, &ops, &mut self.current);
        let heights = heights(&graph);
        let every = 0..ops.len() as u32;
        let source = in_order(&graph, lives.clone(), every.clone());
        let as_it_is = source.cycles;
        let choice = Choice { graph: &graph, heights: &heights, lives: &lives, limit, move_cycles: self.move_cycles };
        let order = if source.peak.is_within(limit) {
            let ranks: Vec<u32> = every.collect();
            choice.shortest(&ranks).ok().filter(|order| order.cycles < source.cycles)
        } else {
            let source = choice.priced(source);
            let lowest = choice.lowest();
            (lowest.cycles < source.cycles).then_some(lowest.order)
        };
        let cycles = order.as_ref().map_or(as_it_is, |order| order.cycles);
        (order.map(|order| order.insts.iter().map(|at| ops[*at as usize].id).collect()), cycles)
    }
}

/// A stretch for which an order is looked for that needs no more than `limit`.
struct Choice<'a> {
    graph: &'a Graph,
    heights: &'a [u32],
    lives: &'a Lives,
    limit: Counts,
    move_cycles: u32,
}

impl Choice<'_> {
    /// The order for which [`list_order`] decides.
    fn listed(&self, lives: &Lives, aims: (Counts, Counts), ranks: &[u32]) -> Order {
        list_order(self.graph, self.heights, lives.clone(), aims, ranks)
    }

    /// A short order within the limit, by `ranks` where nothing fits; the last that was tried where there is none.
    fn shortest(&self, ranks: &[u32]) -> Result<Order, Order> {
        let mut aim = self.limit;
        let mut order = self.listed(self.lives, (aim, aim), ranks);
        for _ in 1..ATTEMPTS {
            if order.peak.is_within(self.limit) {
                break;
            }
            aim = aim.less(order.peak, self.limit);
            order = self.listed(self.lives, (aim, aim), ranks);
        }
        if order.peak.is_within(self.limit) { Ok(order) } else { Err(order) }
    }

    /// Of the orders that need few registers the first that keeps within the limit, or that which is least above it.
    fn low(&self) -> Order {
        let count = self.graph.incoming.len();
        let ways = if count <= MANY { &FEW[..] } else { &FEW[..1] };
        let mut best: Option<Order> = None;
        for way in ways {
            let order = in_order(self.graph, self.lives.clone(), way(self.graph, self.lives).into_iter());
            let excess = order.peak.excess(self.limit);
            if best.as_ref().is_none_or(|best| excess < best.peak.excess(self.limit)) {
                best = Some(order);
            }
            if excess == 0 {
                break;
            }
        }
        best.unwrap_or_else(|| in_order(self.graph, self.lives.clone(), 0..count as u32))
    }

    /// An order for a stretch that needs more than the limit as it stands in the source: a short one within it if there is
    /// one, or else the cheapest of one that needs little, one that needs as much but is shorter, and one that lets go what
    /// is not read again in the stretch.
    fn lowest(&self) -> Priced {
        let (lives, limit) = (self.lives, self.limit);
        let low = self.low();
        let mut ranks = vec![0; low.insts.len()];
        (0..).zip(&low.insts).for_each(|(rank, at)| ranks[*at as usize] = rank);
        let low_peak = low.peak;
        let mut best = self.priced(low);
        if !best.order.peak.is_far_above(limit) {
            match self.shortest(&ranks) {
                Ok(order) => return self.priced(order),
                Err(near) => best = best.or(self.priced(near)),
            }
            let aim = limit.max(low_peak);
            best = best.or(self.priced(self.listed(lives, (aim, aim), &ranks)));
        }
        let aims = (limit.less_for_ranks(), limit);
        best.or(self.priced(self.listed(&lives.clone().until_last_read(), aims, &ranks)))
    }

    /// What an order costs with what has to leave the registers.
    fn priced(&self, order: Order) -> Priced {
        let moves: u32 = [Class::General, Class::Predicate]
            .into_iter()
            .filter(|class| order.peak.0[*class as usize] > self.limit.0[*class as usize])
            .map(|class| evictions(self.lives, &order.insts, class, self.limit.0[class as usize]))
            .sum();
        let cycles = order.cycles.saturating_add(moves.saturating_mul(self.move_cycles));
        Priced { order, cycles }
    }
}

/// An order, and how long it takes with what has to leave the registers and come back.
struct Priced {
    order: Order,
    cycles: u32,
}

impl Priced {
    fn or(self, other: Priced) -> Priced {
        if other.cycles < self.cycles { other } else { self }
    }
}
