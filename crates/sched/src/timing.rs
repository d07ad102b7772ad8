//! Distances between instructions, from the ISA's latency tables.

use crate::code::{Accesses, Op};
use oriole_isa::latency::{Read, Write};
use oriole_isa::{Arch, Control, Opcode, latency};

/// Cycles until a register may be read after it was written.
pub(crate) fn raw(def: Option<Write>, place: Option<Read>) -> u32 {
    u32::from(match (def, place) {
        // The callee has waited for its results before it returned.
        (None, _) => 1,
        (Some(def), None) => def.longest(),
        (Some(def), Some(place)) => def.until_read(place),
    })
}

/// Cycles until a register may be written again after it was written.
pub(crate) fn waw(first: Option<Write>, second: Option<Write>) -> u32 {
    u32::from(match (first, second) {
        (None, _) => 1,
        (Some(first), None) => first.longest(),
        (Some(first), Some(second)) => first.until_write(second),
    })
}

/// Cycles until a register may be written after it was read; scoreboards come on top.
pub(crate) fn war(place: Option<Read>, def: Option<Write>) -> u32 {
    u32::from(match (place, def) {
        (Some(place), Some(def)) => place.until_write(def),
        _ => 1,
    })
}

/// Fewest cycles from `earlier` to `later` for all registers that both touch, and for scoreboards.
pub(crate) fn distance(accesses: &Accesses, earlier: &Op, later: &Op) -> u32 {
    let waits = waits_for(earlier.control, later.control);
    let may_meet = earlier.def_mask & (later.use_mask | later.def_mask) | earlier.use_mask & later.def_mask;
    if may_meet == 0 && !waits && !later.leaves {
        return 0;
    }
    let mut cycles = if waits { u32::from(latency::SET_TO_WAIT) } else { 0 };
    if !earlier.variable {
        for def in accesses.defs(earlier) {
            if let Some(write) = def.write.filter(|_| later.leaves) {
                cycles = cycles.max(u32::from(write.longest()));
            }
            for place in accesses.uses(later).iter().filter(|u| u.reg == def.reg) {
                cycles = cycles.max(raw(def.write, place.read));
            }
            for second in accesses.defs(later).iter().filter(|d| d.reg == def.reg) {
                cycles = cycles.max(waw(def.write, second.write));
            }
        }
    }
    for place in accesses.uses(earlier) {
        for def in accesses.defs(later).iter().filter(|d| d.reg == place.reg) {
            cycles = cycles.max(war(place.read, def.write));
        }
    }
    cycles
}

/// Cycles after which no later instruction has to keep a [`distance`], whichever it is.
pub(crate) fn reach(accesses: &Accesses, op: &Op) -> u32 {
    let sets = if latency::sets_scoreboard(op.control) { latency::SET_TO_WAIT } else { 0 };
    // Unknown accesses are a cycle away at most.
    let of_write = |write: Option<Write>| write.map_or(1, Write::reach);
    let of_read = |read: Option<Read>| read.map_or(1, Read::reach);
    let writes = accesses.defs(op).iter().filter(|_| !op.variable).map(|def| of_write(def.write));
    let reads = accesses.uses(op).iter().map(|place| of_read(place.read));
    u32::from(writes.chain(reads).fold(sets, u8::max))
}

/// `later` waits for a scoreboard that `earlier` sets.
fn waits_for(earlier: Control, later: Control) -> bool {
    let set = [earlier.write_scoreboard, earlier.read_scoreboard];
    set.into_iter().any(|s| s != Control::NO_SCOREBOARD && later.wait_mask >> s & 1 == 1)
}

/// Fewest cycles that ptxas leaves behind `WARPGROUP.DEPBAR` (51 of 126 places), whatever comes. Behind `WARPGROUP.ARRIVE` it leaves fewer.
const BEHIND_WAIT: u32 = 2;

/// Fewest cycles that ptxas's code mostly leaves between `BSSY` and another instruction about convergence barriers or one that leaves,
/// from sm_90 on.
fn behind_bssy(next: Opcode) -> u32 {
    match next {
        Opcode::BSYNC | Opcode::BREAK => 9,
        Opcode::CALL | Opcode::RET | Opcode::BRX | Opcode::BRXU | Opcode::EXIT => 8,
        Opcode::BRA | Opcode::BSSY | Opcode::BMOV => 4,
        _ => 1,
    }
}

/// Fewest cycles between two instructions, with others between them or none, whatever registers they touch.
pub(crate) fn stall_between(op: &Op, next: &Op, arch: Arch) -> u32 {
    let least = match op.opcode {
        Opcode::WARPGROUP => BEHIND_WAIT,
        Opcode::BSSY if arch >= Arch::Sm90 => behind_bssy(next.opcode),
        _ => 1,
    };
    let next = Some((next.opcode, next.plain_arithmetic));
    u32::from(latency::stall_between((op.opcode, op.long), next, arch)).max(least)
}

/// Fewest cycles from an instruction to one that may be any.
pub(crate) fn own_stall(op: &Op, arch: Arch) -> u32 {
    u32::from(latency::stall_between((op.opcode, op.long), None, arch)).max(1)
}

/// Fewest cycles after the last instruction of a block.
pub(crate) fn stall_at_end(op: &Op, arch: Arch) -> u32 {
    let own = own_stall(op, arch);
    // The next block may wait for the scoreboard at once.
    if latency::sets_scoreboard(op.control) { own.max(u32::from(latency::SET_TO_WAIT)) } else { own }
}
