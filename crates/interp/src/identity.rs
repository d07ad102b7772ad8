//! Who the threads of a warp are: the place of the warp in its launch.

use crate::lanes::WARP;
use oriole_device::Launch;
use std::sync::Arc;

/// Place of a warp in its launch.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// What is launched: shapes and dynamic shared memory.
    pub(crate) launch: Shapes,
    /// `%tid` of each lane.
    pub(crate) tid: [[u32; 3]; WARP],
    /// `%ctaid`.
    pub(crate) ctaid: [u32; 3],
    /// Number of the block in the grid, x fastest.
    pub(crate) block: u64,
    /// Number of the warp in its block.
    pub(crate) warp: u32,
    /// Rank of the block in its cluster.
    pub(crate) cluster_rank: u32,
    /// Address of dynamic shared memory.
    pub(crate) dynamic_shared: u32,
    /// The number in the target's name.
    pub(crate) architecture: u32,
    /// First address of shared memory that variables may have.
    pub(crate) shared_base: u32,
    /// End of shared memory.
    pub(crate) shared_end: u32,
    /// The handles of the module's textures, surfaces and samplers.
    pub(crate) handles: Arc<[u64]>,
}

/// The shapes of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shapes {
    /// Blocks of the grid.
    pub(crate) grid: [u32; 3],
    /// Threads of a block.
    pub(crate) block: [u32; 3],
    /// Blocks of a cluster.
    pub(crate) cluster: [u32; 3],
    /// Launched as a cluster.
    pub(crate) is_cluster: bool,
    /// Bytes of dynamic shared memory.
    pub(crate) dynamic: u32,
}

impl Shapes {
    /// Those of a launch, which was launched as a cluster or not.
    pub(crate) fn of(launch: &Launch, is_cluster: bool) -> Shapes {
        let &Launch { grid, block, cluster, shared_bytes: dynamic, .. } = launch;
        Shapes { grid, block, cluster, is_cluster, dynamic }
    }
}
