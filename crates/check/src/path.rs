//! A way through the blocks on which an event is still pending.

use crate::flow::Flow;
use crate::graph::{BlockId, End, Graph};
use crate::state::Event;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Blocks that are looked at for one path.
const MOST: usize = 4096;

/// Blocks from the one of `event` to `to`, the shortest way on which the event is pending at the start of each; just
/// `to` where none is found.
pub(crate) fn path(graph: &Graph, flow: &Flow, event: &Event, to: BlockId) -> Vec<BlockId> {
    let after = graph.blocks.partition_point(|block| block.first <= event.line);
    let Some(from) = after.checked_sub(1).map(|at| at as BlockId) else { return vec![to] };
    let is_pending = |block: BlockId| {
        let state = flow.entry.get(block as usize).and_then(Option::as_ref);
        let same = |e: &Event| (e.register, e.is_write, e.line) == (event.register, event.is_write, event.line);
        state.is_some_and(|state| state.events.iter().any(same))
    };
    // In the same block, if it is not pending at its start it was not carried around a loop.
    if from == to && !is_pending(to) {
        return vec![to];
    }
    let mut before: FxHashMap<BlockId, BlockId> = FxHashMap::default();
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        for next in successors(graph, at) {
            if before.len() < MOST && is_pending(next) && !before.contains_key(&next) {
                before.insert(next, at);
                queue.push_back(next);
            }
        }
        if before.contains_key(&to) {
            break;
        }
    }
    let mut path = vec![to];
    while let Some(&previous) = path.last().and_then(|at| before.get(at)) {
        path.push(previous);
        if previous == from {
            break;
        }
    }
    path.reverse();
    path
}

/// Blocks that may be next: edges, and where a return comes back to.
fn successors(graph: &Graph, at: BlockId) -> Vec<BlockId> {
    let block = &graph.blocks[at as usize];
    let mut all: Vec<BlockId> = block.edges.iter().map(|edge| edge.to).collect();
    if block.ends == End::Return {
        all.extend(graph.returns[at as usize].iter().filter_map(|caller| match graph.blocks[*caller as usize].ends {
            End::Call { back, .. } => back,
            _ => None,
        }));
    }
    all
}
