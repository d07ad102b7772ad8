//! What all blocks of a launch share, and what a block's warps share.

use crate::barrier::Barriers;
use crate::cluster::ClusterBarrier;
use crate::code::Function;
use oriole_device::{Deadline, FaultKind, Heap, Launch, Memory};

/// A running launch.
pub(crate) struct Machine<'a> {
    /// The functions of the module.
    pub(crate) functions: &'a [Function<'a>],
    /// Number of the kernel.
    pub(crate) kernel: u32,
    /// What is launched.
    pub(crate) launch: &'a Launch,
    /// Launched as a cluster: its shape was given, by the kernel or by the launch.
    pub(crate) is_cluster: bool,
    /// Global memory.
    pub(crate) memory: &'a Memory,
    /// The module's `.const` variables.
    pub(crate) constants: &'a [u8],
    /// First address of shared memory that variables may have.
    pub(crate) shared_base: u32,
    /// Address of dynamic shared memory.
    pub(crate) dynamic_shared: u32,
    /// End of shared memory.
    pub(crate) shared_end: u32,
    /// Bytes of an address.
    pub(crate) address_bytes: u32,
    /// Warp instructions that one block may execute.
    pub(crate) max_instructions: u64,
    /// When the launch has taken too long, if it has a limit.
    pub(crate) deadline: Option<Deadline>,
}

/// What the blocks of a cluster share.
pub(crate) struct ClusterState {
    /// Shared memory of each block from address 0 on, by rank.
    pub(crate) shared: Vec<Vec<u8>>,
    /// The barrier of the cluster.
    pub(crate) barrier: ClusterBarrier,
}

/// What the warps of a block share.
pub(crate) struct BlockState {
    /// The block's rank in its cluster.
    pub(crate) rank: usize,
    /// Barriers 0 to 15.
    pub(crate) barriers: Barriers,
    /// What has been printed.
    pub(crate) printed: Vec<u8>,
    /// Warp instructions executed.
    pub(crate) instructions: u64,
    /// The same, each counted once per thread that the guard let through.
    pub(crate) thread_instructions: u64,
    /// What they cost (see `Op::cost`).
    pub(crate) spent: u64,
}

/// Everything outside of the warp that an instruction may touch.
pub(crate) struct Env<'a> {
    /// The launch.
    pub(crate) machine: &'a Machine<'a>,
    /// The cluster.
    pub(crate) cluster: &'a mut ClusterState,
    /// The block.
    pub(crate) block: &'a mut BlockState,
    /// The heap of `malloc`, if the module calls it.
    pub(crate) heap: &'a mut Option<Heap>,
}

/// A fault of one thread of a warp.
#[derive(Clone, Debug)]
pub(crate) struct Halt {
    /// Its lane.
    pub(crate) lane: usize,
    /// What.
    pub(crate) kind: FaultKind,
}
