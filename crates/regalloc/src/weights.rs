//! How often a block is likely to execute.

use crate::code::move_operands;
use oriole_ori::analysis::{Cfg, DomTree, LoopForest};
use oriole_ori::{Block, Callee, Function, InstFlags, InstId, SecondaryMap};

/// Estimated executions of each block, relative to the function's entry: ten per loop level, and a tenth where a branch leads to
/// a call.
pub(crate) struct BlockWeights(SecondaryMap<Block, f32>);

/// Loops nested deeper than this count no more, so that the weights stay finite.
const DEEPEST: u32 = 8;
/// Executions for one of the branch, of a block that calls: it is the slow path of a division, or what happens seldom (Ball and
/// Larus, "Branch prediction for free", 1993, by call).
const CALLS: f32 = 0.1;

impl BlockWeights {
    /// From the loop forest.
    pub(crate) fn new(func: &Function, loops: &LoopForest) -> Self {
        let mut weights = SecondaryMap::with_default(1.0);
        for block in func.layout() {
            weights[*block] = 10f32.powi(loops.depth(*block).min(DEEPEST) as i32);
        }
        if !func.layout().iter().any(|block| calls(func, *block)) {
            return BlockWeights(weights);
        }
        let mut ways_in: SecondaryMap<Block, u32> = SecondaryMap::new();
        func.layout().iter().flat_map(|block| func.succs(*block)).for_each(|succ| ways_in[*succ] += 1);
        let branches = func.layout().iter().filter(|block| func.succs(**block).len() > 1);
        let behind = branches.flat_map(|block| func.succs(*block)).filter(|succ| ways_in[**succ] == 1);
        for mut block in behind.copied().filter(|block| calls(func, *block)) {
            weights[block] *= CALLS;
            // Behind the call the next block begins.
            while let [next] = func.succs(block)
                && ways_in[*next] == 1
                && calls(func, block)
            {
                block = *next;
                weights[block] *= CALLS;
            }
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
    work_of(func, |_| true)
}

/// The same before allocation: copies are not counted, for most of which two values get one register.
pub fn work_without_copies(func: &Function) -> f32 {
    work_of(func, |inst| move_operands(func, inst).is_none())
}

/// What the blocks cost together, each as often as it is likely to execute: ten times for each loop around it, and a tenth of
/// that where a branch leads to a call.
pub fn weighted(func: &Function, of_block: impl Fn(Block) -> f32) -> f32 {
    let cfg = Cfg::new(func);
    let weights = BlockWeights::new(func, &LoopForest::new(&cfg, &DomTree::dominators(&cfg)));
    func.layout().iter().map(|block| weights.of(*block) * of_block(*block)).sum()
}

fn work_of(func: &Function, counts: impl Fn(InstId) -> bool) -> f32 {
    let accesses = InstFlags::SPILL | InstFlags::REFILL;
    let of_inst = |inst: InstId| if func[inst].flags.intersects(accesses) { ACCESS } else { 1.0 };
    weighted(func, |block| {
        let insts = func.block_insts(block).iter().copied().filter(|inst| counts(*inst));
        insts.map(of_inst).sum::<f32>()
    })
}

/// The block ends with a call: what it calls comes back to the next.
fn calls(func: &Function, block: Block) -> bool {
    let last = func.block_insts(block).last();
    let call = last.and_then(|inst| func[*inst].call.expand());
    call.is_some_and(|call| func[call].callee != Callee::Return)
}
