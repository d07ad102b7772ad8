//! How often a block is likely to execute.

use oriole_ori::analysis::{Cfg, DomTree, LoopForest};
use oriole_ori::{Block, Function, InstFlags, InstId, SecondaryMap};

/// Estimated executions of each block, relative to the function's entry: ten per loop level.
pub(crate) struct BlockWeights(SecondaryMap<Block, f32>);

/// Loops nested deeper than this count no more, so that the weights stay finite.
const DEEPEST: u32 = 8;

impl BlockWeights {
    /// From the loop forest.
    pub(crate) fn new(func: &Function, loops: &LoopForest) -> Self {
        let mut weights = SecondaryMap::with_default(1.0);
        for block in func.layout() {
            weights[*block] = 10f32.powi(loops.depth(*block).min(DEEPEST) as i32);
        }
        BlockWeights(weights)
    }

    /// Estimated executions of `block`.
    pub(crate) fn of(&self, block: Block) -> f32 {
        self.0[block]
    }
}

/// What an access to a value in memory costs, in instructions.
const ACCESS: f32 = 10.0;

/// Estimated executions of all instructions of an allocated function, accesses to what was spilled counted by what they cost:
/// which of two allocations of the same code is the better one.
pub fn estimated_work(func: &Function) -> f32 {
    let cfg = Cfg::new(func);
    let weights = BlockWeights::new(func, &LoopForest::new(&cfg, &DomTree::dominators(&cfg)));
    let accesses = InstFlags::SPILL | InstFlags::REFILL;
    let of_inst = |inst: InstId| if func[inst].flags.intersects(accesses) { ACCESS } else { 1.0 };
    let of_block = |block| func.block_insts(block).iter().map(|inst| of_inst(*inst)).sum::<f32>();
    func.layout().iter().map(|block| weights.of(*block) * of_block(*block)).sum()
}
