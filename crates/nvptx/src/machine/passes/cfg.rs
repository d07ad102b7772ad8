//! The control flow of machine code: its blocks as a graph.

use oriole_graph::{Flow, Graph};
use smallvec::SmallVec;

use crate::machine::{BlockId, Function};

/// Reverse post-order and predecessors of the blocks that the entry reaches.
pub type Cfg = Flow<BlockId>;

/// Which block dominates which, among those that the entry reaches.
pub type DomTree = oriole_graph::DomTree<BlockId>;

/// The natural loops of a function.
pub type Loops = oriole_graph::LoopForest<BlockId>;

/// The blocks that may follow a block.
pub type Successors = SmallVec<[BlockId; 4]>;

/// The blocks that may follow `block`, each once.
#[must_use]
pub fn successors(function: &Function, block: BlockId) -> Successors {
    let mut found = Successors::new();
    function.blocks[block].terminator.for_each_successor(|to| found.push(to));
    if found.len() > 1 {
        found.sort_unstable();
        found.dedup();
    }
    found
}

/// A function with the successors of each block in an order of its own: the last of them comes closest behind the block in
/// the reverse post-order.
pub struct Ordered<'f, F> {
    /// The function.
    pub function: &'f Function,
    /// Puts the successors of a block into order.
    pub order: F,
}

impl<F: Fn(Successors) -> Successors> Graph for Ordered<'_, F> {
    type Node = BlockId;

    fn bound(&self) -> usize {
        self.function.bound()
    }

    fn entry(&self) -> Option<BlockId> {
        self.function.entry()
    }

    fn nodes(&self) -> impl Iterator<Item = BlockId> {
        self.function.nodes()
    }

    fn successors(&self, block: BlockId, found: impl FnMut(BlockId)) {
        (self.order)(successors(self.function, block)).into_iter().for_each(found);
    }
}

impl Graph for Function {
    type Node = BlockId;

    fn bound(&self) -> usize {
        self.blocks.len()
    }

    fn entry(&self) -> Option<BlockId> {
        self.layout.first().copied()
    }

    fn nodes(&self) -> impl Iterator<Item = BlockId> {
        self.layout.iter().copied()
    }

    fn successors(&self, block: BlockId, found: impl FnMut(BlockId)) {
        successors(self, block).into_iter().for_each(found);
    }
}
