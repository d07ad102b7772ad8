//! The device heap: `malloc` and `free` called by kernels.

use crate::Memory;
use std::collections::BTreeMap;

/// Every block of the heap starts at a multiple of this.
const GRAIN: u64 = 16;

/// A first-fit heap inside one allocation of [`Memory`].
#[derive(Clone, Debug)]
pub struct Heap {
    /// Free ranges: start to size.
    free: BTreeMap<u64, u64>,
    /// Blocks given out: start to size.
    used: BTreeMap<u64, u64>,
}

impl Heap {
    /// `cudaLimitMallocHeapSize` as CUDA sets it.
    pub const DEFAULT_SIZE: u64 = 8 << 20;
    /// What its piece of memory is called.
    pub const NAME: &str = "the device heap";

    /// A heap of `size` bytes in a new allocation of `memory`.
    pub fn new(memory: &mut Memory, size: u64) -> Self {
        let base = memory.allocate(Self::NAME, size);
        Heap { free: BTreeMap::from([(base, size)]), used: BTreeMap::new() }
    }

    /// Address of `size` fresh bytes; 0, the null pointer, where there is no room.
    pub fn malloc(&mut self, size: u64) -> u64 {
        let Some(size) = size.max(1).checked_next_multiple_of(GRAIN) else { return 0 };
        let Some((&start, &room)) = self.free.iter().find(|&(_, &room)| room >= size) else { return 0 };
        self.free.remove(&start);
        if room > size {
            self.free.insert(start + size, room - size);
        }
        self.used.insert(start, size);
        start
    }

    /// Gives a block back; `false` if `address` is neither null nor a block's start.
    pub fn free(&mut self, address: u64) -> bool {
        if address == 0 {
            return true;
        }
        let Some(size) = self.used.remove(&address) else { return false };
        let (mut start, mut end) = (address, address + size);
        if let Some((&before, &room)) = self.free.range(..start).next_back()
            && before + room == start
        {
            self.free.remove(&before);
            start = before;
        }
        if let Some(room) = self.free.remove(&end) {
            end += room;
        }
        self.free.insert(start, end - start);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_blocks_join_and_are_used_again() {
        let mut memory = Memory::new();
        let mut heap = Heap::new(&mut memory, 64);
        let blocks: Vec<u64> = (0..4).map(|_| heap.malloc(16)).collect();
        assert_eq!(heap.malloc(1), 0, "full");
        for at in [1, 3, 2] {
            assert!(heap.free(blocks[at]));
        }
        assert!(!heap.free(blocks[1]), "freed twice");
        assert!(heap.free(0), "free(NULL) does nothing");
        assert_eq!(heap.malloc(48), blocks[1]);
        assert_eq!(heap.malloc(u64::MAX), 0);
    }
}
