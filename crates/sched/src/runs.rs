//! An order that needs few registers, by looking some instructions ahead.
//!
//! From the end of a stretch on, like [`crate::backward`], but an instruction is judged by the run that it begins: itself, then
//! what became ready by the run, always that which takes the fewest registers. What costs registers at first may end with
//! fewer: an exponential needs two values in its middle and one at its start, and only who looks that far computes one
//! exponential after the other. From one place to the next most runs stay what they are: each is kept with what it has looked
//! at, and tried again where some of that has changed.

use crate::backward::FromEnd;
use crate::dependence::Graph;
use crate::lives::Lives;
use oriole_checkpoint::checkpoint;

/// Instructions of a run at most: more than any function of the mathematical library has in a chain.
const DEPTH: usize = 16;
/// Runs that are compared at most, those that became possible last.
const WIDTH: usize = 8;

/// What speaks for a run, the smallest first: none that ends with fewer registers than it began with is left behind one that
/// does not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// The most registers on the way to the fewest, and by how many fewer there are then.
    Frees { most: i32, growth: i32 },
    /// The fewest after some instruction of it, the most until there, and how often values that are new with the first
    /// instruction are read by others yet: they stay until then.
    Takes { growth: i32, most: i32, readers: u32 },
}

/// Of the runs, so many are kept: those of what is compared, and of what may be again.
const KEPT: usize = 2 * WIDTH;

/// A run that was tried.
#[derive(Default)]
struct Tried {
    /// The instruction that it begins with, and what speaks for it.
    known: Option<(u32, Worth)>,
    /// How many instructions had a place then.
    placed: u32,
    /// The instructions of the run.
    taken: Vec<u32>,
    /// Those that it has chosen from, its own among them.
    seen: Vec<u32>,
}

/// The instructions in an order from first to last.
pub(crate) fn order_by_runs(graph: &Graph, lives: &Lives) -> Vec<u32> {
    let count = graph.incoming.len();
    let mut readers = vec![0; lives.values()];
    (0..count as u32).flat_map(|at| lives.entries(at).0).for_each(|value| readers[*value as usize] += 1);
    let rest = FromEnd::new(graph, lives);
    let ready = rest.last().collect();
    let mut runs = Runs {
        readers,
        ready,
        changed: Vec::new(),
        taken: Vec::new(),
        opened: Vec::new(),
        placed: 0,
        value_changed: vec![0; lives.values()],
        waiting_changed: vec![0; count],
        tried: Default::default(),
        next: 0,
        rest,
    };
    let mut order = Vec::with_capacity(count);
    while let Some(at) = runs.choose() {
        checkpoint(16);
        runs.place(at);
        order.push(at);
    }
    order.reverse();
    order
}

struct Runs<'a> {
    rest: FromEnd<'a>,
    /// By value: how many instructions that read it have no place yet.
    readers: Vec<u32>,
    /// What nothing without a place waits for.
    ready: Vec<u32>,
    /// What the run at hand has changed: values, and instructions that it has taken.
    changed: Vec<u32>,
    taken: Vec<u32>,
    /// What may go on with it.
    opened: Vec<u32>,
    /// How many instructions have a place.
    placed: u32,
    /// By value, and by instruction: how many had one when it was last taken in use or set free, or something that waits for it got
    /// its place.
    value_changed: Vec<u32>,
    waiting_changed: Vec<u32>,
    tried: [Tried; KEPT],
    /// The one that is given up next.
    next: usize,
}

impl Runs<'_> {
    /// Take the instruction out with which the best run begins.
    fn choose(&mut self) -> Option<u32> {
        if self.ready.len() < 2 {
            return self.ready.pop();
        }
        let mut best: Option<(Worth, usize)> = None;
        for n in (self.ready.len().saturating_sub(WIDTH)..self.ready.len()).rev() {
            if self.rest.growth(self.ready[n]) < 0 {
                return Some(self.ready.remove(n));
            }
            let worth = self.known(self.ready[n]);
            if best.is_none_or(|(least, _)| worth < least) {
                best = Some((worth, n));
            }
        }
        best.map(|(_, n)| self.ready.remove(n))
    }

    /// What speaks for the run that begins with `first`.
    fn known(&mut self, first: u32) -> Worth {
        let known = |tried: &Tried| tried.known.filter(|(other, _)| *other == first);
        let at = self.tried.iter().position(|tried| known(tried).is_some());
        if let Some((_, worth)) =
            at.and_then(|at| known(&self.tried[at])).filter(|_| at.is_some_and(|at| self.holds(at)))
        {
            return worth;
        }
        let next = (self.next + 1) % KEPT;
        let at = at.unwrap_or_else(|| std::mem::replace(&mut self.next, next));
        let mut tried = std::mem::take(&mut self.tried[at]);
        tried.seen.clear();
        tried.taken.clear();
        let worth = self.worth(first, &mut tried);
        (tried.known, tried.placed) = (Some((first, worth)), self.placed);
        self.tried[at] = tried;
        worth
    }

    /// Whether a run would be the same.
    fn holds(&self, at: usize) -> bool {
        let Tried { placed, taken, seen, .. } = &self.tried[at];
        let values = |at: &u32| {
            let (reads, writes) = self.rest.lives.entries(*at);
            reads.iter().chain(writes).all(|value| self.value_changed[*value as usize] <= *placed)
        };
        let waiting = |at: &u32| {
            let before = self.rest.before.row(*at as usize);
            before.iter().all(|before| self.waiting_changed[*before as usize] <= *placed)
        };
        seen.iter().all(values) && taken.iter().all(waiting)
    }

    /// Try the run that begins with `first`, and take it back.
    fn worth(&mut self, first: u32, tried: &mut Tried) -> Worth {
        let lives = self.rest.lives;
        let is_new = |value: &&u32| !self.rest.values[**value as usize].is_live;
        let readers = lives.entries(first).0.iter().filter(is_new).map(|value| self.readers[*value as usize] - 1).sum();
        let (mut now, mut most) = (0, 0);
        let mut best: Option<(i32, i32)> = None;
        let mut opened = std::mem::take(&mut self.opened);
        opened.push(first);
        tried.seen.push(first);
        while self.taken.len() < DEPTH
            && let Some(k) = (0..opened.len()).rev().min_by_key(|k| self.rest.growth(opened[*k]))
        {
            let at = opened.remove(k);
            let before = opened.len();
            now += self.take(at, &mut opened);
            tried.seen.extend_from_slice(&opened[before..]);
            most = most.max(now);
            if best.is_none_or(|(growth, _)| now < growth) {
                best = Some((now, most));
            }
        }
        opened.clear();
        self.opened = opened;
        tried.taken.extend_from_slice(&self.taken);
        self.take_back();
        let (growth, most) = best.unwrap_or_default();
        if growth < 0 { Worth::Frees { most, growth } } else { Worth::Takes { growth, most, readers } }
    }

    /// The instruction comes next: by how much what is in use grows. What becomes ready is `opened`.
    fn take(&mut self, at: u32, opened: &mut Vec<u32>) -> i32 {
        let rest = &mut self.rest;
        let growth = rest.growth(at);
        let (reads, writes) = rest.lives.entries(at);
        for (value, becomes) in writes.iter().map(|value| (value, false)).chain(reads.iter().map(|value| (value, true)))
        {
            if std::mem::replace(&mut rest.values[*value as usize].is_live, becomes) != becomes {
                self.changed.push(*value);
            }
        }
        for before in rest.before.row(at as usize) {
            rest.outgoing[*before as usize] -= 1;
            opened.extend((rest.outgoing[*before as usize] == 0).then_some(*before));
        }
        self.taken.push(at);
        growth
    }

    fn take_back(&mut self) {
        let rest = &mut self.rest;
        for at in self.taken.drain(..) {
            rest.before.row(at as usize).iter().for_each(|before| rest.outgoing[*before as usize] += 1);
        }
        // A value that changed twice is what it was.
        self.changed.drain(..).for_each(|value| rest.values[value as usize].is_live ^= true);
    }

    /// The instruction has its place.
    fn place(&mut self, at: u32) {
        let mut ready = std::mem::take(&mut self.ready);
        self.take(at, &mut ready);
        self.ready = ready;
        self.taken.clear();
        self.placed += 1;
        self.changed.drain(..).for_each(|value| self.value_changed[value as usize] = self.placed);
        let waits_for = self.rest.before.row(at as usize);
        waits_for.iter().for_each(|before| self.waiting_changed[*before as usize] = self.placed);
        self.rest.lives.entries(at).0.iter().for_each(|value| self.readers[*value as usize] -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::order_by_runs;
    use crate::backward::backward_order;
    use crate::sample::{Sample, Touched, each_allows};

    #[test]
    fn nothing_stands_before_what_it_waits_for() {
        each_allows(|sample| order_by_runs(&sample.graph, &sample.lives));
    }

    /// Results that each need one value at their start, four then, and two before the last step; stage by stage.
    fn stages(results: u32) -> Sample {
        let value = |which: u32, n: u32| n * results + which;
        let stage = |reads: std::ops::Range<u32>, writes: std::ops::Range<u32>| {
            let inst = move |which| {
                let named = |range: std::ops::Range<u32>| range.map(|n| value(which, n)).collect();
                (named(reads.clone()), named(writes.clone()))
            };
            (0..results).map(inst).collect::<Vec<Touched>>()
        };
        let insts = [stage(0..1, 1..5), stage(1..5, 5..7), stage(5..7, 7..8)].concat();
        let lasting: Vec<u32> = (0..results).map(|which| value(which, 7)).collect();
        Sample::of(&insts, &[], &lasting)
    }

    #[test]
    fn what_needs_more_in_its_middle_is_computed_one_by_one() {
        let sample = stages(12);
        let by_runs = sample.peak(order_by_runs(&sample.graph, &sample.lives));
        assert_eq!(by_runs, 12 + 4 - 1);
        assert!(sample.peak(backward_order(&sample.graph, &sample.lives, false)) > by_runs);
    }
}
