//! Dominators and post-dominators.
//!
//! Semi-NCA (Georgiadis, Tarjan, Werneck, "Finding Dominators in Practice"): semidominators with path compression, then
//! the nearest common ancestor of those and the parent. Nearly linear, whatever the graph looks like; a switch with
//! thousands of arms or a tower of loops costs no more than its edges.

use crate::{Flow, Node};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// In place of a number: none.
const NONE: u32 = u32::MAX;

/// A dominator or post-dominator tree.
#[derive(Clone, Debug)]
pub struct DomTree<N: Node> {
    idom: SecondaryMap<N, PackedOption<N>>,
    /// By node: its place in a walk over the tree, and that of the last node below it; the first is [`NONE`] outside.
    span: SecondaryMap<N, (u32, u32)>,
    preorder: Vec<N>,
    roots: Vec<N>,
    /// Of post-dominators: nodes from which no path leads to an end.
    endless: SecondaryMap<N, bool>,
}

/// A depth-first walk: nodes in the order in which they are met, behind a root that stands before all.
struct Walk<N> {
    /// By number less one.
    nodes: Vec<N>,
    /// By number: the number of the node that it was met from.
    parent: Vec<u32>,
    /// By node: its number; 0 where it was not met.
    number: Vec<u32>,
    /// Nodes in reverse post-order.
    order: Vec<N>,
}

impl<N: Node> Walk<N> {
    fn new(bound: usize) -> Self {
        Walk { nodes: Vec::new(), parent: vec![0], number: vec![0; bound], order: Vec::new() }
    }

    /// Walk on from `start`, which the root leads to.
    fn from<'g>(&mut self, start: N, next: impl Fn(N) -> &'g [N])
    where
        N: 'g,
    {
        if self.number[start.index()] != 0 {
            return;
        }
        self.meet(start, 0);
        let mut stack = vec![(start, next(start).iter())];
        while let Some((node, rest)) = stack.last_mut() {
            let node = *node;
            match rest.next() {
                Some(&to) if self.number[to.index()] == 0 => {
                    self.meet(to, self.number[node.index()]);
                    stack.push((to, next(to).iter()));
                }
                Some(_) => {}
                None => {
                    self.order.push(node);
                    stack.pop();
                }
            }
        }
    }

    fn meet(&mut self, node: N, parent: u32) {
        self.nodes.push(node);
        self.parent.push(parent);
        self.number[node.index()] = self.nodes.len() as u32;
    }
}

impl<N: Node> DomTree<N> {
    /// Dominators of the reachable nodes.
    pub fn dominators(flow: &Flow<N>) -> Self {
        let mut walk = Walk::new(flow.bound());
        if let Some(entry) = flow.entry() {
            walk.from(entry, |node| flow.succs(node));
        }
        let entry = flow.entry();
        DomTree::build(&walk, flow.rpo(), |node| flow.preds(node), |node| Some(node) == entry)
    }

    /// Post-dominators of the reachable nodes. Nodes without a successor, and those of which `leaves` says so, lead to one
    /// virtual end, which is no node; a loop without end is treated as if its last node in reverse post-order did.
    pub fn post_dominators(flow: &Flow<N>, leaves: impl Fn(N) -> bool) -> Self {
        let mut ends = vec![false; flow.bound()];
        let mut walk = Walk::new(flow.bound());
        let back = |node: N| flow.preds(node);
        for &node in flow.rpo().iter().filter(|node| flow.succs(**node).is_empty() || leaves(**node)) {
            ends[node.index()] = true;
        }
        // Real ends first; then, from the back, nodes that reach none.
        for &node in flow.rpo().iter().filter(|node| ends[node.index()]) {
            walk.from(node, back);
        }
        let with_end = walk.nodes.len();
        for &node in flow.rpo().iter().rev() {
            if walk.number[node.index()] == 0 {
                ends[node.index()] = true;
                walk.from(node, back);
            }
        }
        let reachable = |node: &N| flow.is_reachable(*node);
        let order: Vec<N> = walk.order.iter().rev().copied().filter(reachable).collect();
        let mut tree = DomTree::build(&walk, &order, |node| flow.succs(node), |node| ends[node.index()]);
        walk.nodes[with_end..].iter().for_each(|node| tree.endless[*node] = true);
        tree
    }

    /// `before`: what may come before a node in the direction of the walk; `first`: whether the root may.
    fn build<'g>(walk: &Walk<N>, order: &[N], before: impl Fn(N) -> &'g [N], first: impl Fn(N) -> bool) -> Self
    where
        N: 'g,
    {
        let up = immediate(walk, before, first);
        let number = |node: N| walk.number[node.index()];
        let mut tree = DomTree {
            idom: SecondaryMap::new(),
            span: SecondaryMap::with_default((NONE, 0)),
            preorder: order.to_vec(),
            endless: SecondaryMap::new(),
            roots: Vec::new(),
        };
        let mut below = vec![1u32; up.len()];
        // A dominator comes before what it dominates in the order.
        for &node in order.iter().rev() {
            let size = below[number(node) as usize];
            below[up[number(node) as usize] as usize] += size;
        }
        // A node's place is behind its dominator and the siblings that came before it.
        let mut next = vec![0u32; up.len()];
        for &node in order {
            let (own, above) = (number(node) as usize, up[number(node) as usize] as usize);
            let place = next[above];
            next[above] += below[own];
            next[own] = place + 1;
            tree.span[node] = (place, place + below[own] - 1);
            tree.preorder[place as usize] = node;
            match above {
                0 => tree.roots.push(node),
                _ => tree.idom[node] = walk.nodes[above - 1].into(),
            }
        }
        tree
    }

    /// Of post-dominators: no path leads from the node to an end, so that where paths meet is only as if there were one.
    pub fn is_endless(&self, node: N) -> bool {
        self.endless[node]
    }

    /// The closest strict (post-)dominator; `None` for roots and nodes outside the tree.
    pub fn idom(&self, node: N) -> Option<N> {
        self.idom[node].expand()
    }

    /// Whether `a` (post-)dominates `b`; every node of the tree does itself.
    pub fn dominates(&self, a: N, b: N) -> bool {
        let ((first, last), (at, _)) = (self.span[a], self.span[b]);
        first != NONE && at != NONE && first <= at && at <= last
    }

    /// Nodes without a dominator: the entry, or the ways out.
    pub fn roots(&self) -> &[N] {
        &self.roots
    }

    /// The nodes, each after its dominators.
    pub fn preorder(&self) -> &[N] {
        &self.preorder
    }

    /// The place of a node in [`DomTree::preorder`]; `None` outside the tree.
    pub fn preorder_number(&self, node: N) -> Option<u32> {
        Some(self.span[node].0).filter(|place| *place != NONE)
    }

    /// By node, where its dominance ends: the nodes that it does not strictly dominate, but one of whose predecessors
    /// it dominates. Of a tree of dominators.
    pub fn frontiers(&self, flow: &Flow<N>) -> SecondaryMap<N, Vec<N>> {
        let mut frontiers: SecondaryMap<N, Vec<N>> = SecondaryMap::new();
        for &join in flow.rpo() {
            for &pred in flow.preds(join).iter().filter(|pred| flow.is_reachable(**pred)) {
                let mut runner = Some(pred);
                while let Some(node) = runner.filter(|node| Some(*node) != self.idom(join)) {
                    let frontier = &mut frontiers[node];
                    // The same join arrives from all its predecessors in turn: it can only be the last one.
                    if frontier.last() == Some(&join) {
                        break;
                    }
                    frontier.push(join);
                    runner = self.idom(node);
                }
            }
        }
        frontiers
    }
}

/// By number in the walk: the number of the immediate dominator.
fn immediate<'g, N: Node + 'g>(walk: &Walk<N>, before: impl Fn(N) -> &'g [N], first: impl Fn(N) -> bool) -> Vec<u32> {
    let count = walk.parent.len();
    let mut forest = Forest { ancestor: walk.parent.clone(), label: (0..count as u32).collect(), path: Vec::new() };
    let mut semi: Vec<u32> = (0..count as u32).collect();
    for at in (1..count as u32).rev() {
        let node = walk.nodes[at as usize - 1];
        let mut least = if first(node) { 0 } else { walk.parent[at as usize] };
        for pred in before(node).iter().map(|pred| walk.number[pred.index()]).filter(|pred| *pred != 0) {
            let through = if pred <= at { pred } else { semi[forest.lowest(pred, at, &semi) as usize] };
            least = least.min(through);
        }
        semi[at as usize] = least;
    }
    let mut idom = walk.parent.clone();
    for at in 1..count {
        let mut up = idom[at];
        while up > semi[at] {
            up = idom[up as usize];
        }
        idom[at] = up;
    }
    idom
}

/// The part of the walk that has its semidominators, with compressed paths.
struct Forest {
    ancestor: Vec<u32>,
    /// By node: the one with the least semidominator on the compressed path to its ancestor.
    label: Vec<u32>,
    path: Vec<u32>,
}

impl Forest {
    /// The node with the least semidominator from `node` up to, and without, those that are numbered `done` or lower.
    fn lowest(&mut self, node: u32, done: u32, semi: &[u32]) -> u32 {
        let mut at = node;
        while self.ancestor[at as usize] > done {
            self.path.push(at);
            at = self.ancestor[at as usize];
        }
        while let Some(below) = self.path.pop() {
            let above = self.ancestor[below as usize];
            let best = self.label[above as usize];
            if semi[best as usize] < semi[self.label[below as usize] as usize] {
                self.label[below as usize] = best;
            }
            self.ancestor[below as usize] = self.ancestor[above as usize];
        }
        self.label[node as usize]
    }
}

#[cfg(test)]
mod tests {
    use crate::random::{Random, graphs, node};
    use crate::{DomTree, Flow};

    /// Dominance by definition: `below` cannot be reached when `above` is taken away.
    fn dominates(graph: &Random, above: usize, below: usize) -> bool {
        let all = graph.reach(0, None);
        all[above] && all[below] && !graph.reach(0, Some(above))[below]
    }

    #[test]
    fn dominators_are_those_of_the_definition() {
        for graph in graphs() {
            let tree = DomTree::dominators(&Flow::new(&graph));
            for above in 0..graph.count() {
                for below in 0..graph.count() {
                    let expected = dominates(&graph, above, below);
                    assert_eq!(tree.dominates(node(above), node(below)), expected, "{graph:?} {above} {below}");
                }
            }
        }
    }

    #[test]
    fn the_immediate_dominator_is_the_closest_one() {
        for graph in graphs() {
            let flow = Flow::new(&graph);
            let tree = DomTree::dominators(&flow);
            for below in (0..graph.count()).filter(|at| flow.is_reachable(node(*at))) {
                let strict = (0..graph.count()).filter(|above| *above != below && dominates(&graph, *above, below));
                let strict: Vec<usize> = strict.collect();
                let closest = strict.iter().find(|one| strict.iter().all(|other| dominates(&graph, *other, **one)));
                assert_eq!(tree.idom(node(below)), closest.map(|one| node(*one)), "{graph:?} {below}");
            }
            let places: Vec<_> = tree.preorder().iter().map(|node| tree.preorder_number(*node)).collect();
            assert_eq!(places, (0..flow.rpo().len() as u32).map(Some).collect::<Vec<_>>());
        }
    }

    #[test]
    fn post_dominators_are_those_of_the_definition() {
        for graph in graphs() {
            let flow = Flow::new(&graph);
            let leaves = |at: usize| at % 5 == 4;
            let tree = DomTree::post_dominators(&flow, |node| leaves(node.as_u32() as usize));
            let count = graph.count();
            let reachable = graph.reach(0, None);
            let to_end = |from: usize, without: usize| {
                let reach = graph.reach(from, Some(without));
                from != without && (0..count).any(|at| reach[at] && at != without && is_end(&graph, &tree, at, leaves))
            };
            for above in (0..count).filter(|at| reachable[*at]) {
                for below in (0..count).filter(|at| reachable[*at]) {
                    let expected = !to_end(below, above);
                    assert_eq!(tree.dominates(node(above), node(below)), expected, "{graph:?} {above} {below}");
                }
                let ends = |at: usize| graph.edges_of(at).next().is_none() || leaves(at);
                let reach = graph.reach(above, None);
                let is_endless = (0..count).all(|at| !reach[at] || !ends(at));
                assert_eq!(tree.is_endless(node(above)), is_endless, "{graph:?} {above}");
            }
        }
    }

    /// Whether the walk back began at the node: it has no successor or leaves, or no such node can be reached from it and
    /// it is a root of the tree.
    fn is_end(graph: &Random, tree: &DomTree<crate::random::Name>, at: usize, leaves: impl Fn(usize) -> bool) -> bool {
        let real = |at: usize| graph.edges_of(at).next().is_none() || leaves(at);
        let reach = graph.reach(at, None);
        let no_way_out = (0..graph.count()).all(|other| !reach[other] || !real(other));
        real(at) || no_way_out && tree.roots().contains(&node(at))
    }

    #[test]
    fn frontiers_are_those_of_the_definition() {
        for graph in graphs() {
            let flow = Flow::new(&graph);
            let tree = DomTree::dominators(&flow);
            let frontiers = tree.frontiers(&flow);
            for above in (0..graph.count()).filter(|at| flow.is_reachable(node(*at))) {
                for join in 0..graph.count() {
                    let strict = above != join && dominates(&graph, above, join);
                    let enters =
                        |from: usize| graph.edges_of(from).any(|to| to == join) && dominates(&graph, above, from);
                    let expected = (0..graph.count()).any(enters) && !strict;
                    let found = frontiers[node(above)].contains(&node(join));
                    assert_eq!(found, expected, "{graph:?} {above} {join}");
                }
            }
        }
    }

    /// A ladder on which the iterative algorithm takes a round for each rung: it has to be over at once.
    #[test]
    fn deep_graphs_take_no_recursion() {
        let count = 200_000;
        let mut edges: Vec<(usize, usize)> = (0..count - 1).map(|at| (at, at + 1)).collect();
        edges.extend((2..count).step_by(2).map(|at| (at, at - 2)));
        let tree = DomTree::dominators(&Flow::new(&Random::new(count, edges)));
        assert!(tree.dominates(node(count / 2), node(count - 1)));
    }
}
