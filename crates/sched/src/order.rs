//! The order of a block: list scheduling by critical path.
//!
//! Of the instructions whose predecessors have issued and whose operands are ready, the one with the
//! longest way to the block's end issues next, if its unit is free by then; original order breaks ties. Where nothing is
//! ready the clock moves on.

use crate::code::{AWAITED, Code, Op, REGISTERS};
use crate::dependence::{Graph, GraphBuilder};
use crate::pace::Pace;
use crate::seed::OrderSeed;
use crate::units::Units;
use oriole_checkpoint::checkpoint;
use oriole_isa::Opcode;
use oriole_isa::chip::Unit;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A latency from which on it is that of memory: the caches' at best, and often much more.
const MEMORY: u32 = 60;

/// Reorder every block.
pub(crate) fn reorder(code: &mut Code, seed: OrderSeed) {
    let (mut graphs, mut queues) = (GraphBuilder::of(REGISTERS + AWAITED), Queues::default());
    for (block, ops) in (0..).zip(&mut code.ops).filter(|(_, ops)| ops.len() > 1) {
        let graph = graphs.build(ops, &code.accesses);
        let mut heights = heights(&graph);
        seed.disturb(block, &mut heights);
        let order = list_schedule(ops, &graph, heights, &mut queues);
        permute(ops, order);
    }
}

/// Put at each place what `order` has there: the place where it stands now.
fn permute<T>(all: &mut [T], mut order: Vec<u32>) {
    for start in 0..order.len() as u32 {
        // Round a ring of places, each of which takes from the next; what is where it belongs is a ring of its own.
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut order[at as usize], at);
            if from == start {
                break;
            }
            all.swap(at as usize, from as usize);
            at = from;
        }
    }
}

/// Cycles from each instruction's issue to the end of the block.
pub(crate) fn heights(graph: &Graph) -> Vec<u32> {
    let mut heights = vec![1u32; graph.incoming.len()];
    raise(graph, &mut heights);
    heights
}

/// What waits for something is no nearer to the end than that: to so much each is raised.
fn raise(graph: &Graph, heights: &mut [u32]) {
    for at in (0..heights.len()).rev() {
        checkpoint(1);
        // Edges go forward, so the targets are done.
        let longest = graph.edges.row(at).iter().map(|e| e.latency + heights[e.to as usize]).max();
        heights[at] = longest.unwrap_or(0).max(heights[at]);
    }
}

/// What has the highest goes first of what could: the way to the end of the block, or more.
pub(crate) fn priorities(graph: &Graph, ops: &[Op], mut heights: Vec<u32>) -> Vec<u32> {
    begin_early(graph, ops, &mut heights);
    // What may stop the warp comes behind what asks for lines of constants and does not.
    heights.iter_mut().zip(ops).filter(|(_, op)| op.asks_for_line).for_each(|(height, _)| *height = u32::MAX);
    heights
}

/// What comes at no fixed time and is read in other blocks, or when the loop comes round, is begun early, and so is what it waits for.
pub(crate) fn begin_early<I>(graph: &Graph, ops: &[Op<I>], heights: &mut [u32]) {
    let mut any = false;
    for (height, op) in heights.iter_mut().zip(ops).filter(|(_, op)| op.variable && !op.defs.is_empty()) {
        let estimate = op.opcode.estimate();
        if *height < estimate {
            *height = patience(estimate);
            any = true;
        }
    }
    if any {
        raise(graph, heights);
    }
}

/// Cycles after which what comes at the end of an edge is asked for, while there is something else to do: of memory those of a miss.
pub(crate) fn patience(latency: u32) -> u32 {
    latency + if latency >= MEMORY { Opcode::MISS } else { 0 }
}

/// What waits for its operands, by when they are there, and what has them. Between blocks both are empty: their room is kept.
#[derive(Default)]
struct Queues {
    waiting: BinaryHeap<Reverse<(u32, u32)>>,
    ready: Ready,
}

fn list_schedule(ops: &[Op], graph: &Graph, heights: Vec<u32>, queues: &mut Queues) -> Vec<u32> {
    let heights = priorities(graph, ops, heights);
    let mut incoming = graph.incoming.clone();
    let mut earliest = vec![0u32; heights.len()];
    let Queues { waiting, ready } = queues;
    let (mut units, mut pace) = (Units::default(), Pace::new(ops));
    let open = |ready: &mut Ready, at: u32| ready.push(&ops[at as usize], heights[at as usize], at);
    (0..heights.len() as u32).filter(|at| incoming[*at as usize] == 0).for_each(|at| open(ready, at));
    let mut order = Vec::with_capacity(heights.len());
    let mut clock = 0;
    loop {
        checkpoint(4);
        while let Some(Reverse((_, at))) = waiting.peek().copied().filter(|Reverse((time, _))| *time <= clock) {
            waiting.pop();
            open(ready, at);
        }
        let full_until = pace.full_until(clock);
        let at = match ready.take(&units, clock, full_until.is_some()) {
            Ok(at) => at,
            Err(free) => {
                let there = waiting.peek().map(|Reverse((time, _))| *time);
                let more = full_until.filter(|_| ready.has_held());
                match free.into_iter().chain(there).chain(more).min() {
                    Some(time) => clock = time,
                    None => return order,
                }
                continue;
            }
        };
        let op = &ops[at as usize];
        pace.issue(op, clock);
        units.issue(op.demand, clock);
        order.push(at);
        for edge in graph.edges.row(at as usize) {
            let to = edge.to as usize;
            earliest[to] = earliest[to].max(clock + patience(edge.latency));
            incoming[to] -= 1;
            if incoming[to] == 0 {
                waiting.push(Reverse((earliest[to], edge.to)));
            }
        }
        clock += 1;
    }
}

/// What could issue if its unit is free, by unit and height: first what the pace does not hold, then what it does.
#[derive(Default)]
struct Ready {
    queues: [BinaryHeap<(u32, Reverse<u32>)>; 2 * Unit::COUNT],
    /// The queues in which there is something, a bit each.
    some: u32,
}

/// The queues of what the pace does not hold, a bit each.
const UNHELD: u32 = (1 << Unit::COUNT) - 1;

impl Ready {
    fn push(&mut self, op: &Op, height: u32, at: u32) {
        let queue = op.demand.unit as usize + if Pace::holds(op) { Unit::COUNT } else { 0 };
        self.queues[queue].push((height, Reverse(at)));
        self.some |= 1 << queue;
    }

    /// Whether there is something that the pace holds.
    fn has_held(&self) -> bool {
        self.some & !UNHELD != 0
    }

    /// The instruction with the longest way to the end of those whose units are free, of those that the pace does not hold where it
    /// is `full`; else when one of their units will be.
    fn take(&mut self, units: &Units, clock: u32, full: bool) -> Result<u32, Option<u32>> {
        let (mut best, mut soonest): (_, Option<u32>) = (None, None);
        let mut rest = if full { self.some & UNHELD } else { self.some };
        while rest != 0 {
            let queue = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let Some(head) = self.queues[queue].peek() else { continue };
            let free = units.free(queue % Unit::COUNT);
            if free <= clock {
                best = best.max(Some((*head, queue)));
            } else {
                soonest = Some(soonest.map_or(free, |soonest| soonest.min(free)));
            }
        }
        let Some(((_, Reverse(at)), queue)) = best else { return Err(soonest) };
        let heap = &mut self.queues[queue];
        heap.pop();
        if heap.is_empty() {
            self.some &= !(1 << queue);
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::permute;
    use fastrand::Rng;

    #[test]
    fn each_place_has_what_the_order_has_there() {
        for seed in 0..500 {
            let mut rng = Rng::with_seed(seed);
            let mut order: Vec<u32> = (0..rng.u32(0..40)).collect();
            rng.shuffle(&mut order);
            let mut all: Vec<u32> = (0..order.len() as u32).collect();
            permute(&mut all, order.clone());
            assert_eq!(all, order, "seed {seed}");
        }
    }
}
