//! Giving physical registers to the nodes of one graph.

use crate::fatpoint::FatPoint;
use crate::graph::{Graph, PhysicalSet};
use crate::node::Node;
use crate::order::colouring_order;

/// Colour the graph with registers below `limit` that are not `reserved`; the nodes that found none.
pub(crate) fn assign(graph: &mut Graph, limit: u16, reserved: PhysicalSet) -> Vec<Node> {
    let usable = (0..limit).filter(|r| reserved[usize::from(r / 64)] >> (r % 64) & 1 == 0).count();
    let mut fat_point = FatPoint::new(limit, reserved);
    let mut failed = Vec::new();
    for node in colouring_order(graph, usable) {
        match fat_point.choose(graph, node) {
            Some(first) => graph.place(node, first),
            None => failed.push(node),
        }
    }
    failed
}

/// What to spill so that `failed` can be coloured: each failed node, or the cheapest of its
/// neighbours where the node itself must not be spilled or is dearer.
pub(crate) fn spill_choice(graph: &Graph, failed: &[Node]) -> Vec<Node> {
    let mut chosen: Vec<Node> = failed.iter().filter_map(|node| cheapest_around(graph, *node)).collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

fn cheapest_around(graph: &Graph, node: Node) -> Option<Node> {
    let cost = |n: Node| graph.nodes[n as usize].spill_cost;
    if cost(node).is_finite() {
        return Some(node);
    }
    let wide = graph.nodes[node as usize].width;
    let mut around = Vec::new();
    for component in graph.components(node) {
        graph.for_each_neighbour(component, |neighbour| around.push(graph.owner[neighbour as usize]));
    }
    around.into_iter().filter(|n| !graph.nodes[*n as usize].fixed && cost(*n).is_finite()).min_by(|a, b| {
        // A neighbour as wide as the node frees a whole slot.
        let short = |n: Node| graph.nodes[n as usize].width < wide;
        short(*a).cmp(&short(*b)).then(cost(*a).total_cmp(&cost(*b))).then(a.cmp(b))
    })
}
