//! In which order registers are given out: smallest degree last.
//!
//! Peeling off the register with the fewest remaining neighbours, and colouring in the reverse
//! order, needs no more registers than the highest pressure where live ranges are intervals (their
//! graph is chordal), and comes close elsewhere. Where every remaining register has more
//! neighbours than there are registers, the one that is cheapest to spill per neighbour is peeled:
//! it is coloured last and so is the one that may fail.

use crate::graph::{Graph, Node};

/// The nodes that need a register, in the order of colouring.
pub(crate) fn colouring_order(graph: &Graph, registers: usize) -> Vec<Node> {
    let mut peel = Peel::new(graph, registers);
    let mut order = Vec::with_capacity(peel.remaining);
    while let Some(node) = peel.next() {
        order.push(node);
    }
    order.reverse();
    order
}

struct Peel<'a> {
    graph: &'a Graph,
    /// Registers that the remaining neighbours can block.
    blocked: Vec<u32>,
    gone: Vec<bool>,
    /// Nodes by blocked registers; entries may be stale (count changed or node gone).
    buckets: Vec<Vec<Node>>,
    lowest: usize,
    /// Spill candidates, cheapest last.
    candidates: Vec<Node>,
    remaining: usize,
    registers: usize,
    visit: Visit,
}

impl<'a> Peel<'a> {
    fn new(graph: &'a Graph, registers: usize) -> Self {
        let mut visit = Visit { stamp: 0, seen: vec![0; graph.nodes.len()] };
        let all = 0..graph.nodes.len() as Node;
        let blocked: Vec<u32> = all.clone().map(|n| blocked_by_all(graph, n, &mut visit)).collect();
        let gone: Vec<bool> = graph.nodes.iter().map(|n| n.fixed).collect();
        let mut candidates: Vec<Node> = all.filter(|n| !gone[*n as usize]).collect();
        let mut buckets = vec![Vec::new(); blocked.iter().max().map_or(1, |d| *d as usize + 1)];
        for node in candidates.iter().rev() {
            buckets[blocked[*node as usize] as usize].push(*node);
        }
        let price = |n: Node| graph.nodes[n as usize].spill_cost / (1.0 + blocked[n as usize] as f32);
        candidates.sort_by(|a, b| price(*b).total_cmp(&price(*a)).then(b.cmp(a)));
        Peel { graph, blocked, remaining: candidates.len(), gone, buckets, lowest: 0, candidates, registers, visit }
    }

    fn next(&mut self) -> Option<Node> {
        if self.remaining == 0 {
            return None;
        }
        let node = self.certain().or_else(|| self.cheapest())?;
        self.remove(node);
        Some(node)
    }

    /// The node with the fewest blocked registers, if it is certain to find one.
    fn certain(&mut self) -> Option<Node> {
        while self.lowest < self.buckets.len() && self.lowest < self.registers {
            match self.buckets[self.lowest].pop() {
                Some(n) if !self.gone[n as usize] && self.blocked[n as usize] as usize == self.lowest => {
                    return Some(n);
                }
                Some(_) => {}
                None => self.lowest += 1,
            }
        }
        None
    }

    fn cheapest(&mut self) -> Option<Node> {
        while let Some(node) = self.candidates.pop() {
            if !self.gone[node as usize] {
                return Some(node);
            }
        }
        None
    }

    fn remove(&mut self, node: Node) {
        self.gone[node as usize] = true;
        self.remaining -= 1;
        let graph = self.graph;
        self.visit.stamp += 1;
        for component in graph.components(node) {
            for neighbour in graph.neighbours(component) {
                let other = graph.owner[*neighbour as usize];
                if !self.gone[other as usize] && self.visit.first(other) {
                    let left = &mut self.blocked[other as usize];
                    *left = left.saturating_sub(blocks(graph, other, node));
                    let left = *left as usize;
                    self.buckets[left].push(other);
                    self.lowest = self.lowest.min(left);
                }
            }
        }
    }
}

/// Marks the nodes seen in one sweep over a neighbourhood, where each may appear several times.
struct Visit {
    stamp: u32,
    seen: Vec<u32>,
}

impl Visit {
    fn first(&mut self, node: Node) -> bool {
        let seen = &mut self.seen[node as usize];
        let first = *seen != self.stamp;
        *seen = self.stamp;
        first
    }
}

/// Registers that `other` can take from `node`: an aligned group loses whole slots of its width.
fn blocks(graph: &Graph, node: Node, other: Node) -> u32 {
    u32::from(graph.nodes[node as usize].width.max(graph.nodes[other as usize].width))
}

fn blocked_by_all(graph: &Graph, node: Node, visit: &mut Visit) -> u32 {
    visit.stamp += 1;
    let mut sum = 0;
    for component in graph.components(node) {
        for neighbour in graph.neighbours(component) {
            let other = graph.owner[*neighbour as usize];
            if visit.first(other) {
                sum += blocks(graph, node, other);
            }
        }
    }
    sum
}
