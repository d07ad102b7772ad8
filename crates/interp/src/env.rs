//! What an instruction reaches outside of its warp: memory of the launch, its cluster, its block.

use crate::barrier::Barriers;
use crate::cluster_barrier::ClusterBarrier;
use oriole_device::texture::Objects;
use oriole_device::{FaultKind, Heap, Launch, Memory, Unstarted};

/// What all blocks of a launch reach.
pub(crate) struct Resources<'a> {
    /// What is launched.
    pub(crate) launch: &'a Launch,
    /// The clusters that have not started.
    pub(crate) unstarted: Unstarted,
    /// Global memory.
    pub(crate) memory: &'a Memory,
    /// The module's `.const` variables.
    pub(crate) constants: &'a [u8],
    /// Textures, surfaces and samplers.
    pub(crate) objects: &'a Objects,
    /// Bytes of an address.
    pub(crate) address_bytes: u32,
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
    pub(crate) resources: &'a Resources<'a>,
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
