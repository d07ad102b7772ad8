//! What instructions of a launch reach besides the registers and the memory of their block.

use crate::constant::ConstantBanks;
use oriole_device::texture::Objects;
use oriole_device::{Heap, Memory, Unstarted};
use std::sync::{Arc, Mutex};

/// Name of the allocations of global memory that hold the module's variables.
pub(crate) const VARIABLES: &str = "a variable of the module";

/// Memory and constants of a running launch.
pub(crate) struct Resources<'a> {
    /// Global memory.
    pub(crate) memory: &'a Memory,
    /// The heap of `malloc`, if the module calls it.
    pub(crate) heap: Option<Mutex<Heap>>,
    /// Textures, surfaces and samplers.
    pub(crate) objects: &'a Objects,
    /// The clusters that have not started.
    pub(crate) unstarted: Unstarted,
    /// Constant banks.
    pub(crate) constants: Arc<ConstantBanks>,
    /// Bytes of local memory that a thread may use.
    pub(crate) max_local: u32,
    /// Bytes of local memory from address 0 on: that of a kernel without ABI, which has no stack.
    pub(crate) absolute_local: u32,
}
