//! Special registers: who a warp and its threads are.

use crate::state::{Lanes, WARP};

/// Place of a warp in its launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct WarpIdentity {
    /// `%tid.x`, `.y`, `.z` of each lane.
    pub(crate) tid: [Lanes; 3],
    /// `%ntid`.
    pub(crate) ntid: [u32; 3],
    /// `%ctaid`.
    pub(crate) ctaid: [u32; 3],
    /// `%nctaid`.
    pub(crate) nctaid: [u32; 3],
    /// Number of the warp in its block.
    pub(crate) warp: u32,
}

impl WarpIdentity {
    /// Warp number `warp` of block `ctaid`.
    pub(crate) fn new(ntid: [u32; 3], ctaid: [u32; 3], nctaid: [u32; 3], warp: u32) -> Self {
        let linear = |lane: usize| warp * WARP as u32 + lane as u32;
        let (x, y) = (ntid[0].max(1), ntid[1].max(1));
        WarpIdentity {
            tid: [
                std::array::from_fn(|lane| linear(lane) % x),
                std::array::from_fn(|lane| linear(lane) / x % y),
                std::array::from_fn(|lane| linear(lane) / (x * y)),
            ],
            ntid,
            ctaid,
            nctaid,
            warp,
        }
    }
}
