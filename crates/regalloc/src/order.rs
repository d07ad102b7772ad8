//! In which order registers are given out: smallest degree last.
//!
//! Peeling off the register with the fewest remaining neighbours, and colouring in the reverse
//! order, needs no more registers than the highest pressure where live ranges are intervals (their
//! graph is chordal), and comes close elsewhere. Where every remaining register has more
//! neighbours than there are registers, the one that is cheapest to spill per neighbour is peeled:
//! it is coloured last and so is the one that may fail.

use crate::component_set::ComponentSet;
use crate::fatpoint::count;
use crate::graph::Graph;
use crate::node::{Node, NodeData};

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
    states: Vec<State>,
    /// The components of the nodes that are not peeled off yet.
    left: ComponentSet,
    buckets: Buckets,
    /// Spill candidates, cheapest last.
    candidates: Vec<Node>,
    remaining: usize,
    /// Number of the last sweep over a neighbourhood.
    sweep: u32,
}

/// How many first registers of a node calls take away.
fn forbidden(graph: &Graph, node: Node) -> u32 {
    let sets = graph.components(node).map(|component| graph.forbidden(component));
    sets.map(count).max().unwrap_or(0)
}

/// Of one node.
#[derive(Clone, Copy)]
struct State {
    /// Registers that the remaining neighbours can block.
    blocked: u32,
    /// The last sweep that has met it: a neighbourhood by components may name a node several times.
    met: u32,
    width: u8,
}

impl State {
    /// Registers that it can take from a node of a width above one: an aligned group loses whole slots of its width. A
    /// single register is taken by each component that meets it, and by no other.
    fn blocks(&self, width: u8) -> u32 {
        u32::from(self.width.max(width))
    }
}

impl<'a> Peel<'a> {
    fn new(graph: &'a Graph, registers: usize) -> Self {
        let state = |node: &NodeData| State { blocked: 0, met: 0, width: node.width };
        let mut peel = Peel {
            graph,
            states: graph.nodes.iter().map(state).collect(),
            left: ComponentSet::new(graph.owner.len()),
            buckets: Buckets { nodes: vec![Vec::new(); registers], lowest: 0 },
            candidates: Vec::new(),
            remaining: 0,
            sweep: 0,
        };
        peel.count_blocked();
        let left: Vec<Node> =
            (0..graph.nodes.len() as Node).filter(|node| !graph.nodes[*node as usize].fixed).collect();
        peel.remaining = left.len();
        for node in left.iter().rev() {
            graph.components(*node).for_each(|component| peel.left.insert(component));
            peel.buckets.put(*node, peel.states[*node as usize].blocked);
        }
        if left.iter().any(|node| peel.states[*node as usize].blocked as usize >= registers) {
            peel.candidates = peel.by_price(left);
        }
        peel
    }

    /// Of each node, the registers that all its neighbours can block.
    fn count_blocked(&mut self) {
        let graph = self.graph;
        for node in 0..graph.nodes.len() as Node {
            self.sweep += 1;
            let width = graph.nodes[node as usize].width;
            let mut sum = 0;
            for component in graph.components(node) {
                if width == 1 {
                    sum += graph.neighbour_count(component);
                    continue;
                }
                graph.for_each_neighbour(component, |neighbour| {
                    let other = &mut self.states[graph.owner[neighbour as usize] as usize];
                    if std::mem::replace(&mut other.met, self.sweep) != self.sweep {
                        sum += other.blocks(width);
                    }
                });
            }
            self.states[node as usize].blocked = sum + forbidden(graph, node);
        }
    }

    /// The nodes by what spilling costs per register that they block, dearest first.
    fn by_price(&self, nodes: Vec<Node>) -> Vec<Node> {
        let price = |node: Node| {
            let blocked = self.states[node as usize].blocked;
            (self.graph.nodes[node as usize].spill_cost / (1.0 + blocked as f32), node)
        };
        let mut prices: Vec<(f32, Node)> = nodes.into_iter().map(price).collect();
        prices.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        prices.into_iter().map(|(_, node)| node).collect()
    }

    fn is_left(&self, node: Node) -> bool {
        self.left.contains(self.graph.nodes[node as usize].base)
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
        while let Some((node, blocked)) = self.buckets.take() {
            if self.is_left(node) && self.states[node as usize].blocked == blocked {
                return Some(node);
            }
        }
        None
    }

    fn cheapest(&mut self) -> Option<Node> {
        while let Some(node) = self.candidates.pop() {
            if self.is_left(node) {
                return Some(node);
            }
        }
        None
    }

    fn remove(&mut self, node: Node) {
        self.remaining -= 1;
        let graph = self.graph;
        let width = graph.nodes[node as usize].width;
        self.sweep += 1;
        graph.components(node).for_each(|component| self.left.remove(component));
        for component in graph.components(node) {
            graph.for_each_neighbour_within(component, &self.left, |neighbour| {
                let other = graph.owner[neighbour as usize];
                let state = &mut self.states[other as usize];
                if state.width == 1 {
                    state.blocked = state.blocked.saturating_sub(1);
                } else if std::mem::replace(&mut state.met, self.sweep) != self.sweep {
                    state.blocked = state.blocked.saturating_sub(state.blocks(width));
                } else {
                    return;
                }
                self.buckets.put(other, state.blocked);
            });
        }
    }
}

/// Nodes that are certain to find a register, by blocked registers; entries may be stale (count changed or node gone).
struct Buckets {
    nodes: Vec<Vec<Node>>,
    /// None has fewer.
    lowest: usize,
}

impl Buckets {
    /// Put a node where it is found if it is certain to find a register.
    fn put(&mut self, node: Node, blocked: u32) {
        if let Some(bucket) = self.nodes.get_mut(blocked as usize) {
            bucket.push(node);
            self.lowest = self.lowest.min(blocked as usize);
        }
    }

    /// A node with the fewest blocked registers, and how many these were when it was put there.
    fn take(&mut self) -> Option<(Node, u32)> {
        while let Some(bucket) = self.nodes.get_mut(self.lowest) {
            match bucket.pop() {
                Some(node) => return Some((node, self.lowest as u32)),
                None => self.lowest += 1,
            }
        }
        None
    }
}
