//! A quarter of a multiprocessor: its scheduler's list of warps, its units, its register banks.

use crate::timing::code::Cost;
use oriole_isa::chip::Unit;

/// Cycles in which a fixed-latency instruction reads its registers (Huerta et al.).
const READ_WINDOW: u64 = 3;

/// The quarter.
pub(crate) struct Quarter {
    /// Slots of its warps, the oldest first, and when each may issue; `u64::MAX`: not known.
    pub(crate) slots: Vec<u32>,
    /// See [`Quarter::slots`].
    pub(crate) ready: Vec<u64>,
    /// The warp that issued last.
    pub(crate) last: u32,
    /// When each unit is free.
    pub(crate) units: [u64; Unit::COUNT],
    /// No instruction can issue before, because of the register banks.
    pub(crate) bubble: u64,
    /// When each register bank is free.
    banks: [u64; 2],
    /// The register file cache: warp and register, by bank and operand.
    kept: [[Option<(u32, u8)>; 3]; 2],
    /// The next cycle in which there may be something to do.
    pub(crate) wake: u64,
}

impl Quarter {
    /// An idle one without warps.
    pub(crate) fn new() -> Self {
        Quarter {
            slots: Vec::new(),
            ready: Vec::new(),
            last: u32::MAX,
            units: [0; Unit::COUNT],
            bubble: 0,
            banks: [0; 2],
            kept: [[None; 3]; 2],
            wake: u64::MAX,
        }
    }

    /// The warp in that slot may issue at `ready`.
    pub(crate) fn set_ready(&mut self, slot: u32, ready: u64) {
        if let Some(at) = self.slots.iter().position(|&known| known == slot) {
            self.ready[at] = ready;
            self.wake = self.wake.min(ready);
        }
    }

    /// The unit for an instruction, and when it is free.
    pub(crate) fn unit(&self, unit: Unit) -> (Unit, u64) {
        match unit {
            Unit::Fma => {
                let (heavy, light) = (self.units[Unit::FmaHeavy as usize], self.units[Unit::FmaLite as usize]);
                // The light one first: the heavy one does more kinds of work.
                if light <= heavy { (Unit::FmaLite, light) } else { (Unit::FmaHeavy, heavy) }
            }
            unit => (unit, self.units[unit as usize]),
        }
    }

    /// Reads the registers of an instruction that issues at `now`: cycles that it holds up those behind it.
    pub(crate) fn read_registers(&mut self, slot: u32, now: u64, cost: &Cost) -> u64 {
        let mut wanted = [0u64; 2];
        for (operand, read) in cost.reads.iter().enumerate() {
            let Some(read) = read else { continue };
            for register in read.register..=read.register.saturating_add(read.width - 1) {
                let bank = usize::from(register & 1);
                let kept = &mut self.kept[bank][operand];
                if *kept != Some((slot, register)) {
                    wanted[bank] += 1;
                }
                *kept = read.reuse.then_some((slot, register));
            }
        }
        let mut latest = now;
        for (bank, wanted) in self.banks.iter_mut().zip(wanted).filter(|(_, wanted)| *wanted > 0) {
            // Wide operands take their time without a bubble: the units take them over several cycles.
            *bank = (*bank).max(now) + wanted.min(READ_WINDOW);
            latest = latest.max(*bank);
        }
        latest.saturating_sub(now + READ_WINDOW)
    }
}
