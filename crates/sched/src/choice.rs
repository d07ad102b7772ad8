//! The order of one stretch: short where there is room, and one of few registers where there is little.

use crate::backward::backward_order;
use crate::code::{ByRegister, Op};
use crate::dependence::{Graph, GraphBuilder};
use crate::depth_first::depth_first_order;
use crate::evictions::evictions;
use crate::late_loads::late_loads_order;
use crate::list::{Followed, Order, in_order, list_order};
use crate::lives::{Class, Counts, Lives};
use crate::order::{begin_early, heights};
use crate::runs::order_by_runs;
use crate::seed::OrderSeed;
use crate::survey::Stretch;
use crate::values::Values;
use oriole_ori::InstId;

/// Orders that are tried with fewer and fewer registers.
const ATTEMPTS: u32 = 3;
/// Instructions of a stretch for which more than one of [`FEW`] is tried.
const MANY: usize = 1024;

/// So many of the last of [`FEW`] take much longer than the others, and seldom save many registers: of 28 stretches that needed
/// more than so many too many in the quick orders none was brought to what was wanted.
const SLOW: usize = 2;
const NEAR: i32 = 12;

/// General registers beyond the limit with which an order is looked for once more, and how long it may take then, as a part of what
/// it takes within the limit.
const WIDER: i32 = 2;
const SHORTER: f32 = 0.9;

/// How far ahead a list looks in the order that it follows: everywhere, or so far. (With 8, or near the order of the lowest registers
/// too, no kernel is faster.)
const ALL: u32 = u32::MAX;
const WINDOWS: [u32; 2] = [16, 32];
/// Where what was found is no longer than so many times what the stretch takes at least, no shorter one is looked for.
const LONG: f32 = 1.5;

/// A way to an order.
type Way = fn(&Graph, &Lives) -> Vec<u32>;

/// Ways to orders that need few registers, those first that take least time to go. None is the best everywhere: of 1,385
/// stretches of the kernels the one with foresight needs fewer registers than the first in 91, and more in 60.
const FEW: [Way; 5] = [
    |graph, lives| backward_order(graph, lives, false),
    late_loads_order,
    |graph, lives| backward_order(graph, lives, true),
    order_by_runs,
    |graph, _| depth_first_order(graph),
];

/// Which of them has the loads late.
const LATE: usize = 1;

/// Tables by register, for one stretch after the other.
pub(crate) struct Tables {
    graphs: GraphBuilder,
    current: ByRegister<Option<u32>>,
    move_cycles: u32,
    seed: OrderSeed,
}

impl Tables {
    pub(crate) fn new(registers: usize, move_cycles: u32, seed: OrderSeed) -> Self {
        Tables { graphs: GraphBuilder::of(registers), current: ByRegister::of(registers), move_cycles, seed }
    }

    /// The stretch in a better order.
    pub(crate) fn order(&mut self, values: &mut Values<'_>, stretch: &Stretch, limit: Counts) -> Better {
        let move_cycles = self.move_cycles;
        let looked = self.look(values, stretch);
        let count = looked.insts.len() as u32;
        let source = in_order(&looked.graph, looked.lives.clone(), 0..count);
        let as_it_is = Better { insts: None, cycles: source.cycles, peak: source.peak };
        let mut few = looked.few(None);
        let mut within =
            |limit, windows| Choice { looked: &looked, limit, move_cycles, windows }.better(&source, &mut few);
        let mut order = within(limit, &WINDOWS);
        let cycles = |order: &Option<Order>| order.as_ref().map_or(source.cycles, |order| order.cycles);
        if limit.is_low() && order.as_ref().unwrap_or(&source).peak.is_near(limit) {
            // What is kept for gaps before wide values is a guess.
            let wider = within(limit.with_more(WIDER), &[]);
            if cycles(&wider) as f32 <= SHORTER * cycles(&order) as f32 {
                order = wider;
            }
        }
        let better =
            |order: Order| Better { insts: Some(looked.in_order(&order)), cycles: order.cycles, peak: order.peak };
        order.map_or(as_it_is, better)
    }

    pub(crate) fn look(&mut self, values: &mut Values<'_>, stretch: &Stretch) -> Looked {
        let ops: Vec<Op<InstId>> = values.stretch(stretch);
        let graph = self.graphs.build(&ops, &values.accesses);
        let lives = Lives::new(values, stretch, &ops, &mut self.current);
        let mut heights = heights(&graph);
        let longest = heights.iter().copied().max().unwrap_or(0);
        begin_early(&graph, &ops, &mut heights);
        self.seed.disturb(u64::from(stretch.block.as_u32()), &mut heights);
        Looked { insts: ops.iter().map(|op| op.id).collect(), graph, lives, heights, longest }
    }
}

/// A stretch in an order that is as good as that of the source, or better.
pub(crate) struct Better {
    /// The instructions, where the order is another one.
    pub(crate) insts: Option<Vec<InstId>>,
    /// How long it takes.
    pub(crate) cycles: u32,
    /// Most registers in use.
    pub(crate) peak: Counts,
}

/// What is known of a stretch.
pub(crate) struct Looked {
    pub(crate) insts: Vec<InstId>,
    graph: Graph,
    lives: Lives,
    heights: Vec<u32>,
    /// Cycles of the longest way through it.
    longest: u32,
}

impl Looked {
    /// The instructions in another order.
    pub(crate) fn in_order(&self, order: &Order) -> Vec<InstId> {
        order.insts.iter().map(|at| self.insts[*at as usize]).collect()
    }

    /// Cycles that it takes as it stands.
    pub(crate) fn cycles(&self) -> u32 {
        in_order(&self.graph, self.lives.clone(), 0..self.insts.len() as u32).cycles
    }

    /// Cycles that it takes at least, that of the last instruction among them: nothing is shorter than the longest way, or than an
    /// instruction a cycle.
    fn least(&self) -> u32 {
        self.longest.max(self.insts.len() as u32)
    }

    /// Orders of few registers, with one ahead of the others if it may be.
    pub(crate) fn few(&self, first: Option<Vec<u32>>) -> Few {
        let first = first.filter(|order| self.graph.allows(&ranks(order)));
        let made = first.map(|order| self.measured(order));
        let (ways, slow) = if self.insts.len() <= MANY { (&FEW[..], SLOW) } else { (&FEW[..1], 0) };
        Few { made: made.into_iter().collect(), ways: ways.iter(), slow }
    }

    /// A short order of no more than `limit` that follows the `low` one where nothing fits; the last that was tried where there
    /// is none.
    pub(crate) fn shortest(&self, low: &Order, limit: Counts) -> Order {
        let (Ok(order) | Err(order)) =
            Choice { looked: self, limit, move_cycles: 0, windows: &[] }.shortest(&ranks(&low.insts), ALL);
        order
    }

    fn measured(&self, order: Vec<u32>) -> Order {
        in_order(&self.graph, self.lives.clone(), order.into_iter())
    }
}

/// Orders of a stretch that need few registers, each made when it is asked for.
pub(crate) struct Few {
    made: Vec<Order>,
    ways: std::slice::Iter<'static, Way>,
    /// So many of the last of them take long.
    slow: usize,
}

impl Few {
    /// The first that keeps within the limit, or that which is least above it.
    pub(crate) fn low(&mut self, looked: &Looked, limit: Counts) -> &Order {
        let mut best: Option<(i32, usize)> = None;
        for n in 0.. {
            let Some(order) = self.get(looked, n) else { break };
            let excess = order.peak.excess(limit);
            if best.is_none_or(|(least, _)| excess < least) {
                best = Some((excess, n));
            }
            if excess == 0 {
                break;
            }
        }
        // There is one way at least.
        &self.made[best.map_or(0, |(_, n)| n)]
    }

    /// Whether some order needs no more than so many general registers. Where those by the first ways need far more, the others
    /// are not asked.
    pub(crate) fn reach(&mut self, looked: &Looked, registers: i32) -> bool {
        let mut least = i32::MAX;
        for n in 0.. {
            if least > NEAR && n == self.made.len() && self.ways.len() <= self.slow {
                break;
            }
            let Some(order) = self.get(looked, n) else { break };
            least = least.min(order.peak.0[Class::General as usize] - registers);
            if least <= 0 {
                return true;
            }
        }
        false
    }

    /// The one with the loads late, unless the stretch is too long for it.
    fn late(&mut self, looked: &Looked) -> Option<&Order> {
        // That of the lowest registers is there when this is asked for, so that no more than one is made.
        self.get(looked, LATE)
    }

    fn get(&mut self, looked: &Looked, n: usize) -> Option<&Order> {
        if n == self.made.len() {
            let way = self.ways.next()?;
            self.made.push(looked.measured(way(&looked.graph, &looked.lives)));
        }
        self.made.get(n)
    }
}

/// By instruction: its place in the order.
fn ranks(order: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; order.len()];
    (0..).zip(order).for_each(|(rank, at)| ranks[*at as usize] = rank);
    ranks
}

/// A stretch for which an order is looked for that needs no more than `limit`.
struct Choice<'a> {
    looked: &'a Looked,
    limit: Counts,
    move_cycles: u32,
    /// How far ahead lists look that stay near an order.
    windows: &'a [u32],
}

impl Choice<'_> {
    /// A better order than that of the source, if there is one.
    fn better(&self, source: &Order, few: &mut Few) -> Option<Order> {
        if source.peak.is_within(self.limit) {
            if source.cycles < self.looked.least() {
                return None;
            }
            let ranks: Vec<u32> = (0..source.insts.len() as u32).collect();
            return self.shortest(&ranks, ALL).ok().filter(|order| order.cycles < source.cycles);
        }
        let (lowest, source) = (self.lowest(few), self.priced(source.clone()));
        (lowest.cycles < source.cycles).then_some(lowest.order)
    }

    /// The order for which [`list_order`] decides.
    fn listed(&self, lives: &Lives, aim: Counts, followed: Followed<'_>) -> Order {
        list_order(&self.looked.graph, &self.looked.heights, lives.clone(), aim, followed)
    }

    /// A short order within the limit, by `ranks` where nothing fits; the last that was tried where there is none.
    fn shortest(&self, ranks: &[u32], window: u32) -> Result<Order, Order> {
        let mut aim = self.limit;
        let lives = &self.looked.lives;
        let mut order = self.listed(lives, aim, Followed { ranks, from: aim, window });
        for _ in 1..ATTEMPTS {
            if order.peak.is_within(self.limit) {
                break;
            }
            aim = aim.less(order.peak, self.limit);
            order = self.listed(lives, aim, Followed { ranks, from: aim, window });
        }
        if order.peak.is_within(self.limit) { Ok(order) } else { Err(order) }
    }

    /// An order for a stretch that needs more than the limit as it stands in the source: the cheapest of those that need
    /// little, of short ones that stay near one of them, of one that needs as much but is shorter, and of one that lets go what is
    /// not read again in the stretch.
    fn lowest(&self, few: &mut Few) -> Priced {
        let (lives, limit) = (&self.looked.lives, self.limit);
        let low = few.low(self.looked, limit).clone();
        let ranks = ranks(&low.insts);
        let low_peak = low.peak;
        let mut best = self.priced(low);
        if !best.order.peak.is_far_above(limit) {
            best = self.near(best, &ranks, few);
            if best.order.peak.is_within(limit) {
                return best;
            }
            let aim = limit.max(low_peak);
            best = best.or(self.priced(self.listed(lives, aim, Followed { ranks: &ranks, from: aim, window: ALL })));
        }
        let followed = Followed { ranks: &ranks, from: limit.less_for_ranks(), window: ALL };
        best.or(self.priced(self.listed(&lives.clone().until_last_read(), limit, followed)))
    }

    /// The cheapest of orders that follow the one of the lowest registers, and that of the source with its loads late. What is made with
    /// all in sight takes registers for what is needed late.
    fn near(&self, mut best: Priced, low: &[u32], few: &mut Few) -> Priced {
        let follow = |best: Priced, ranks: &[u32], window: u32| {
            let (Ok(order) | Err(order)) = self.shortest(ranks, window);
            best.or(self.priced(order))
        };
        best = follow(best, low, ALL);
        if best.cycles as f32 <= LONG * self.looked.least() as f32 || self.windows.is_empty() {
            return best;
        }
        if let Some(late) = few.late(self.looked) {
            let late = ranks(&late.insts);
            best = self.windows.iter().fold(best, |best, window| follow(best, &late, *window));
        }
        best
    }

    /// What an order costs with what has to leave the registers.
    fn priced(&self, order: Order) -> Priced {
        let moves: u32 = [Class::General, Class::Predicate]
            .into_iter()
            .filter(|class| order.peak.0[*class as usize] > self.limit.0[*class as usize])
            .map(|class| evictions(&self.looked.lives, &order.insts, class, self.limit.0[class as usize]))
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
