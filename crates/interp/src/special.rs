//! Special registers: who a thread is and what it can ask of the machine.

use crate::identity::{Identity, Shapes};
use oriole_ptx::ast::SpecialReg;

/// Block `b` runs on multiprocessor `b` modulo this; `%nsmid`.
const MULTIPROCESSORS: u64 = 108;
/// Warps that a multiprocessor has room for; `%nwarpid`.
const WARP_SLOTS: u32 = 64;

/// What special register `register` holds in one lane; `part` is the component of those that are
/// vectors, `clock` what the clocks say. Performance counters and `%envreg` are zero, as is the fourth component.
pub(crate) fn read(register: SpecialReg, part: u8, id: &Identity, lane: usize, clock: u64) -> u64 {
    use SpecialReg::*;
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
        Clock | Clock64 | Globaltimer | GlobaltimerLo => clock,
        ClockHi | GlobaltimerHi => clock >> 32,
        TotalSmemSize | AggrSmemSize => u64::from(id.shared_end),
        DynamicSmemSize => u64::from(id.launch.dynamic),
        ReservedSmemOffsetEnd | ReservedSmemOffsetCap => u64::from(id.shared_base),
        _ => 0,
    }
}
