//! Room for nodes that found none, by moving a few of those in the way.

use crate::fatpoint::FatPoint;
use crate::graph::Graph;
use crate::node::Node;
use smallvec::SmallVec;

/// Nodes that are moved for one at most.
const MOST_MOVED: usize = 6;
/// Places that are tried.
const TRIES: usize = 32;
/// For what is wider nobody is moved.
const WIDEST: u8 = 4;
/// So far may those that are moved move others.
const DEPTH: u32 = 3;

/// Nodes in the way of a place.
type InTheWay = SmallVec<[Node; MOST_MOVED]>;

/// Try to find room for the `failed` nodes; those that still have none.
/// `patience` is how many neighbours are looked at for all of them together.
pub(crate) fn repair(graph: &mut Graph, mut failed: Vec<Node>, fat_point: &mut FatPoint, patience: u32) -> Vec<Node> {
    let mut repair = Repair { graph, fat_point, moved: Vec::new(), patience };
    failed.retain(|node| {
        repair.moved.clear();
        !repair.make_way(*node, DEPTH)
    });
    failed
}

struct Repair<'a> {
    graph: &'a mut Graph,
    fat_point: &'a mut FatPoint,
    /// Nodes with where they were, in the order in which they left; and those that stay where they are now.
    moved: Vec<(Node, Option<u16>)>,
    /// Neighbours that are looked at for all of them together.
    patience: u32,
}

impl Repair<'_> {
    /// Give `node` a place, moving others; where that does not succeed, all is as before.
    fn make_way(&mut self, node: Node, depth: u32) -> bool {
        if self.graph.nodes[node as usize].width > WIDEST {
            return false;
        }
        for (first, in_the_way) in self.places(node) {
            if self.fat_point.looked_at > self.patience {
                return false;
            }
            let mark = self.moved.len();
            for other in &in_the_way {
                self.leave(*other);
            }
            self.moved.push((node, None));
            self.graph.place(node, first);
            if in_the_way.iter().all(|other| self.settle(*other, depth)) {
                return true;
            }
            self.undo(mark);
        }
        false
    }

    fn leave(&mut self, node: Node) {
        self.moved.push((node, self.graph.nodes[node as usize].physical));
        self.graph.unplace(node);
    }

    fn settle(&mut self, node: Node, depth: u32) -> bool {
        match self.fat_point.choose(self.graph, node) {
            Some(first) => {
                self.graph.place(node, first);
                true
            }
            None => depth > 1 && self.make_way(node, depth - 1),
        }
    }

    /// Everything back to where it was when `mark` nodes had moved.
    fn undo(&mut self, mark: usize) {
        for (node, _) in &self.moved[mark..] {
            self.graph.unplace(*node);
        }
        for (node, first) in self.moved.drain(mark..).rev() {
            if let Some(first) = first {
                self.graph.place(node, first);
            }
        }
    }

    /// First registers for `node` with those that have to leave them, the fewest first.
    fn places(&mut self, node: Node) -> Vec<(u16, InTheWay)> {
        let mut places: Vec<(u16, InTheWay)> =
            self.fat_point.allowed(self.graph, node).map(|first| (first, InTheWay::new())).collect();
        let graph = &*self.graph;
        let mut looked_at = 0;
        for (k, component) in graph.components(node).enumerate() {
            graph.for_each_placed_neighbour(component, |neighbour, number| {
                looked_at += 1;
                let Some(first) = number.checked_sub(k as u16) else { return };
                let owner = graph.owner[neighbour as usize];
                if let Ok(at) = places.binary_search_by_key(&first, |(first, _)| *first)
                    && !places[at].1.contains(&owner)
                {
                    places[at].1.push(owner);
                }
            });
        }
        self.fat_point.looked_at = self.fat_point.looked_at.saturating_add(looked_at);
        let stays =
            |other: &Node| graph.nodes[*other as usize].fixed || self.moved.iter().any(|(node, _)| node == other);
        places.retain(|(_, others)| others.len() <= MOST_MOVED && !others.iter().any(stays));
        places.sort_by_key(|(first, others)| (others.len(), *first));
        places.truncate(TRIES);
        places
    }
}
