//! Local memory of one thread.

use crate::space::WINDOW;
use oriole_device::{FaultKind, OutOfMemory};

/// Bytes of local memory that a thread may use.
const MOST_LOCAL: u32 = 512 << 10;
/// Every frame starts at a multiple of this.
const FRAME_ALIGNMENT: u32 = 16;

/// Local memory of one thread: frames of its functions, from address 0 up.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalMemory {
    bytes: Vec<u8>,
    /// Start of the running function's frame.
    frame: u32,
    /// End of what is in use.
    top: u32,
    /// `frame` and `top` of the callers.
    callers: Vec<(u32, u32)>,
}

impl LocalMemory {
    /// What can be accessed.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.top as usize]
    }

    /// What can be accessed, to write.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.top as usize]
    }

    /// End of what is in use.
    pub(crate) fn top(&self) -> u32 {
        self.top
    }

    /// Local address of a place in the running function's frame.
    pub(crate) fn address(&self, offset: u32) -> u32 {
        self.frame.wrapping_add(offset)
    }

    /// Takes `size` zeroed bytes at a multiple of `alignment`, a power of two.
    pub(crate) fn allocate(&mut self, size: u32, alignment: u32) -> Result<u32, FaultKind> {
        let start = self.top.checked_next_multiple_of(alignment.max(1));
        let end = start.and_then(|start| start.checked_add(size)).filter(|&end| end <= MOST_LOCAL);
        let (Some(start), Some(end)) = (start, end) else { return Err(overflow()) };
        let more = (end as usize).saturating_sub(self.bytes.len());
        self.bytes.try_reserve(more).map_err(|_| OutOfMemory::Host(more as u64))?;
        self.bytes.resize(self.bytes.len() + more, 0);
        self.top = end;
        self.bytes[start as usize..end as usize].fill(0);
        Ok(start)
    }

    /// Gives back everything from `top` on.
    pub(crate) fn restore(&mut self, top: u32) -> Result<(), FaultKind> {
        if top > self.top {
            return Err(FaultKind::Misuse(format!("stackrestore to {top:#x}, above the stack's top")));
        }
        self.top = top;
        Ok(())
    }

    /// Opens a frame of `size` zeroed bytes.
    pub(crate) fn enter(&mut self, size: u32) -> Result<(), FaultKind> {
        let caller = (self.frame, self.top);
        self.frame = self.allocate(size, FRAME_ALIGNMENT)?;
        self.callers.push(caller);
        Ok(())
    }

    /// Closes the innermost frame.
    pub(crate) fn leave(&mut self) {
        (self.frame, self.top) = self.callers.pop().unwrap_or_default();
    }
}

/// The fault of a call that finds no room for its frame.
pub(crate) fn overflow() -> FaultKind {
    FaultKind::Misuse("the call stack has overflown".to_owned())
}

const _: () = assert!((MOST_LOCAL as u64) < WINDOW);
