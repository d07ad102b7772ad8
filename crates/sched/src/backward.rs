//! An order that needs few registers: from the end of a stretch, what uses the fewest new values first.
//!
//! Where the order of the source needs more registers than there are, its own pressure is no guide: unrolled code loads
//! all and computes afterwards. From the end on, an instruction whose results are wanted frees their registers, and what it
//! reads takes some: the instruction for which that is best goes next, of equal ones the one that became ready last, so that
//! the code of one result stays together (after Sethi and Ullman, 1970).

use crate::dependence::Graph;
use crate::lives::{Class, Counts, Lives};
use oriole_graph::Rows;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The instructions in an order from first to last.
pub(crate) fn backward_order(graph: &Graph, lives: &Lives) -> Vec<u32> {
    let count = graph.incoming.len();
    let edges =
        (0..count as u32).flat_map(|from| graph.edges.row(from as usize).iter().map(move |edge| (edge.to, from)));
    let readers = (0..count as u32).flat_map(|at| lives.entries(at).0.iter().map(move |value| (*value, at)));
    let mut backward = Backward {
        lives,
        live: (0..lives.values() as u32).map(|value| lives.lives_on(value)).collect(),
        readers: Rows::new(lives.values(), readers),
        before: Rows::new(count, edges),
        outgoing: (0..count).map(|at| graph.edges.row(at).len() as u32).collect(),
        opened: vec![None; count],
        openings: 0,
        ready: BinaryHeap::new(),
        order: Vec::with_capacity(count),
    };
    for at in 0..count {
        if backward.outgoing[at] == 0 {
            backward.open(at as u32);
        }
    }
    while let Some(at) = backward.choose() {
        backward.take(at);
    }
    backward.order.reverse();
    backward.order
}

struct Backward<'a> {
    lives: &'a Lives,
    /// By value: it is needed behind the place that has been reached.
    live: Vec<bool>,
    /// Who reads a value.
    readers: Rows<u32>,
    /// What an instruction waits for.
    before: Rows<u32>,
    /// By instruction: how many that wait for it have no place yet.
    outgoing: Vec<u32>,
    /// By instruction with none left and no place yet: the how manieth it was.
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
            if self.opened[at as usize].take().is_some() {
                return Some(at);
            }
        }
        None
    }

    /// By how much the registers in use grow if the instruction comes next.
    fn growth(&self, at: u32) -> i32 {
        let (reads, writes) = self.lives.entries(at);
        let mut growth = Counts::default();
        for value in writes.iter().filter(|value| self.live[**value as usize]) {
            growth.add(self.lives.class(*value), -1);
        }
        for value in reads.iter().filter(|value| !self.live[**value as usize]) {
            growth.add(self.lives.class(*value), 1);
        }
        growth.0[Class::General as usize] * PREDICATES_FOR_ONE + growth.0[Class::Predicate as usize]
    }

    fn take(&mut self, at: u32) {
        let (reads, writes) = self.lives.entries(at);
        writes.iter().for_each(|value| self.live[*value as usize] = false);
        for value in reads {
            if !std::mem::replace(&mut self.live[*value as usize], true) {
                for n in 0..self.readers.row(*value as usize).len() {
                    self.offer(self.readers.row(*value as usize)[n]);
                }
            }
        }
        self.order.push(at);
        for n in 0..self.before.row(at as usize).len() {
            let before = self.before.row(at as usize)[n];
            let outgoing = &mut self.outgoing[before as usize];
            *outgoing -= 1;
            if *outgoing == 0 {
                self.open(before);
            }
        }
    }
}

/// So many predicates weigh as much as a general register: fewer are in use, but they are few.
const PREDICATES_FOR_ONE: i32 = 2;

#[cfg(test)]
mod tests {
    use super::{PREDICATES_FOR_ONE, backward_order};
    use crate::lives::{Class, Lives};
    use crate::sample::Sample;
    use fastrand::Rng;
    use std::cmp::Reverse;

    /// By how much the registers in use grow if the instruction comes before what needs the `live` values.
    fn growth(lives: &Lives, live: &[bool], at: u32) -> i32 {
        let weight = |value: &u32| match lives.class(*value) {
            Class::General => PREDICATES_FOR_ONE,
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
            let order = backward_order(&sample.graph, &sample.lives);
            assert!(sample.allows(&order), "seed {seed}: {order:?}");
            assert_eq!(order, plain_order(&sample), "seed {seed}");
        }
    }
}
