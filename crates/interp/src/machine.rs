//! What all blocks of a launch share.

use crate::code::Function;
use crate::env::Resources;
use oriole_device::Deadline;
use std::sync::Arc;

/// A running launch.
pub(crate) struct Machine<'a> {
    /// The functions of the module.
    pub(crate) functions: &'a [Function<'a>],
    /// Number of the kernel.
    pub(crate) kernel: u32,
    /// Memory, constants and parameters.
    pub(crate) resources: Resources<'a>,
    /// Launched as a cluster: its shape was given, by the kernel or by the launch.
    pub(crate) is_cluster: bool,
    /// The number in the target's name.
    pub(crate) architecture: u32,
    /// First address of shared memory that variables may have.
    pub(crate) shared_base: u32,
    /// Address of dynamic shared memory.
    pub(crate) dynamic_shared: u32,
    /// End of shared memory.
    pub(crate) shared_end: u32,
    /// The handles of the module's textures, surfaces and samplers.
    pub(crate) handles: Arc<[u64]>,
    /// Warp instructions that one block may execute.
    pub(crate) max_instructions: u64,
    /// When the launch has taken too long, if it has a limit.
    pub(crate) deadline: Option<Deadline>,
}
