//! When the units of a quarter of a multiprocessor are free, as if the warp were alone there.

use oriole_isa::chip::{Demand, Unit};
use oriole_isa::{Arch, Inst, latency};

/// What an instruction takes of which unit. Nobody waits for units of a target whose chip is not known. A slow unit is taken for as long
/// as its pace says, if that is longer.
pub(crate) fn demand_of(inst: &Inst, arch: Arch) -> Demand {
    let demand = arch.chip().map_or(NOTHING, |chip| chip.demand(inst));
    match latency::pace(inst, arch) {
        Some(pace) => Demand { unit: pace.unit, cycles: pace.cycles.max(demand.cycles) },
        None => demand,
    }
}

/// What emits no code takes.
pub(crate) const NOTHING: Demand = Demand { unit: Unit::Control, cycles: 0 };

/// By unit: from when on it takes the next instruction.
#[derive(Clone, Default)]
pub(crate) struct Units([u32; Unit::COUNT]);

impl Units {
    /// From when on a unit is free.
    pub(crate) fn free(&self, unit: usize) -> u32 {
        self.0[unit]
    }

    /// An instruction issues.
    pub(crate) fn issue(&mut self, demand: Demand, clock: u32) {
        let cycles = match demand.unit {
            // There is a queue in front of it, which takes what comes.
            Unit::Memory => 0,
            // Either of two pipes will do.
            Unit::Fma => demand.cycles / 2,
            _ => demand.cycles,
        };
        self.0[demand.unit as usize] = clock + u32::from(cycles);
    }
}
