//! Random graphs for the tests, with reachability by definition.

use crate::Graph;
use cranelift_entity::entity_impl;

/// A node of a random graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name(u32);
entity_impl!(Name, "n");

/// The node of that number.
pub(crate) fn node(number: usize) -> Name {
    Name::from_u32(number as u32)
}

/// A graph whose entry is node 0.
#[derive(Debug)]
pub(crate) struct Random {
    succs: Vec<Vec<usize>>,
}

impl Random {
    pub(crate) fn new(count: usize, edges: Vec<(usize, usize)>) -> Self {
        let mut succs = vec![Vec::new(); count];
        edges.into_iter().for_each(|(from, to)| succs[from].push(to));
        Random { succs }
    }

    pub(crate) fn count(&self) -> usize {
        self.succs.len()
    }

    pub(crate) fn edges_of(&self, from: usize) -> impl Iterator<Item = usize> {
        self.succs[from].iter().copied()
    }

    /// Which nodes can be reached from `start` if `without` is taken away; a node reaches itself.
    pub(crate) fn reach(&self, start: usize, without: Option<usize>) -> Vec<bool> {
        let mut seen = vec![false; self.count()];
        let mut work = vec![start];
        while let Some(at) = work.pop() {
            if Some(at) != without && !std::mem::replace(&mut seen[at], true) {
                work.extend(self.edges_of(at));
            }
        }
        seen
    }
}

impl Graph for Random {
    type Node = Name;

    fn bound(&self) -> usize {
        self.count()
    }

    fn entry(&self) -> Option<Name> {
        (self.count() > 0).then(|| node(0))
    }

    fn nodes(&self) -> impl Iterator<Item = Name> {
        (0..self.count()).map(node)
    }

    fn successors(&self, from: Name, found: impl FnMut(Name)) {
        self.edges_of(from.as_u32() as usize).map(node).for_each(found);
    }
}

/// Small graphs of all densities, the same each time.
pub(crate) fn graphs() -> impl Iterator<Item = Random> {
    let mut random = fastrand::Rng::with_seed(15);
    (0..400).map(move |_| {
        let count = random.usize(1..12);
        let edges = (0..random.usize(0..3 * count)).map(|_| (random.usize(0..count), random.usize(0..count)));
        let edges = edges.collect();
        Random::new(count, edges)
    })
}
