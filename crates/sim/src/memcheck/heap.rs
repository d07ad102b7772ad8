//! Blocks of the device heap.

use super::report::Site;
use std::collections::BTreeMap;

/// A block that `malloc` has given out.
#[derive(Clone, Debug)]
pub(super) struct HeapBlock {
    /// Bytes asked for.
    pub(super) size: u64,
    /// It has been given back.
    pub(super) is_freed: bool,
    /// Code address and call of `malloc`.
    pub(super) made: (u64, Site),
}

/// All blocks, freed ones until their place is used again.
#[derive(Debug, Default)]
pub(super) struct HeapBlocks {
    blocks: BTreeMap<u64, HeapBlock>,
}

impl HeapBlocks {
    /// `malloc` has given out `block` at `address`.
    pub(super) fn add(&mut self, address: u64, block: HeapBlock) {
        let end = address + block.size.max(1);
        let overlaps = |(&start, old): (&u64, &HeapBlock)| start < end && address < start + old.size.max(1);
        let stale: Vec<u64> = self.blocks.iter().filter(|&known| overlaps(known)).map(|(&start, _)| start).collect();
        for start in stale {
            self.blocks.remove(&start);
        }
        self.blocks.insert(address, block);
    }

    /// `free` has taken back the block at `address`.
    pub(super) fn free(&mut self, address: u64) {
        if let Some(block) = self.blocks.get_mut(&address) {
            block.is_freed = true;
        }
    }

    /// The block that `address` lies in or behind, and its start.
    pub(super) fn before(&self, address: u64) -> Option<(u64, &HeapBlock)> {
        self.blocks.range(..=address).next_back().map(|(&start, block)| (start, block))
    }

    /// The blocks that were never given back.
    pub(super) fn leaked(&self) -> impl Iterator<Item = (u64, &HeapBlock)> {
        self.blocks.iter().filter(|(_, block)| !block.is_freed).map(|(&start, block)| (start, block))
    }
}
