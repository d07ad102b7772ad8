//! The loop forest: natural loops, nested.

use crate::{DomTree, Flow, Node};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};

/// A loop of the forest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loop(u32);
entity_impl!(Loop, "loop");

/// One natural loop: a header that dominates the nodes that go back to it.
#[derive(Clone, Debug)]
pub struct LoopData<N> {
    /// The only node through which it is entered.
    pub header: N,
    /// Sources of the edges back to the header.
    pub latches: Vec<N>,
    /// The loop around it.
    pub parent: Option<Loop>,
    /// 1 for outermost loops.
    pub depth: u32,
    /// All nodes, those of inner loops too, in reverse post-order (the header first).
    pub blocks: Vec<N>,
    /// Edges that leave it.
    pub exits: Vec<(N, N)>,
    /// The one reachable node outside that goes to its header.
    pub entrance: Option<N>,
    /// The same, if it goes nowhere else.
    pub preheader: Option<N>,
}

/// The loops of a graph.
#[derive(Clone, Debug)]
pub struct LoopForest<N: Node> {
    loops: PrimaryMap<Loop, LoopData<N>>,
    innermost: SecondaryMap<N, PackedOption<Loop>>,
    irreducible: Vec<(N, N)>,
}

impl<N: Node> std::ops::Index<Loop> for LoopForest<N> {
    type Output = LoopData<N>;

    fn index(&self, this: Loop) -> &LoopData<N> {
        &self.loops[this]
    }
}

impl<N: Node> LoopForest<N> {
    /// Find the loops. An edge back whose target does not dominate its source makes no loop here; it is
    /// listed as irreducible.
    pub fn new(flow: &Flow<N>, dominators: &DomTree<N>) -> Self {
        let mut forest =
            LoopForest { loops: PrimaryMap::new(), innermost: SecondaryMap::new(), irreducible: Vec::new() };
        let mut latches: SecondaryMap<N, Vec<N>> = SecondaryMap::new();
        for &(from, to) in flow.backedges() {
            if dominators.dominates(to, from) {
                latches[to].push(from);
            } else {
                forest.irreducible.push((from, to));
            }
        }
        // Outer headers come before inner ones in reverse post-order; take inner loops first.
        for &header in flow.rpo().iter().rev() {
            if !latches[header].is_empty() {
                forest.add(flow, header, std::mem::take(&mut latches[header]));
            }
        }
        forest.finish(flow);
        forest
    }

    fn outermost(&self, node: N) -> Option<Loop> {
        let mut found = self.innermost[node].expand()?;
        while let Some(parent) = self.loops[found].parent {
            found = parent;
        }
        Some(found)
    }

    /// Walk back from the latches to the header; whole inner loops are stepped over.
    fn add(&mut self, flow: &Flow<N>, header: N, latches: Vec<N>) {
        let mut work = latches.clone();
        let this = self.loops.push(LoopData {
            header,
            latches,
            parent: None,
            depth: 0,
            blocks: Vec::new(),
            exits: Vec::new(),
            entrance: None,
            preheader: None,
        });
        while let Some(node) = work.pop() {
            if node == header || !flow.is_reachable(node) {
                continue;
            }
            let from = match self.outermost(node) {
                Some(inner) if inner == this => continue,
                Some(inner) => {
                    self.loops[inner].parent = Some(this);
                    self.loops[inner].header
                }
                None => {
                    self.innermost[node] = this.into();
                    node
                }
            };
            work.extend_from_slice(flow.preds(from));
        }
        // A header belongs to its own loop; an outer loop meets it through this one.
        self.innermost[header] = this.into();
    }

    fn finish(&mut self, flow: &Flow<N>) {
        // Parents were made after their children, so going backwards sees parents first.
        for this in self.loops.keys().rev() {
            let parent_depth = self.loops[this].parent.map_or(0, |parent| self.loops[parent].depth);
            self.loops[this].depth = parent_depth + 1;
        }
        for &node in flow.rpo() {
            let mut at = self.innermost[node].expand();
            while let Some(this) = at {
                self.loops[this].blocks.push(node);
                at = self.loops[this].parent;
            }
        }
        for this in self.loops.keys() {
            let edges = self.loops[this].blocks.iter().flat_map(|from| flow.succs(*from).iter().map(|to| (*from, *to)));
            let exits = edges.filter(|(_, to)| !self.contains(this, *to)).collect();
            let preds = flow.preds(self.loops[this].header).iter().copied();
            let mut outside = preds.filter(|pred| flow.is_reachable(*pred) && !self.contains(this, *pred));
            let entrance = outside.next().filter(|_| outside.next().is_none());
            let preheader = entrance.filter(|pred| flow.succs(*pred).len() == 1);
            let data = &mut self.loops[this];
            (data.exits, data.entrance, data.preheader) = (exits, entrance, preheader);
        }
    }

    /// Every loop, inner ones before the loops around them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Loop, &LoopData<N>)> {
        self.loops.iter()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// The loops, inner ones before those around them.
    pub fn inner_first(&self) -> Vec<Loop> {
        self.loops.keys().collect()
    }

    /// The innermost loop that a node is in.
    pub fn innermost(&self, node: N) -> Option<Loop> {
        self.innermost[node].expand()
    }

    /// How many loops a node is in.
    pub fn depth(&self, node: N) -> u32 {
        self.innermost(node).map_or(0, |this| self.loops[this].depth)
    }

    /// Whether `node` is in `this` or a loop inside it.
    pub fn contains(&self, this: Loop, node: N) -> bool {
        let mut at = self.innermost(node);
        while let Some(inner) = at.filter(|inner| *inner != this) {
            at = self.loops[inner].parent;
        }
        at.is_some()
    }

    /// Whether no other loop lies in it.
    pub fn is_innermost(&self, this: Loop) -> bool {
        self.loops[this].blocks.iter().all(|node| self.innermost(*node) == Some(this))
    }

    /// Backedges that belong to no natural loop.
    pub fn irreducible(&self) -> &[(N, N)] {
        &self.irreducible
    }
}

#[cfg(test)]
mod tests {
    use crate::random::{Random, graphs, node};
    use crate::{DomTree, Flow, LoopForest};

    #[test]
    fn nested_loops_have_their_nodes_exits_and_preheaders() {
        // 0 -> 1 { 2 { 3 } 4 } 5; 3 is a loop of its own, 2-3-4 lie inside 1..4.
        let edges = vec![(0, 1), (1, 2), (2, 3), (3, 3), (3, 2), (2, 4), (4, 1), (4, 5), (1, 5)];
        let flow = Flow::new(&Random::new(6, edges));
        let loops = LoopForest::new(&flow, &DomTree::dominators(&flow));
        let depths: Vec<u32> = (0..6).map(|at| loops.depth(node(at))).collect();
        assert_eq!(depths, [0, 1, 2, 3, 1, 0]);
        let outer = loops.innermost(node(1)).unwrap();
        let mut blocks = loops[outer].blocks.clone();
        blocks.sort();
        assert_eq!(blocks, (1..5).map(node).collect::<Vec<_>>());
        assert_eq!(loops[outer].exits.len(), 2);
        assert_eq!(loops[outer].preheader, Some(node(0)));
        let middle = loops.innermost(node(2)).unwrap();
        assert_eq!((loops[middle].parent, loops[middle].preheader), (Some(outer), None));
        assert_eq!(loops[middle].latches, [node(3)]);
        assert_eq!(loops.iter().last().map(|(this, _)| this), Some(outer));
        assert!(loops.is_innermost(loops.innermost(node(3)).unwrap()) && !loops.is_innermost(outer));
    }

    /// A natural loop by definition: the header, and what reaches a latch without passing it.
    #[test]
    fn loops_are_those_of_the_definition() {
        for graph in graphs() {
            let flow = Flow::new(&graph);
            let dominators = DomTree::dominators(&flow);
            let loops = LoopForest::new(&flow, &dominators);
            for header in (0..graph.count()).filter(|at| flow.is_reachable(node(*at))) {
                let is_latch = |from: usize| {
                    graph.edges_of(from).any(|to| to == header) && dominators.dominates(node(header), node(from))
                };
                let latches: Vec<usize> = (0..graph.count()).filter(|from| is_latch(*from)).collect();
                let found = loops.iter().find(|(_, data)| data.header == node(header));
                assert_eq!(found.is_some(), !latches.is_empty(), "{graph:?} {header}");
                let Some((this, data)) = found else { continue };
                let reaches = |from: usize| {
                    let way = graph.reach(from, Some(header));
                    from == header || latches.iter().any(|latch| way[*latch] && flow.is_reachable(node(from)))
                };
                for at in 0..graph.count() {
                    assert_eq!(data.blocks.contains(&node(at)), reaches(at), "{graph:?} {header} {at}");
                    assert_eq!(loops.contains(this, node(at)), reaches(at), "{graph:?} {header} {at}");
                }
            }
        }
    }
}
