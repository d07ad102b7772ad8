//! The order of one stretch: short where there is room, and one of few registers where there is little.

use crate::backward::backward_order;
use crate::before::SourceOrder;
use crate::code::{ByRegister, Op};
use crate::dependence::{Graph, RegState, build};
use crate::depth_first::depth_first_order;
use crate::evictions::evictions;
use crate::list::{Order, in_order, list_order};
use crate::lives::{Class, Counts, Lives};
use crate::order::heights;
use crate::runs::order_by_runs;
use crate::survey::Stretch;
use crate::values::Values;
use oriole_ori::InstId;

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

/// Tables by register, for one stretch after the other.
pub(crate) struct Tables {
    states: ByRegister<RegState>,
    current: ByRegister<Option<u32>>,
    move_cycles: u32,
}

impl Tables {
    pub(crate) fn new(registers: usize, move_cycles: u32) -> Self {
        Tables { states: ByRegister::of(registers), current: ByRegister::of(registers), move_cycles }
    }

    /// The stretch in a better order, none where that of the source is as good, and how long it takes.
    pub(crate) fn order(
        &mut self,
        values: &mut Values<'_>,
        stretch: &Stretch,
        limit: Counts,
    ) -> (Option<Vec<InstId>>, u32) {
        let move_cycles = self.move_cycles;
        let Looked { ops, graph, lives, heights } = self.look(values, stretch);
        let source = in_order(&graph, lives.clone(), 0..ops.len() as u32);
        let as_it_is = source.cycles;
        let choice = Choice { graph: &graph, heights: &heights, lives: &lives, limit, move_cycles };
        let order = if source.peak.is_within(limit) {
            let ranks: Vec<u32> = (0..ops.len() as u32).collect();
            choice.shortest(&ranks).ok().filter(|order| order.cycles < source.cycles)
        } else {
            let source = choice.priced(source);
            let lowest = choice.lowest();
            (lowest.cycles < source.cycles).then_some(lowest.order)
        };
        let cycles = order.as_ref().map_or(as_it_is, |order| order.cycles);
        (order.map(|order| insts(&ops, &order)), cycles)
    }

    /// The stretch in an order of fewer registers: within `limit`, or else with no more than `most` general ones; and the
    /// cycles that it takes more than that of the source. `None` where there is none.
    pub(crate) fn lower(
        &mut self,
        values: &mut Values<'_>,
        stretch: &Stretch,
        source: &SourceOrder,
        (limit, most): (Counts, i32),
    ) -> Option<(Vec<InstId>, i64)> {
        let Looked { ops, graph, lives, heights } = self.look(values, stretch);
        let as_it_is = in_order(&graph, lives.clone(), 0..ops.len() as u32);
        let choice = Choice { graph: &graph, heights: &heights, lives: &lives, limit, move_cycles: 0 };
        let first = source.of(ops.iter().map(|op| op.id)).filter(|order| graph.allows(&ranks(order)));
        let low = choice.low(first);
        let is_possible = |order: &Order| order.peak.0[Class::General as usize] <= most;
        if !is_possible(&low) {
            return None;
        }
        let (Ok(short) | Err(short)) = choice.shortest(&ranks(&low.insts));
        let order = if is_possible(&short) { short } else { low };
        Some((insts(&ops, &order), i64::from(order.cycles) - i64::from(as_it_is.cycles)))
    }

    fn look(&mut self, values: &mut Values<'_>, stretch: &Stretch) -> Looked {
        let ops: Vec<Op<InstId>> = values.stretch(stretch);
        let graph = build(&ops, &values.accesses, &mut self.states);
        let lives = Lives::new(values, stretch, &ops, &mut self.current);
        let heights = heights(&graph);
        Looked { ops, graph, lives, heights }
    }
}

/// What is known of a stretch.
struct Looked {
    ops: Vec<Op<InstId>>,
    graph: Graph,
    lives: Lives,
    heights: Vec<u32>,
}

fn insts(ops: &[Op<InstId>], order: &Order) -> Vec<InstId> {
    order.insts.iter().map(|at| ops[*at as usize].id).collect()
}

/// By instruction: its place in the order.
fn ranks(order: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; order.len()];
    (0..).zip(order).for_each(|(rank, at)| ranks[*at as usize] = rank);
    ranks
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

    /// Of the `first` order and those that need few registers the first that keeps within the limit, or that which is least
    /// above it.
    fn low(&self, first: Option<Vec<u32>>) -> Order {
        let count = self.graph.incoming.len();
        let ways = if count <= MANY { &FEW[..] } else { &FEW[..1] };
        let mut best: Option<Order> = None;
        for order in first.into_iter().chain(ways.iter().map(|way| way(self.graph, self.lives))) {
            let order = in_order(self.graph, self.lives.clone(), order.into_iter());
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
        let low = self.low(None);
        let ranks = ranks(&low.insts);
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
