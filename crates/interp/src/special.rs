//! Special registers: who a thread is and what it can ask of the machine.

use crate::identity::{Identity, Shapes};
use oriole_ptx::ast::SpecialReg;

/// Block `b` runs on multiprocessor `b` modulo this; `%nsmid`.
const MULTIPROCESSORS: u64 = 108;
/// Shared memory is given out in multiples of this many bytes, on all targets here (PTX manual, `%total_smem_size`).
const SHARED_UNIT: u32 = 128;

/// Warps that a multiprocessor has room for, `%nwarpid`: the CUDA programming guide's table of compute capabilities.
fn warp_slots(architecture: u32) -> u32 {
    match architecture {
        75 => 32,
        86..=89 | 110..=121 => 48,
        _ => 64,
    }
}

/// The part of a block's shared memory that the system keeps.
struct Reserved {
    /// Its first address.
    begin: u32,
    /// Where it ends.
    end: u32,
    /// What in it code may use, `%reserved_smem_offset_0`.
    first: u32,
}

impl Reserved {
    /// As ptxas's code finds them: from sm_90 on below the program's variables, before that behind its memory, where this
    /// machine keeps nothing.
    fn of(id: &Identity) -> Reserved {
        match id.architecture {
            100.. => Reserved { begin: 0, end: id.shared_base, first: 0x40 },
            90..100 => Reserved { begin: 0, end: id.shared_base, first: 0 },
            _ => Reserved { begin: total_shared(id), end: total_shared(id), first: total_shared(id) },
        }
    }
}

/// Bytes that the program has of its block's shared memory.
fn total_shared(id: &Identity) -> u32 {
    (id.shared_end - id.shared_base).next_multiple_of(SHARED_UNIT)
}

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
        Nwarpid => u64::from(warp_slots(id.architecture)),
        Smid => id.block % MULTIPROCESSORS,
        Nsmid => MULTIPROCESSORS,
        LanemaskEq => u64::from(bit),
        LanemaskLt => u64::from(lower),
        LanemaskLe => u64::from(lower | bit),
        LanemaskGt => u64::from(!(lower | bit)),
        LanemaskGe => u64::from(!lower),
        Clock | Clock64 | Globaltimer | GlobaltimerLo => clock,
        ClockHi | GlobaltimerHi => clock >> 32,
        TotalSmemSize => u64::from(total_shared(id)),
        AggrSmemSize => u64::from(id.shared_base + total_shared(id)),
        DynamicSmemSize => u64::from(id.launch.dynamic),
        ReservedSmemOffsetBegin => u64::from(Reserved::of(id).begin),
        ReservedSmemOffsetEnd | ReservedSmemOffsetCap => u64::from(Reserved::of(id).end),
        ReservedSmemOffset0 => u64::from(Reserved::of(id).first),
        _ => 0,
    }
}
