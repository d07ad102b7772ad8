//! Special registers: who a thread is and what it can ask of the machine.

use crate::machine::Machine;
use crate::state::{State, WARP};
use oriole_device::Launch;
use oriole_ptx::ast::SpecialReg;

/// Block `b` runs on multiprocessor `b` modulo this; `%nsmid`.
const MULTIPROCESSORS: u64 = 108;
/// Warps that a multiprocessor has room for; `%nwarpid`.
const WARP_SLOTS: u32 = 64;

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
    /// First address of shared memory that variables may have.
    pub(crate) shared_base: u32,
    /// End of shared memory.
    pub(crate) shared_end: u32,
}

/// The shapes of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shapes {
    /// Blocks of the grid.
    grid: [u32; 3],
    /// Threads of a block.
    block: [u32; 3],
    /// Blocks of a cluster.
    cluster: [u32; 3],
    /// Launched as a cluster.
    is_cluster: bool,
    /// Bytes of dynamic shared memory.
    dynamic: u32,
}

impl Shapes {
    /// Those of a launch.
    pub(crate) fn of(machine: &Machine<'_>) -> Shapes {
        let &Launch { grid, block, cluster, shared_bytes: dynamic, .. } = machine.launch;
        Shapes { grid, block, cluster, is_cluster: machine.is_cluster, dynamic }
    }
}

impl State {
    /// What special register `register` holds in one lane; `part` is the component of those that are
    /// vectors. Performance counters and `%envreg` are zero, as is the fourth component.
    pub(crate) fn special(&self, register: SpecialReg, part: u8, lane: usize) -> u64 {
        use SpecialReg::*;
        let id = &self.identity;
        let Shapes { grid, block, cluster, .. } = id.launch;
        let component = |of: [u32; 3]| u64::from(of.get(usize::from(part)).copied().unwrap_or(0));
        let each = |f: fn(u32, u32) -> u32, a: [u32; 3], b: [u32; 3]| -> [u32; 3] {
            std::array::from_fn(|axis| f(a[axis], b[axis].max(1)))
        };
        let bit = 1u32 << lane;
        let lower = bit - 1;
        match register {
            Tid => component(id.tid[lane]),
            Ntid => component(block),
            Ctaid => component(id.ctaid),
            Nctaid => component(grid),
            Clusterid => component(each(|a, b| a / b, id.ctaid, cluster)),
            Nclusterid => component(each(|a, b| a / b, grid, cluster)),
            ClusterCtaid => component(each(|a, b| a % b, id.ctaid, cluster)),
            ClusterNctaid => component(cluster),
            ClusterCtarank => u64::from(id.cluster_rank),
            ClusterNctarank => cluster.iter().map(|&n| u64::from(n)).product(),
            IsExplicitCluster => u64::from(id.launch.is_cluster),
            Laneid => lane as u64,
            Warpid => u64::from(id.warp),
            Nwarpid => u64::from(WARP_SLOTS),
            Smid => id.block % MULTIPROCESSORS,
            Nsmid => MULTIPROCESSORS,
            LanemaskEq => u64::from(bit),
            LanemaskLt => u64::from(lower),
            LanemaskLe => u64::from(lower | bit),
            LanemaskGt => u64::from(!(lower | bit)),
            LanemaskGe => u64::from(!lower),
            Clock | Clock64 | Globaltimer | GlobaltimerLo => self.clock,
            ClockHi | GlobaltimerHi => self.clock >> 32,
            TotalSmemSize | AggrSmemSize => u64::from(id.shared_end),
            DynamicSmemSize => u64::from(id.launch.dynamic),
            ReservedSmemOffsetEnd | ReservedSmemOffsetCap => u64::from(id.shared_base),
            _ => 0,
        }
    }
}
