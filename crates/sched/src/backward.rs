//! An order that needs few registers: from the end of a stretch, what uses the fewest new values first.
//!
//! Where the order of the source needs more registers than there are, its own pressure is no guide: unrolled code loads
//! all and computes afterwards. From the end on, an instruction whose results are wanted frees their registers, and what it
//! reads takes some: the instruction for which that is best goes next, of equal ones the one that became ready last, so that
//! the code of one result stays together (after Sethi and Ullman, 1970).

use crate::dependence::Graph;
use crate::lives::{Class, Counts, Lives};
use oriole_graph::Rows;

/// The instructions in an order from first to last.
pub(crate) fn backward_order(graph: &Graph, lives: &Lives) -> Vec<u32> {
    let count = graph.incoming.len();
    let edges =
        (0..count as u32).flat_map(|from| graph.edges.row(from as usize).iter().map(move |edge| (edge.to, from)));
    let mut backward = Backward {
        lives,
        live: (0..lives.values() as u32).map(|value| lives.lives_on(value)).collect(),
        before: Rows::new(count, edges),
        outgoing: (0..count).map(|at| graph.edges.row(at).len() as u32).collect(),
        ready: Vec::new(),
        order: Vec::with_capacity(count),
    };
    backward.ready.extend((0..count as u32).filter(|at| backward.outgoing[*at as usize] == 0));
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
    /// What an instruction waits for.
    before: Rows<u32>,
    /// By instruction: how many that wait for it have no place yet.
    outgoing: Vec<u32>,
    /// Those with none left, the last one last.
    ready: Vec<u32>,
    /// From the end on.
    order: Vec<u32>,
}

impl Backward<'_> {
    fn choose(&mut self) -> Option<u32> {
        let best = (0..self.ready.len()).rev().min_by_key(|place| self.growth(self.ready[*place]))?;
        Some(self.ready.remove(best))
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
        reads.iter().for_each(|value| self.live[*value as usize] = true);
        self.order.push(at);
        for before in self.before.row(at as usize) {
            let outgoing = &mut self.outgoing[*before as usize];
            *outgoing -= 1;
            if *outgoing == 0 {
                self.ready.push(*before);
            }
        }
    }
}

/// So many predicates weigh as much as a general register: fewer are in use, but they are few.
const PREDICATES_FOR_ONE: i32 = 2;
