//! How often a block is likely to execute.

use oriole_ori::{Block, Function, SecondaryMap, analysis::LoopForest};

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
