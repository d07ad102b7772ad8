//! Who a warp is: its place in the launch.

use crate::lanes::{Lanes, WARP};
use oriole_isa::Arch;

/// The streaming multiprocessors that the simulated device has: block `b` runs on SM `b` modulo
/// this.
pub(crate) const MULTIPROCESSORS: u32 = 108;

/// Place of a warp in its launch, and what it can ask of the machine.
#[derive(Clone, Debug)]
pub(crate) struct WarpIdentity {
    /// The target.
    pub(crate) arch: Arch,
    /// `%tid.x`, `.y`, `.z` of each lane.
    pub(crate) tid: [Lanes; 3],
    /// `%ctaid`.
    pub(crate) ctaid: [u32; 3],
    /// Number of the warp in its block.
    pub(crate) warp: u32,
    /// Threads of the block.
    pub(crate) threads: u32,
    /// Shared memory allocated to the block in bytes.
    pub(crate) shared_size: u32,
    /// Registers per thread.
    pub(crate) registers: u32,
    /// Number of the block in the grid, x fastest.
    pub(crate) block: u64,
    /// Rank of the block in its cluster.
    pub(crate) cluster_rank: u32,
}

impl WarpIdentity {
    /// Thread numbers of warp number `warp` in a block of shape `ntid`.
    pub(crate) fn thread_ids(ntid: [u32; 3], warp: u32) -> [Lanes; 3] {
        let linear = |lane: usize| warp * WARP as u32 + lane as u32;
        let (x, y) = (ntid[0].max(1), ntid[1].max(1));
        [
            std::array::from_fn(|lane| linear(lane) % x),
            std::array::from_fn(|lane| linear(lane) / x % y),
            std::array::from_fn(|lane| linear(lane) / x / y),
        ]
    }

    /// Number of the multiprocessor that the block runs on.
    pub(crate) fn multiprocessor(&self) -> u32 {
        (self.block % u64::from(MULTIPROCESSORS)) as u32
    }
}
