//! An order that needs few registers: from the end of a stretch, what uses the fewest new values first.
//!
//! Where the order of the source needs more registers than there are, its own pressure is no guide: unrolled code loads
//! all and computes afterwards. From the end on, an instruction whose results are wanted frees their registers, and what it
//! reads takes some: the instruction for which that is best goes next, of equal ones the one that became ready last, so that
//! the code of one result stays together (after Sethi and Ullman, 1970). With foresight it also counts what follows at once:
//! a load takes its address, but with it go the values that it would have kept.

use crate::dependence::Graph;
use crate::lives::{Class, Lives};
use oriole_checkpoint::checkpoint;
use oriole_graph::Rows;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// So many predicates weigh as much as a general register: fewer are in use, but they are few.
const PREDICATES_FOR_ONE: u8 = 2;

/// A value of a stretch.
#[derive(Clone, Copy)]
pub(crate) struct Value {
    /// It is needed behind the place that has been reached.
    pub(crate) is_live: bool,
    /// What it counts.
    weight: u8,
}

impl Value {
    fn new(lives: &Lives, value: u32) -> Self {
        let weight = match lives.class(value) {
            Class::General => PREDICATES_FOR_ONE,
            Class::Predicate => 1,
            _ => 0,
        };
        Value { is_live: lives.lives_on(value), weight }
    }

    /// What it takes if it is needed from here on.
    fn taken(self) -> i32 {
        i32::from(self.weight) * i32::from(!self.is_live)
    }

    /// What becomes free if it is written here.
    fn freed(self) -> i32 {
        i32::from(self.weight) * i32::from(self.is_live)
    }
}

/// A stretch of which instructions get places from the end on.
pub(crate) struct FromEnd<'a> {
    pub(crate) lives: &'a Lives,
    pub(crate) values: Vec<Value>,
    /// What an instruction waits for.
    pub(crate) before: Rows<u32>,
    /// By instruction: how many that wait for it have no place yet.
    pub(crate) outgoing: Vec<u32>,
}

impl<'a> FromEnd<'a> {
    pub(crate) fn new(graph: &Graph, lives: &'a Lives) -> Self {
        let count = graph.incoming.len();
        FromEnd {
            lives,
            values: (0..lives.values() as u32).map(|value| Value::new(lives, value)).collect(),
            before: graph.waits(),
            outgoing: (0..count).map(|at| graph.edges.row(at).len() as u32).collect(),
        }
    }

    /// The instructions that nothing waits for.
    pub(crate) fn last(&self) -> impl Iterator<Item = u32> + use<> {
        let last: Vec<u32> = (0..).zip(&self.outgoing).filter(|(_, count)| **count == 0).map(|(at, _)| at).collect();
        last.into_iter()
    }

    /// By how much what is in use grows if the instruction comes next.
    pub(crate) fn growth(&self, at: u32) -> i32 {
        self.growth_of(at, |value| self.values[value as usize])
    }

    /// The same where the values in `also` are in use, too.
    fn growth_behind(&self, at: u32, also: &[u32]) -> i32 {
        self.growth_of(at, |value| {
            let known = self.values[value as usize];
            Value { is_live: known.is_live || also.contains(&value), ..known }
        })
    }

    fn growth_of(&self, at: u32, known: impl Fn(u32) -> Value) -> i32 {
        let (reads, writes) = self.lives.entries(at);
        let taken: i32 = reads.iter().map(|value| known(*value).taken()).sum();
        let freed: i32 = writes.iter().map(|value| known(*value).freed()).sum();
        taken - freed
    }
}

/// The instructions in an order from first to last, with `foresight` or without.
pub(crate) fn backward_order(graph: &Graph, lives: &Lives, foresight: bool) -> Vec<u32> {
    let count = graph.incoming.len();
    let readers = (0..count as u32).flat_map(|at| lives.entries(at).0.iter().map(move |value| (*value, at)));
    let mut backward = Backward {
        graph,
        foresight,
        rest: FromEnd::new(graph, lives),
        readers: Rows::new(lives.values(), readers),
        opened: vec![None; count],
        openings: 0,
        ready: BinaryHeap::new(),
        order: Vec::with_capacity(count),
    };
    backward.rest.last().for_each(|at| backward.open(at));
    while let Some(at) = backward.choose() {
        backward.take(at);
    }
    backward.order.reverse();
    backward.order
}

struct Backward<'a> {
    graph: &'a Graph,
    foresight: bool,
    rest: FromEnd<'a>,
    /// Who reads a value.
    readers: Rows<u32>,
    /// By instruction with none left that waits for it and no place yet: the how manieth it was.
    opened: Vec<Option<u32>>,
    openings: u32,
    /// Those by growth, of equal ones the one that was opened last first. Of an instruction whose growth has become less
    /// there are several entries, the last of them true.
    ready: BinaryHeap<(Reverse<i32>, u32, u32)>,
    /// From the end on.
    order: Vec<u32>,
}

impl Backward<'_> {
    fn open(&mut self, at: u32) {
        self.opened[at as usize] = Some(self.openings);
        self.openings += 1;
        self.offer(at);
    }

    /// Put what is open in its place among the ready.
    fn offer(&mut self, at: u32) {
        if let Some(opening) = self.opened[at as usize] {
            self.ready.push((Reverse(self.growth(at)), opening, at));
        }
    }

    fn choose(&mut self) -> Option<u32> {
        while let Some((_, _, at)) = self.ready.pop() {
            checkpoint(4);
            if self.opened[at as usize].take().is_some() {
                return Some(at);
            }
        }
        None
    }

    /// By how much the registers in use grow if the instruction comes next; with foresight also what then can follow at
    /// once and frees some.
    fn growth(&self, at: u32) -> i32 {
        let own = self.rest.growth(at);
        if !self.foresight {
            return own;
        }
        let (reads, _) = self.rest.lives.entries(at);
        let before = self.rest.before.row(at as usize).iter();
        let follow = before.filter(|before| self.rest.outgoing[**before as usize] == 1);
        own + follow.map(|before| self.rest.growth_behind(*before, reads).min(0)).sum::<i32>()
    }

    fn take(&mut self, at: u32) {
        let (reads, writes) = self.rest.lives.entries(at);
        writes.iter().for_each(|value| self.rest.values[*value as usize].is_live = false);
        for value in reads {
            if !std::mem::replace(&mut self.rest.values[*value as usize].is_live, true) {
                for n in 0..self.readers.row(*value as usize).len() {
                    self.offer(self.readers.row(*value as usize)[n]);
                }
            }
        }
        self.order.push(at);
        for n in 0..self.rest.before.row(at as usize).len() {
            let before = self.rest.before.row(at as usize)[n];
            let outgoing = &mut self.rest.outgoing[before as usize];
            *outgoing -= 1;
            match *outgoing {
                0 => self.open(before),
                1 if self.foresight => self.offer_last_reader(before),
                _ => {}
            }
        }
    }

    /// Only one instruction is left that waits for `before`: if it is ready, it is seen with other eyes now.
    fn offer_last_reader(&mut self, before: u32) {
        let mut waiting = self.graph.edges.row(before as usize).iter().map(|edge| edge.to);
        if let Some(last) = waiting.find(|to| self.opened[*to as usize].is_some()) {
            self.offer(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PREDICATES_FOR_ONE, backward_order};
    use crate::lives::{Class, Lives};
    use crate::sample::{Sample, Touched, each_allows};
    use fastrand::Rng;
    use std::cmp::Reverse;

    /// By how much the registers in use grow if the instruction comes before what needs the `live` values.
    fn growth(lives: &Lives, live: &[bool], at: u32) -> i32 {
        let weight = |value: &u32| match lives.class(*value) {
            Class::General => i32::from(PREDICATES_FOR_ONE),
            Class::Predicate => 1,
            _ => 0,
        };
        let (reads, writes) = lives.entries(at);
        let taken: i32 = reads.iter().filter(|value| !live[**value as usize]).map(weight).sum();
        let freed: i32 = writes.iter().filter(|value| live[**value as usize]).map(weight).sum();
        taken - freed
    }

    /// The same order in the plainest way: all that is ready is looked at for each place.
    fn plain_order(Sample { graph, lives }: &Sample) -> Vec<u32> {
        let count = graph.incoming.len() as u32;
        let mut live: Vec<bool> = (0..lives.values() as u32).map(|value| lives.lives_on(value)).collect();
        let (mut ready, mut order): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        loop {
            let is_ready = |at: &u32| graph.edges.row(*at as usize).iter().all(|edge| order.contains(&edge.to));
            let new: Vec<u32> =
                (0..count).filter(|at| !ready.contains(at) && !order.contains(at)).filter(is_ready).collect();
            ready.extend(new);
            let best = (0..ready.len()).min_by_key(|n| (growth(lives, &live, ready[*n]), Reverse(*n)));
            let Some(best) = best else { break };
            let at = ready.remove(best);
            lives.entries(at).1.iter().for_each(|value| live[*value as usize] = false);
            lives.entries(at).0.iter().for_each(|value| live[*value as usize] = true);
            order.push(at);
        }
        order.reverse();
        order
    }

    #[test]
    fn the_instruction_that_takes_the_fewest_registers_is_next() {
        for seed in 0..2_000 {
            let mut rng = Rng::with_seed(seed);
            let count = rng.u32(1..60);
            let sample = Sample::new(&mut rng, count, 4);
            let order = backward_order(&sample.graph, &sample.lives, false);
            assert!(sample.allows(&order), "seed {seed}: {order:?}");
            assert_eq!(order, plain_order(&sample), "seed {seed}");
        }
    }

    /// Loads that each write four values in the place of four that were there, from one address; then a chain that reads all.
    fn guarded_loads(loads: u32) -> Sample {
        let (address, loaded) = ([0, 1, 2], |n: u32| 3 + n);
        let mut insts: Vec<Touched> = (0..4 * loads).map(|n| (vec![], vec![loaded(n)])).collect();
        let kept = |load: u32| (4 * load..4 * load + 4).map(loaded);
        insts.extend((0..loads).map(|load| (address.into_iter().chain(kept(load)).collect(), vec![])));
        let sum = |n: u32| loaded(4 * loads) + n;
        let first = insts.len() as u32;
        insts.extend((0..4 * loads).map(|n| (vec![sum(n), loaded(n)], vec![sum(n + 1)])));
        let waits: Vec<(u32, u32)> = (0..4 * loads).map(|n| (4 * loads + n / 4, first + n)).collect();
        Sample::of(&insts, &waits, &[sum(4 * loads)])
    }

    #[test]
    fn a_load_stands_where_its_values_are_read() {
        let sample = guarded_loads(8);
        let order = |foresight| backward_order(&sample.graph, &sample.lives, foresight);
        assert_eq!(sample.peak(order(true)), 4 + 3 + 1);
        assert!(sample.peak(order(false)) > 32);
    }

    #[test]
    fn foresight_breaks_no_order() {
        each_allows(|sample| backward_order(&sample.graph, &sample.lives, true));
    }
}
