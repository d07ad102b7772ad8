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
        let end = address.saturating_add(block.size.max(1));
        // The blocks do not overlap, so that those that end behind `address` are the last that begin before `end`.
        let overlaps = |known: &(&u64, &HeapBlock)| address < known.0.saturating_add(known.1.size.max(1));
        let stale: Vec<u64> = self.blocks.range(..end).rev().take_while(overlaps).map(|(&start, _)| start).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn block(size: u64) -> HeapBlock {
        let site = Site {
            pc: 0,
            function: String::new(),
            instruction: String::new(),
            access: "malloc",
            block: [0; 3],
            thread: [0; 3],
            launch: None,
            source: None,
        };
        HeapBlock { size, is_freed: false, made: (0, site) }
    }

    #[test]
    fn a_block_takes_the_place_of_those_that_it_overlaps() {
        let mut blocks = HeapBlocks::default();
        for start in [0x100, 0x110, 0x120, 0x130] {
            blocks.add(start, block(0x10));
        }
        blocks.add(0x118, block(0x10));
        assert_eq!(blocks.leaked().map(|(start, _)| start).collect::<Vec<u64>>(), [0x100, 0x118, 0x130]);
        blocks.add(0x80, block(u64::MAX));
        assert_eq!(blocks.leaked().count(), 1);
    }

    #[test]
    fn many_live_blocks_cost_little_each() {
        let mut blocks = HeapBlocks::default();
        // With a look at all blocks for each this is 45 thousand million.
        for at in 0..300_000 {
            blocks.add(16 * at, block(16));
        }
        assert_eq!(blocks.leaked().count(), 300_000);
    }
}
