//! The control-flow graph of the blocks that the entry reaches.

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use crate::ir::{BlockId, Body};

const UNREACHED: u32 = u32::MAX;

/// Reverse post-order and predecessors. Blocks that the entry does not reach are not in it.
#[derive(Clone, Debug)]
pub struct Cfg {
    /// The reachable blocks, the entry first, each before its successors but for loops.
    pub rpo: Vec<BlockId>,
    number: SecondaryMap<BlockId, u32>,
    preds: SecondaryMap<BlockId, SmallVec<[BlockId; 4]>>,
}

impl Cfg {
    /// Walks the body once.
    #[must_use]
    pub fn new(body: &Body) -> Cfg {
        let mut number = SecondaryMap::with_default(UNREACHED);
        let mut preds: SecondaryMap<BlockId, SmallVec<[BlockId; 4]>> = SecondaryMap::new();
        number.resize(body.block_count());
        preds.resize(body.block_count());
        let mut rpo = Vec::with_capacity(body.layout.len());
        let mut stack = Vec::new();
        if let Some(&entry) = body.layout.first() {
            number[entry] = 0;
            stack.push((entry, body.successors(entry)));
        }
        // Successors are walked from the last to the first, so that the first comes first in the reverse order.
        while let Some((block, successors)) = stack.last_mut() {
            let (Some(to), from) = (successors.pop(), *block) else {
                rpo.push(*block);
                stack.pop();
                continue;
            };
            preds[to].push(from);
            if number[to] == UNREACHED {
                number[to] = 0;
                stack.push((to, body.successors(to)));
            }
        }
        rpo.reverse();
        for (index, &block) in (0..).zip(&rpo) {
            number[block] = index;
        }
        Cfg { rpo, number, preds }
    }

    /// True when the entry reaches the block.
    #[must_use]
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.number[block] != UNREACHED
    }

    /// The place of a reachable block in [`Cfg::rpo`].
    #[must_use]
    pub fn number(&self, block: BlockId) -> usize {
        self.number[block] as usize
    }

    /// The reachable blocks that may go to `block`, without repetition.
    #[must_use]
    pub fn preds(&self, block: BlockId) -> &[BlockId] {
        &self.preds[block]
    }

    /// The predecessor of a block that has one only.
    #[must_use]
    pub fn single_pred(&self, block: BlockId) -> Option<BlockId> {
        match self.preds(block) {
            [pred] => Some(*pred),
            _ => None,
        }
    }
}
