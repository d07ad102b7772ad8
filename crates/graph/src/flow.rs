//! Successors, predecessors, reverse post-order, edges back.

use crate::{Graph, Node};
use std::ops::Range;

/// In place of a position: the entry does not reach the node.
const UNREACHED: u32 = u32::MAX;

/// Lists of nodes, one for each node, in one array.
#[derive(Clone, Debug)]
struct Lists<N> {
    /// Where each node's list begins; one more at the end.
    starts: Vec<u32>,
    all: Vec<N>,
}

impl<N: Node> Lists<N> {
    fn range(&self, node: N) -> Range<usize> {
        match self.starts.get(node.index()..node.index() + 2) {
            Some([start, end]) => *start as usize..*end as usize,
            _ => 0..0,
        }
    }

    fn of(&self, node: N) -> &[N] {
        &self.all[self.range(node)]
    }

    /// The lists of edges, each of which the first node's list gets the second of, in order.
    fn new(bound: usize, edges: &[(N, N)], ends: impl Fn(&(N, N)) -> (N, N)) -> Self {
        let mut starts = vec![0u32; bound + 1];
        for edge in edges {
            starts[ends(edge).0.index() + 1] += 1;
        }
        for node in 0..bound {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut all = edges.iter().map(|edge| edge.1).collect::<Vec<N>>();
        for edge in edges {
            let (owner, member) = ends(edge);
            all[next[owner.index()] as usize] = member;
            next[owner.index()] += 1;
        }
        Lists { starts, all }
    }
}

/// The shape of a control-flow graph at the time it was computed.
#[derive(Clone, Debug)]
pub struct Flow<N> {
    succs: Lists<N>,
    preds: Lists<N>,
    entry: Option<N>,
    rpo: Vec<N>,
    number: Vec<u32>,
    backedges: Vec<(N, N)>,
}

impl<N: Node> Flow<N> {
    /// Walk `graph` from its entry, successors in their order.
    pub fn new(graph: &impl Graph<Node = N>) -> Self {
        Flow::of(graph, graph.nodes())
    }

    /// The same, but without the edges of nodes that the entry does not reach.
    pub fn of_reachable(graph: &impl Graph<Node = N>) -> Self {
        let flow = Flow::new(graph);
        if graph.nodes().all(|node| flow.is_reachable(node)) {
            return flow;
        }
        Flow::of(graph, graph.nodes().filter(|node| flow.is_reachable(*node)))
    }

    fn of(graph: &impl Graph<Node = N>, nodes: impl Iterator<Item = N>) -> Self {
        let bound = graph.bound();
        let mut edges: Vec<(N, N)> = Vec::with_capacity(2 * bound);
        // By node: one more than the number of the last node that it was named a successor of.
        let mut named = vec![0u32; bound];
        for node in nodes {
            let stamp = node.index() as u32 + 1;
            graph.successors(node, |to| {
                if std::mem::replace(&mut named[to.index()], stamp) != stamp {
                    edges.push((node, to));
                }
            });
        }
        let mut flow = Flow {
            succs: Lists::new(bound, &edges, |&(from, to)| (from, to)),
            preds: Lists::new(bound, &edges, |&(from, to)| (to, from)),
            entry: graph.entry(),
            rpo: Vec::with_capacity(bound),
            number: vec![UNREACHED; bound],
            backedges: Vec::new(),
        };
        flow.walk();
        flow
    }

    /// Depth-first with an explicit stack; an edge to a node whose walk is not finished goes back.
    fn walk(&mut self) {
        const OPEN: u32 = 0;
        const CLOSED: u32 = 1;
        let Some(entry) = self.entry else { return };
        let mut stack = vec![(entry, self.succs.range(entry))];
        self.number[entry.index()] = OPEN;
        while let Some((node, rest)) = stack.last_mut() {
            let node = *node;
            let Some(next) = rest.next() else {
                self.number[node.index()] = CLOSED;
                self.rpo.push(node);
                stack.pop();
                continue;
            };
            let succ = self.succs.all[next];
            match self.number[succ.index()] {
                UNREACHED => {
                    self.number[succ.index()] = OPEN;
                    stack.push((succ, self.succs.range(succ)));
                }
                OPEN => self.backedges.push((node, succ)),
                _ => {}
            }
        }
        self.rpo.reverse();
        for (number, node) in (0..).zip(&self.rpo) {
            self.number[node.index()] = number;
        }
    }

    /// All numbers of nodes are below this.
    pub fn bound(&self) -> usize {
        self.number.len()
    }

    /// Where control enters.
    pub fn entry(&self) -> Option<N> {
        self.entry
    }

    /// Successors, each once, in the order of the graph.
    pub fn succs(&self, node: N) -> &[N] {
        self.succs.of(node)
    }

    /// Predecessors, each once, in the order of the graph's nodes; those that are not reachable too.
    pub fn preds(&self, node: N) -> &[N] {
        self.preds.of(node)
    }

    /// The predecessor of a node that has one only.
    pub fn single_pred(&self, node: N) -> Option<N> {
        match self.preds(node) {
            [pred] => Some(*pred),
            _ => None,
        }
    }

    /// Reachable nodes in reverse post-order.
    pub fn rpo(&self) -> &[N] {
        &self.rpo
    }

    /// Position in the reverse post-order; `None` for unreachable nodes.
    pub fn rpo_number(&self, node: N) -> Option<u32> {
        self.number.get(node.index()).copied().filter(|number| *number != UNREACHED)
    }

    /// Whether the entry reaches the node.
    pub fn is_reachable(&self, node: N) -> bool {
        self.rpo_number(node).is_some()
    }

    /// Edges to a node that was still open in the depth-first walk, in the order found.
    pub fn backedges(&self) -> &[(N, N)] {
        &self.backedges
    }
}

#[cfg(test)]
mod tests {
    use crate::Flow;
    use crate::random::{Random, graphs, node};

    #[test]
    fn edges_are_listed_once_at_both_ends() {
        for graph in graphs() {
            let flow = Flow::new(&graph);
            for from in 0..graph.count() {
                let mut expected: Vec<usize> = graph.edges_of(from).collect();
                let mut found: Vec<usize> = flow.succs(node(from)).iter().map(|to| to.as_u32() as usize).collect();
                expected.sort_unstable();
                expected.dedup();
                found.sort_unstable();
                assert_eq!(found, expected);
                for to in 0..graph.count() {
                    let count = flow.preds(node(to)).iter().filter(|pred| **pred == node(from)).count();
                    assert_eq!(count, usize::from(expected.contains(&to)));
                }
            }
        }
    }

    #[test]
    fn the_order_has_what_is_reachable_and_only_backedges_go_back_in_it() {
        for graph in graphs() {
            let flow = Flow::new(&graph);
            let reached: Vec<bool> = graph.reach(0, None);
            for (at, reached) in reached.iter().enumerate() {
                assert_eq!(flow.is_reachable(node(at)), *reached);
            }
            for &from in flow.rpo() {
                for &to in flow.succs(from) {
                    let goes_back = flow.rpo_number(to) <= flow.rpo_number(from);
                    assert_eq!(goes_back, flow.backedges().contains(&(from, to)), "{from:?} {to:?}");
                }
            }
        }
    }

    #[test]
    fn edges_of_what_is_not_reachable_can_be_left_out() {
        for graph in graphs() {
            let (all, flow) = (Flow::new(&graph), Flow::of_reachable(&graph));
            assert_eq!(flow.rpo(), all.rpo());
            for at in (0..graph.count()).map(node) {
                let mut expected = all.preds(at).to_vec();
                expected.retain(|pred| all.is_reachable(*pred));
                assert_eq!(flow.preds(at), expected);
            }
        }
    }

    #[test]
    fn an_empty_graph_has_no_order() {
        let flow = Flow::new(&Random::new(0, Vec::new()));
        assert!(flow.rpo().is_empty() && flow.entry().is_none());
    }
}
