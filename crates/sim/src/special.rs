//! Special registers: who a warp and its threads are.

use crate::space::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::state::{Lanes, State, WARP};
use oriole_isa::Arch;
use oriole_isa::special_registers;

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
}

/// The streaming multiprocessors that the simulated device has: block `b` runs on SM `b` modulo
/// this.
const MULTIPROCESSORS: u64 = 108;

/// What `S2R` (`CS2R` with `coupled`) reads of special register `number`, in all lanes. Registers that
/// only graphics or trap handlers read, and performance counters, are zero.
pub(crate) fn read(number: u8, coupled: bool, state: &State) -> Lanes {
    let arch = state.identity.arch;
    value(number, state).map(|value| special_registers::read(number, arch, coupled, value))
}

fn value(number: u8, state: &State) -> Lanes {
    let id = &state.identity;
    let Some(register) = special_registers::by_number(number, id.arch) else { return [0; WARP] };
    let per_lane = |f: fn(u32) -> u32| std::array::from_fn(|lane| f(lane as u32));
    match register.name {
        "SR_LANEID" => per_lane(|lane| lane),
        "SR_EQMASK" => per_lane(|lane| 1 << lane),
        "SR_LTMASK" => per_lane(|lane| (1 << lane) - 1),
        "SR_LEMASK" => per_lane(|lane| (2u32 << lane).wrapping_sub(1)),
        "SR_GTMASK" => per_lane(|lane| !(2u32 << lane).wrapping_sub(1)),
        "SR_GEMASK" => per_lane(|lane| !((1 << lane) - 1)),
        "SR_TID" => std::array::from_fn(|lane| id.tid[0][lane] | id.tid[1][lane] << 16 | id.tid[2][lane] << 26),
        "SR_TID.X" => id.tid[0],
        "SR_TID.Y" => id.tid[1],
        "SR_TID.Z" => id.tid[2],
        "SR_VIRTID" => {
            let slot = (id.block % MULTIPROCESSORS) as u32;
            std::array::from_fn(|lane| lane as u32 | id.warp << 8 | slot << 20)
        }
        name => [shared_value(name, state); WARP],
    }
}

/// A special register that is the same in all lanes.
fn shared_value(name: &str, state: &State) -> u32 {
    let id = &state.identity;
    match name {
        "SR_CTAID.X" => id.ctaid[0],
        "SR_CTAID.Y" => id.ctaid[1],
        "SR_CTAID.Z" => id.ctaid[2],
        "SR_NTID" | "SR_NLATC" => id.threads,
        "SR_VIRTUALSMID" => (id.block % MULTIPROCESSORS) as u32,
        "SR_LWINHI" => (LOCAL_WINDOW >> 32) as u32,
        "SR_LWINLO" => LOCAL_WINDOW as u32,
        "SR_SWINHI" => (SHARED_WINDOW >> 32) as u32,
        "SR_SWINLO" => SHARED_WINDOW as u32,
        "SR_SWINSZ" | "SR_LWINSZ" => 1 << 24,
        "SR_SMEMSZ" => id.shared_size,
        "SR_SMEMBANKS" => 32,
        "SR_REGALLOC" => id.registers,
        "SR_CLOCK" | "SR_CLOCKLO" | "SR_GLOBALTIMERLO" => state.clock as u32,
        "SR_CLOCKHI" | "SR_GLOBALTIMERHI" => (state.clock >> 32) as u32,
        "SR_CgaCtaId" => id.cluster_rank,
        _ => 0,
    }
}
