//! Random stretches for unit tests: not code, but what its instructions read and write, and what they wait for.

use crate::dependence::{Edge, Graph};
use crate::list::in_order;
use crate::lives::{Class, Lives};
use crate::units::NOTHING;
use fastrand::Rng;
use oriole_graph::Rows;

pub(crate) struct Sample {
    pub(crate) graph: Graph,
    pub(crate) lives: Lives,
}

/// What an instruction reads, and what it writes.
pub(crate) type Touched = (Vec<u32>, Vec<u32>);

/// A stretch that grows.
#[derive(Default)]
struct Builder {
    /// By value: its class, and whether it lives on.
    values: Vec<(Class, bool)>,
    /// By value: who writes it; none for what is there before the stretch.
    writers: Vec<Option<u32>>,
    /// By instruction: what it reads, and what it writes.
    insts: Vec<Touched>,
    edges: Vec<(u32, Edge)>,
}

impl Sample {
    /// So many instructions that read at most so many values each.
    pub(crate) fn new(rng: &mut Rng, count: u32, most_reads: usize) -> Sample {
        let mut builder = Builder::default();
        (0..count).for_each(|at| builder.add_inst(rng, at, most_reads));
        let mut incoming = vec![0; count as usize];
        builder.edges.iter().for_each(|(_, edge)| incoming[edge.to as usize] += 1);
        let edges = Rows::new(count as usize, builder.edges.iter().copied());
        Sample {
            graph: Graph { edges, incoming, demands: vec![NOTHING; count as usize] },
            lives: Lives::of(&builder.values, &builder.insts),
        }
    }

    /// Instructions that wait for who writes what they read, and for others besides. All values are in general registers;
    /// those in `lasting` are needed afterwards.
    pub(crate) fn of(insts: &[Touched], besides: &[(u32, u32)], lasting: &[u32]) -> Sample {
        let named = insts.iter().flat_map(|(reads, writes)| reads.iter().chain(writes));
        let values = named.max().map_or(0, |last| last + 1);
        let classes: Vec<(Class, bool)> = (0..values).map(|value| (Class::General, lasting.contains(&value))).collect();
        let writer = |value: &u32| (0..).zip(insts).find(|(_, (_, writes))| writes.contains(value)).map(|(at, _)| at);
        let reads = (0..).zip(insts).flat_map(|(at, (reads, _))| reads.iter().map(move |value| (value, at)));
        let waits = reads.filter_map(|(value, at)| Some((writer(value)?, at))).chain(besides.iter().copied());
        let edges: Vec<(u32, Edge)> = waits.map(|(from, to)| (from, Edge { to, latency: 1 })).collect();
        let mut incoming = vec![0; insts.len()];
        edges.iter().for_each(|(_, edge)| incoming[edge.to as usize] += 1);
        let edges = Rows::new(insts.len(), edges.iter().copied());
        Sample {
            graph: Graph { edges, incoming, demands: vec![NOTHING; insts.len()] },
            lives: Lives::of(&classes, insts),
        }
    }

    /// Most general registers in use at a time in an order.
    pub(crate) fn peak(&self, order: Vec<u32>) -> i32 {
        in_order(&self.graph, self.lives.clone(), order.into_iter()).peak.0[Class::General as usize]
    }

    /// Some order in which nothing stands before what it waits for.
    pub(crate) fn any_order(&self, rng: &mut Rng) -> Vec<u32> {
        let mut incoming = self.graph.incoming.clone();
        let mut ready: Vec<u32> = (0..).zip(&incoming).filter(|(_, count)| **count == 0).map(|(at, _)| at).collect();
        let mut order = Vec::new();
        while !ready.is_empty() {
            let at = ready.swap_remove(rng.usize(..ready.len()));
            order.push(at);
            for edge in self.graph.edges.row(at as usize) {
                incoming[edge.to as usize] -= 1;
                ready.extend((incoming[edge.to as usize] == 0).then_some(edge.to));
            }
        }
        order
    }

    /// It has each instruction once, and none before what it waits for.
    pub(crate) fn allows(&self, order: &[u32]) -> bool {
        let place = |at: u32| order.iter().position(|other| *other == at);
        let from = 0..self.graph.incoming.len() as u32;
        let mut edges =
            from.clone().flat_map(|from| self.graph.edges.row(from as usize).iter().map(move |e| (from, e.to)));
        order.len() == from.len()
            && from.clone().all(|at| place(at).is_some())
            && edges.all(|(from, to)| place(from) < place(to))
    }
}

/// A way to an order breaks none of a thousand samples.
pub(crate) fn each_allows(order: impl Fn(&Sample) -> Vec<u32>) {
    for seed in 0..1_000 {
        let mut rng = Rng::with_seed(seed);
        let count = rng.u32(1..80);
        let sample = Sample::new(&mut rng, count, 4);
        assert!(sample.allows(&order(&sample)), "seed {seed}");
    }
}

impl Builder {
    fn add_inst(&mut self, rng: &mut Rng, at: u32, most_reads: usize) {
        let mut reads = Vec::new();
        for _ in 0..rng.usize(..=most_reads) {
            let old = !self.values.is_empty() && rng.u8(..4) > 0;
            let value = if old { rng.u32(..self.values.len() as u32) } else { self.add_value(rng, None) };
            if !reads.contains(&value) {
                reads.push(value);
            }
        }
        let waits = reads.iter().filter_map(|value| self.writers[*value as usize]).collect::<Vec<u32>>();
        waits.into_iter().for_each(|writer| self.add_edge(rng, writer, at));
        if at > 0 && rng.u8(..4) == 0 {
            let from = rng.u32(..at);
            self.add_edge(rng, from, at);
        }
        let writes = (0..rng.u8(..3)).map(|_| self.add_value(rng, Some(at))).collect();
        self.insts.push((reads, writes));
    }

    fn add_value(&mut self, rng: &mut Rng, writer: Option<u32>) -> u32 {
        let class = match rng.u8(..8) {
            0 => Class::Uniform,
            1 | 2 => Class::Predicate,
            _ => Class::General,
        };
        self.values.push((class, rng.u8(..4) == 0));
        self.writers.push(writer);
        self.values.len() as u32 - 1
    }

    fn add_edge(&mut self, rng: &mut Rng, from: u32, to: u32) {
        self.edges.push((from, Edge { to, latency: rng.u32(1..30) }));
    }
}
