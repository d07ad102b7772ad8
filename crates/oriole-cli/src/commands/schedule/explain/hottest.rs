//! The block in which a function is likely to spend most of its time.

use oriole_check::Timeline;
use oriole_graph::{DomTree, Flow, Graph, LoopForest};
use oriole_ori::Block;

/// A loop is taken to go round so often, as where phases are compared (`sched/src/length.rs`).
const TRIPS: f64 = 10.0;

/// The control-flow graph of a timeline.
struct Blocks<'t>(&'t Timeline);

impl Graph for Blocks<'_> {
    type Node = Block;

    fn bound(&self) -> usize {
        self.0.blocks.len()
    }

    fn entry(&self) -> Option<Block> {
        self.nodes().next()
    }

    fn nodes(&self) -> impl Iterator<Item = Block> {
        (0..self.0.blocks.len() as u32).map(Block::from_u32)
    }

    fn successors(&self, node: Block, mut found: impl FnMut(Block)) {
        let next = self.0.blocks.get(node.as_u32() as usize).map(|block| block.next.as_slice());
        next.unwrap_or_default().iter().for_each(|next| found(Block::from_u32(*next as u32)));
    }
}

/// The block with the most cycles, ten times as many for each loop around it: its position, and how many loops there are around it.
/// `None` in a function without code.
pub(super) fn block(timeline: &Timeline) -> Option<(usize, u32)> {
    let flow = Flow::new(&Blocks(timeline));
    let loops = LoopForest::new(&flow, &DomTree::dominators(&flow));
    let depth = |at: usize| loops.depth(Block::from_u32(at as u32));
    let heat = |at: usize| f64::from(timeline.blocks[at].cycles) * TRIPS.powi(depth(at) as i32);
    // Of equals the first.
    let hottest = (0..timeline.blocks.len()).rev().max_by(|a, b| heat(*a).total_cmp(&heat(*b)))?;
    Some((hottest, depth(hottest)))
}
