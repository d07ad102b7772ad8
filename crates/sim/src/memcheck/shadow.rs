//! Which bytes have been written.

use std::collections::{BTreeMap, HashMap};

/// One bit for each byte of a range.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    words: Vec<u64>,
}

impl Written {
    /// Nothing of `size` bytes has been written.
    pub(super) fn new(size: u64) -> Self {
        Written { words: vec![0; size.div_ceil(64) as usize] }
    }

    /// Bytes `at` to `at + bytes` have been written.
    pub(super) fn write(&mut self, at: u64, bytes: u32) {
        for byte in at..at + u64::from(bytes) {
            if let Some(word) = self.words.get_mut((byte / 64) as usize) {
                *word |= 1 << (byte % 64);
            }
        }
    }

    /// The first byte from `at` on, of `bytes`, that has not been written.
    pub(super) fn first_unwritten(&self, at: u64, bytes: u32) -> Option<u64> {
        let missing =
            |byte: &u64| self.words.get((byte / 64) as usize).is_some_and(|word| word >> (byte % 64) & 1 == 0);
        (at..at + u64::from(bytes)).find(missing)
    }
}

/// Ranges of global memory that begin without contents; all others count as written.
#[derive(Debug, Default)]
pub(super) struct Undefined {
    ranges: BTreeMap<u64, (u64, Written)>,
}

impl Undefined {
    /// `size` bytes from `base` on have no contents.
    pub(super) fn add(&mut self, base: u64, size: u64) {
        self.ranges.insert(base, (size, Written::new(size)));
    }

    /// Forgets the range that starts at `base`.
    pub(super) fn remove(&mut self, base: u64) {
        self.ranges.remove(&base);
    }

    fn range(&mut self, address: u64) -> Option<(u64, &mut Written)> {
        let (&base, (size, written)) = self.ranges.range_mut(..=address).next_back()?;
        (address - base < *size).then_some((base, written))
    }

    /// Bytes are written.
    pub(super) fn write(&mut self, address: u64, bytes: u32) {
        if let Some((base, written)) = self.range(address) {
            written.write(address - base, bytes);
        }
    }

    /// The first byte of a read that has not been written.
    pub(super) fn first_unwritten(&mut self, address: u64, bytes: u32) -> Option<u64> {
        let (base, written) = self.range(address)?;
        written.first_unwritten(address - base, bytes).map(|at| base + at)
    }
}

/// The written bytes of the local memory of all threads of a block, in pieces of 64 bytes.
#[derive(Debug, Default)]
pub(super) struct LocalShadow {
    pieces: HashMap<(u32, u64), u64>,
}

impl LocalShadow {
    /// `thread` writes bytes.
    pub(super) fn write(&mut self, thread: u32, address: u64, bytes: u32) {
        for byte in address..address + u64::from(bytes) {
            *self.pieces.entry((thread, byte / 64)).or_default() |= 1 << (byte % 64);
        }
    }

    /// The first byte of a read by `thread` that has not been written.
    pub(super) fn first_unwritten(&self, thread: u32, address: u64, bytes: u32) -> Option<u64> {
        let is_written =
            |byte: u64| self.pieces.get(&(thread, byte / 64)).is_some_and(|piece| piece >> (byte % 64) & 1 != 0);
        (address..address + u64::from(bytes)).find(|&byte| !is_written(byte))
    }
}
