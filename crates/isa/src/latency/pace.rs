//! Slow units: how many cycles after one of their instructions the next one may issue, whatever registers the two touch.

use super::LatencyClass;
use crate::access::Touches;
use crate::chip::Unit;
use crate::{Arch, Inst, Opcode};
use std::fmt;

/// What an instruction does to a slow unit. Within a block another instruction of the unit issues no earlier; from block to block
/// ptxas keeps no such distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The unit.
    pub unit: Unit,
    /// Cycles, from issue to issue, until the next instruction of the unit.
    pub cycles: u16,
    /// The release of ptxas from which on it keeps the pace no more, so that code of later ones is right without.
    pub until: Option<Release>,
}

/// A release of the CUDA toolkit: major and minor number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(pub u16, pub u16);

include!(concat!(env!("OUT_DIR"), "/latency_pace.rs"));

/// The slow unit of an instruction, by `spec/latency/pace.tsv`; `None` where nothing has to be kept.
pub fn pace(inst: &Inst, arch: Arch) -> Option<Pace> {
    let [narrow, wide] = PACES[arch as usize][inst.opcode as usize];
    if narrow == wide || !has_wide_operand(inst) { narrow } else { wide }
}

/// ptxas keeps the pace of the unit in all of its code. It does not for conversions and transcendental functions: in 9 of 21,000 random modules
/// two stand closer in one block, on sm_86, sm_89 and sm_90 (docs/isa/latency.md, Pace).
fn is_always_kept(unit: Unit) -> bool {
    unit != Unit::Xu
}

/// A conversion from or to 64 bits.
fn has_wide_operand(inst: &Inst) -> bool {
    inst.opcode.info().latency == LatencyClass::Xu && (0..inst.opcode.signature().len()).any(|at| inst.width(at) > 1)
}

/// The slow units in a block, as its control words have the instructions issue. `K` names an instruction.
#[derive(Clone, Debug)]
pub struct SlowUnits<K> {
    /// The tool that made the code, if it is known.
    maker: Option<Release>,
    taken: [Option<Taken<K>>; Unit::COUNT],
    now: u32,
}

/// The last instruction of a unit.
#[derive(Clone, Copy, Debug)]
struct Taken<K> {
    by: K,
    /// The scoreboard that its result releases: who has waited for it finds the unit free (ptxas's code at -O0).
    scoreboard: Option<u8>,
    /// From when on the unit takes another.
    until: u32,
}

/// An instruction that its unit does not take yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Early<K> {
    /// The instruction that the unit is busy with.
    pub behind: K,
    /// The unit.
    pub unit: Unit,
    /// Cycles that are missing.
    pub cycles: u32,
}

impl<K> fmt::Display for Early<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the unit {} is taken for {} more cycles", self.unit.name(), self.cycles)
    }
}

impl<K: Copy> SlowUnits<K> {
    /// At the start of a block of code that was made by a tool of this release.
    pub fn new(maker: Option<Release>) -> Self {
        SlowUnits { maker, taken: [None; Unit::COUNT], now: 0 }
    }

    /// The next instruction of the block; what is wrong if its unit does not take it.
    pub fn issue(&mut self, by: K, inst: &Inst, touches: &Touches, arch: Arch) -> Option<Early<K>> {
        // ptxas begins anew behind these.
        if matches!(inst.opcode, Opcode::WARPSYNC | Opcode::BREAK) {
            self.taken = [None; Unit::COUNT];
        }
        for wait in &touches.waits {
            let waits_for = |taken: &Taken<K>| taken.scoreboard == Some(wait.scoreboard);
            self.taken.iter_mut().filter(|unit| unit.as_ref().is_some_and(waits_for)).for_each(|unit| *unit = None);
        }
        let mut early = None;
        let is_kept = |pace: &Pace| !matches!((self.maker, pace.until), (Some(maker), Some(until)) if maker >= until);
        if let Some(Pace { unit, cycles, .. }) = pace(inst, arch).filter(is_kept) {
            let taken = &mut self.taken[unit as usize];
            let busy = taken.filter(|taken| taken.until > self.now);
            early = busy.filter(|_| is_always_kept(unit)).map(|taken| Early {
                behind: taken.by,
                unit,
                cycles: taken.until - self.now,
            });
            *taken = Some(Taken { by, scoreboard: touches.sets[0], until: self.now + u32::from(cycles) });
        }
        self.now += u32::from(inst.control.cycles());
        early
    }
}
