//! Special registers: who a warp and its threads are.
//!
//! The rules of reading are published (docs/sources.md; `oriole_isa::special_registers`): numbers and bits that the
//! target does not have read as zero, and so do registers of other kinds of shader.

use crate::halt::Halt;
use crate::identity::MULTIPROCESSORS;
use crate::lanes::{Lanes, WARP};
use crate::space::{LOCAL_WINDOW, SHARED_WINDOW, STACK_TOP};
use crate::state::State;
use oriole_device::FaultKind;
use oriole_isa::special_registers;

/// Warps of a warpgroup.
const WARPGROUP: u32 = 4;

/// What `S2R` (`CS2R` with `coupled`) reads of special register `number`, in all lanes. A register whose value
/// nothing here could give is a fault that names it.
pub(crate) fn read(number: u8, coupled: bool, state: &State) -> Result<Lanes, Halt> {
    let arch = state.identity.arch;
    let Some(register) = special_registers::by_number(number, arch) else { return Ok([0; WARP]) };
    let is_here = register.shaders.split(',').any(|shader| shader == "all" || shader == "compute");
    if !is_here || coupled && !register.coupled {
        return Ok([0; WARP]);
    }
    let Some(values) = value(register.name, state) else {
        let what = format!("not simulated: special register {}", register.name);
        return Err(Halt::fault(state.first_active(), FaultKind::Unsupported(what)));
    };
    Ok(values.map(|value| special_registers::read(number, arch, coupled, value)))
}

fn value(name: &str, state: &State) -> Option<Lanes> {
    let id = &state.identity;
    let per_lane = |f: fn(u32) -> u32| std::array::from_fn(|lane| f(lane as u32));
    Some(match name {
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
        "SR_VIRTID" => std::array::from_fn(|lane| lane as u32 | id.warp << 8 | id.multiprocessor() << 20),
        name => [shared_value(name, state)?; WARP],
    })
}

/// A special register that is the same in all lanes; `None` where the value is not known.
fn shared_value(name: &str, state: &State) -> Option<u32> {
    let id = &state.identity;
    let sm = id.arch.sm();
    Some(match name {
        "SR_CTAID.X" => id.ctaid[0],
        "SR_CTAID.Y" => id.ctaid[1],
        "SR_CTAID.Z" => id.ctaid[2],
        "SR_NTID" | "SR_NLATC" => id.threads,
        "SR_VIRTCFG" => {
            let (low, high) = (sm.max_ctas & 15, sm.max_ctas >> 4);
            WARP as u32 | sm.max_warps << 8 | low << 16 | MULTIPROCESSORS << 20 | high << 29
        }
        "SR_VIRTUALSMID" => id.multiprocessor(),
        "SR_LWINHI" => (LOCAL_WINDOW >> 32) as u32,
        "SR_LWINLO" => LOCAL_WINDOW as u32,
        "SR_SWINHI" => (SHARED_WINDOW >> 32) as u32,
        "SR_SWINLO" => SHARED_WINDOW as u32,
        "SR_SWINSZ" | "SR_LWINSZ" => 1 << 24,
        "SR_SMEMSZ" => id.shared_size,
        "SR_SMEMBANKS" => 32,
        // All local memory is the stack, which has the high part.
        "SR_LMEMLOSZ" => 0,
        "SR_LMEMHIOFF" => STACK_TOP - sm.max_local_per_thread,
        "SR_REGALLOC" => id.registers,
        "SR_CLOCK" | "SR_CLOCKLO" | "SR_GLOBALTIMERLO" => state.clock as u32,
        "SR_CLOCKHI" | "SR_GLOBALTIMERHI" => (state.clock >> 32) as u32,
        "SR_CgaCtaId" => id.cluster_rank,
        // One shape of clusters.
        "SR_CgaSize" => 0,
        "SR_WARPGROUPID" => id.warp / WARPGROUP,
        _ if reads_zero(name) => 0,
        _ => return None,
    })
}

/// Registers that are zero in a kernel that runs undisturbed: performance counters that nobody has set up, the
/// state of trap handlers, work queues (the block is of a grid), and what is reserved.
fn reads_zero(name: &str) -> bool {
    const ZERO: [&str; 11] = [
        "SRZ",
        "SR_MACHINE_ID_1",
        "SR_MACHINE_ID_2",
        "SR_MACHINE_ID_3",
        "SR_GLOBALERRORSTATUS",
        "SR_CGAERRORSTATUS",
        "SR_WARPERRORSTATUS",
        "SR_CirQueueIncrMinusOne",
        "SR_CIRCULARQUEUEENTRYINDEX",
        "SR_CIRCULARQUEUEENTRYADDRESSLOW",
        "SR_CIRCULARQUEUEENTRYADDRESSHIGH",
    ];
    ZERO.contains(&name) || name.starts_with("SR_PM") || name.starts_with("SR_SNAP_PM")
}
