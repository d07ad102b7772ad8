//! What is checked: the launch, its code and its variables.

use super::places::Variables;
use crate::program::Program;
use oriole_device::{Launch, Memory};
use std::ops::Range;

/// What to check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Races in shared and global memory.
    pub race: bool,
    /// Reads of bytes of shared and local memory and of the device heap that were never written.
    pub init: bool,
    /// The same of global memory: of the parts that the caller says have no contents.
    pub global_init: bool,
    /// Synchronisation: barriers, masks, exchanges, fences between proxies.
    pub sync: bool,
    /// Accesses outside of variables, frames and heap blocks.
    pub bounds: bool,
}

impl Checks {
    /// Whether what happens before what has to be known.
    pub(crate) fn orders(self) -> bool {
        self.race || self.sync
    }
}

/// What a launch is, for the checks.
pub(crate) struct Subject<'a> {
    /// What to check.
    pub(crate) checks: Checks,
    /// The launch.
    pub(crate) launch: &'a Launch,
    /// The code.
    pub(crate) program: &'a Program,
    /// Global memory.
    pub(crate) memory: &'a Memory,
    /// Variables in shared memory.
    pub(crate) shared: Variables,
    /// Variables in global memory.
    pub(crate) global: Variables,
    /// Bytes of shared memory that the system keeps at its start.
    pub(crate) reserved: u64,
    /// Bytes in it that the kernel's code reads and writes: the book of tensor memory.
    pub(crate) book: Range<u64>,
    /// Bytes of shared memory of a block.
    pub(crate) shared_size: u64,
    /// Bytes of local memory from address 0 on that a kernel without ABI has.
    pub(crate) absolute_local: u32,
    /// Parts of global memory without contents: address and size.
    pub(crate) undefined: &'a [(u64, u64)],
    /// The device heap: address and size.
    pub(crate) heap: Option<(u64, u64)>,
}
