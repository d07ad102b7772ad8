//! The control flow of a body: its blocks as a graph.

use oriole_graph::{Flow, Graph};

use crate::ir::{BlockId, Body};

/// Reverse post-order and predecessors of the blocks that the entry reaches.
pub type Cfg = Flow<BlockId>;

/// Which block dominates which, among those that the entry reaches.
pub type DomTree = oriole_graph::DomTree<BlockId>;

/// One natural loop of a body.
pub type LoopData = oriole_graph::LoopData<BlockId>;

/// The natural loops of a body.
pub type Loops = oriole_graph::LoopForest<BlockId>;

impl Graph for Body {
    type Node = BlockId;

    fn bound(&self) -> usize {
        self.block_count()
    }

    fn entry(&self) -> Option<BlockId> {
        self.layout.first().copied()
    }

    fn nodes(&self) -> impl Iterator<Item = BlockId> {
        self.layout.iter().copied()
    }

    /// From the last to the first, so that the first comes first in the reverse post-order.
    fn successors(&self, block: BlockId, found: impl FnMut(BlockId)) {
        Body::successors(self, block).into_iter().rev().for_each(found);
    }
}
