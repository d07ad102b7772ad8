//! Distances between instructions, from the ISA's latency tables.

use crate::code::{Access, Op, Reg};
use oriole_isa::{Arch, Control, Inst, Opcode, latency};

/// The results come at no fixed time.
pub(crate) fn is_variable(inst: &Inst, arch: Arch) -> bool {
    latency::is_variable(inst, arch)
}

/// The register that it reads at `place` stays busy for some time after it has issued.
pub(crate) fn reads_late(op: &Op, place: &Access, arch: Arch) -> bool {
    latency::reads_late(&op.inst, place.slot, arch)
}

/// What the order assumes a variable-latency result to take, in cycles; nothing depends on it being right.
const ESTIMATES: [(Opcode, u32); 6] =
    [(Opcode::LDG, 60), (Opcode::LD, 60), (Opcode::LDL, 40), (Opcode::LDS, 26), (Opcode::ATOMG, 80), (Opcode::LDC, 30)];
/// The same for all others: MUFU, conversions, S2R, SHFL and such.
const OTHER_ESTIMATE: u32 = 20;

/// Assumed cycles until a variable-latency result is there.
pub(crate) fn estimate(op: &Op) -> u32 {
    ESTIMATES.iter().find(|(opcode, _)| *opcode == op.inst.opcode).map_or(OTHER_ESTIMATE, |(_, cycles)| *cycles)
}

fn def_of(op: &Op, reg: Reg) -> Option<&Access> {
    op.defs.iter().find(|d| d.reg == reg)
}

/// Cycles until `consumer` may read `reg` at `place` after `producer` wrote it.
pub(crate) fn raw_of(producer: &Op, reg: Reg, consumer: &Op, place: &Access, arch: Arch) -> u32 {
    let Some(def) = def_of(producer, reg) else { return 0 };
    if producer.leaves {
        // The callee has waited for its results before it returned.
        return 1;
    }
    u32::from(if consumer.leaves {
        latency::longest(&producer.inst, def.slot, arch)
    } else {
        latency::raw(&producer.inst, def.slot, &consumer.inst, place.slot, arch)
    })
}

/// Cycles until `second` may write `reg` after `first` wrote it.
pub(crate) fn waw_of(first: &Op, reg: Reg, second: &Op, _: &Access, arch: Arch) -> u32 {
    let Some(def) = def_of(first, reg) else { return 0 };
    if first.leaves {
        return 1;
    }
    u32::from(if second.leaves {
        latency::longest(&first.inst, def.slot, arch)
    } else {
        latency::waw(&first.inst, def.slot, &second.inst, arch)
    })
}

/// Cycles until `writer` may write `reg` after `reader` read it; scoreboards come on top.
pub(crate) fn war_of(reader: &Op, reg: Reg, writer: &Op, _: &Access, arch: Arch) -> u32 {
    if reader.leaves || writer.leaves {
        return 1;
    }
    let places = reader.uses.iter().filter(|u| u.reg == reg);
    let cycles = places.map(|place| latency::war(&reader.inst, place.slot, &writer.inst, arch)).max();
    u32::from(cycles.unwrap_or(1))
}

/// Fewest cycles from `earlier` to `later` for all registers that both touch, and for scoreboards.
pub(crate) fn distance(earlier: &Op, later: &Op, arch: Arch) -> u32 {
    let waits = waits_for(earlier.inst.control, later.inst.control);
    let may_meet = earlier.def_mask & (later.use_mask | later.def_mask) | earlier.use_mask & later.def_mask;
    if may_meet == 0 && !waits && !later.leaves {
        return 0;
    }
    let mut cycles = 0;
    if !earlier.variable {
        for def in &earlier.defs {
            if later.leaves && !earlier.leaves {
                cycles = cycles.max(u32::from(latency::longest(&earlier.inst, def.slot, arch)));
            }
            for place in later.uses.iter().filter(|u| u.reg == def.reg) {
                cycles = cycles.max(raw_of(earlier, def.reg, later, place, arch));
            }
            for place in later.defs.iter().filter(|d| d.reg == def.reg) {
                cycles = cycles.max(waw_of(earlier, def.reg, later, place, arch));
            }
        }
    }
    for place in &earlier.uses {
        for write in later.defs.iter().filter(|d| d.reg == place.reg) {
            cycles = cycles.max(war_of(earlier, place.reg, later, write, arch));
        }
    }
    if waits {
        cycles = cycles.max(u32::from(latency::SET_TO_WAIT));
    }
    cycles
}

/// `later` waits for a scoreboard that `earlier` sets.
fn waits_for(earlier: Control, later: Control) -> bool {
    let set = [earlier.write_scoreboard, earlier.read_scoreboard];
    set.into_iter().any(|s| s != Control::NO_SCOREBOARD && later.wait_mask >> s & 1 == 1)
}

/// Fewest cycles between neighbours.
pub(crate) fn stall_between(op: &Op, next: &Op, arch: Arch) -> u32 {
    u32::from(latency::stall_after(&op.inst, Some(&next.inst), arch)).max(1)
}

/// Fewest cycles after the last instruction of a block.
pub(crate) fn stall_at_end(op: &Op, arch: Arch) -> u32 {
    let own = u32::from(latency::stall_after(&op.inst, None, arch)).max(1);
    // The next block may wait for the scoreboard at once.
    if latency::sets_scoreboard(op.inst.control) { own.max(u32::from(latency::SET_TO_WAIT)) } else { own }
}
