//! The control flow of a function: its blocks as a graph.

use crate::entity::Block;
use crate::function::Function;
use crate::terminator::{Exit, exit_of};
use oriole_graph::{Flow, Graph};

/// Predecessors, reverse post-order and backedges of a function's blocks at the time they were computed.
pub type Cfg = Flow<Block>;

/// A dominator or post-dominator tree of blocks.
pub type DomTree = oriole_graph::DomTree<Block>;

/// The natural loops of a function.
pub type LoopForest = oriole_graph::LoopForest<Block>;

impl Graph for Function {
    type Node = Block;

    fn bound(&self) -> usize {
        self.blocks().len()
    }

    fn entry(&self) -> Option<Block> {
        Function::entry(self)
    }

    fn nodes(&self) -> impl Iterator<Item = Block> {
        self.layout().iter().copied()
    }

    fn successors(&self, block: Block, found: impl FnMut(Block)) {
        self.succs(block).iter().copied().for_each(found);
    }
}

/// Post-dominators: a block that leaves the function by a guarded instruction leads to the end, too.
pub fn post_dominators(func: &Function, cfg: &Cfg) -> DomTree {
    let leaves = |block: Block| func.block_insts(block).iter().any(|inst| exit_of(&func[*inst]) == Exit::Leave);
    DomTree::post_dominators(cfg, leaves)
}
