//! Phases of mbarriers: numbered while a block is simulated, and when they are over when it is replayed.
//!
//! What a phase waits for is all that its block did to it: arrivals, and the bytes of copies. What other blocks of the
//! cluster add is not waited for.

use crate::access::{PhaseEvent, PhaseKind, in_cluster};
use std::collections::HashMap;

/// Which phase an mbarrier is in.
#[derive(Clone, Copy, Debug)]
struct Current {
    /// Its lowest bit.
    bit: bool,
    /// Its number.
    number: u32,
    /// The number of the one before.
    before: Option<u32>,
}

/// The phases of a block's mbarriers, numbered in the order in which something happens to them.
#[derive(Clone, Debug, Default)]
pub(crate) struct PhaseNumbers {
    rank: usize,
    /// By address.
    current: HashMap<u64, Current>,
    numbers: u32,
}

impl PhaseNumbers {
    /// Those of a block with that rank in its cluster.
    pub(crate) fn of_rank(rank: usize) -> PhaseNumbers {
        PhaseNumbers { rank, ..PhaseNumbers::default() }
    }

    /// The number of the phase that something happens to; `None` for mbarriers of other blocks, and for the phase
    /// before the first.
    pub(crate) fn of(&mut self, event: &PhaseEvent) -> Option<u32> {
        let (rank, address) = in_cluster(event.address, self.rank);
        if rank != self.rank {
            return None;
        }
        let known = self.current.get(&address).copied();
        match (event.kind, known) {
            (PhaseKind::Over, Some(known)) if known.bit != event.phase => known.before,
            (PhaseKind::Over, known) => known.map(|known| known.number),
            (PhaseKind::Arrive | PhaseKind::Copy, Some(known)) if known.bit == event.phase => Some(known.number),
            (kind, known) => {
                let before = known.map(|known| known.number).filter(|_| kind != PhaseKind::Start);
                let number = self.numbers;
                self.numbers += 1;
                self.current.insert(address, Current { bit: event.phase, number, before });
                Some(number)
            }
        }
    }
}

/// Something that an instruction of a trace does to a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PhaseStep {
    /// The instruction: number in the order of execution.
    pub(crate) at: u64,
    /// Number of the phase.
    pub(crate) phase: u32,
    /// What it does. The instruction of [`PhaseKind::Over`] cannot issue before the phase is over.
    pub(crate) kind: PhaseKind,
}

/// A phase that is replayed.
#[derive(Clone, Copy, Debug, Default)]
struct Phase {
    /// What has still to come.
    left: u32,
    /// When the last so far came.
    time: u64,
}

/// The phases of a block that is replayed.
#[derive(Clone, Debug)]
pub(crate) struct Phases(Vec<Phase>);

impl Phases {
    /// Those of a block whose warps do this.
    pub(crate) fn of<'s>(steps: impl Iterator<Item = &'s PhaseStep>) -> Phases {
        let mut phases: Vec<Phase> = Vec::new();
        for step in steps {
            if matches!(step.kind, PhaseKind::Arrive | PhaseKind::Copy) {
                let number = step.phase as usize;
                phases.resize(phases.len().max(number + 1), Phase::default());
                phases[number].left += 1;
            }
        }
        Phases(phases)
    }

    /// Something comes at `time`; `true` if it was the last.
    pub(crate) fn come(&mut self, phase: u32, time: u64) -> bool {
        let Some(phase) = self.0.get_mut(phase as usize) else { return false };
        phase.left = phase.left.saturating_sub(1);
        phase.time = phase.time.max(time);
        phase.left == 0
    }

    /// When the phase is over; `None`: not known yet.
    pub(crate) fn over(&self, phase: u32) -> Option<u64> {
        match self.0.get(phase as usize) {
            Some(phase) => (phase.left == 0).then_some(phase.time),
            None => Some(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_numbered_by_their_lowest_bit() {
        let mut numbers = PhaseNumbers::of_rank(1);
        let mut of = |address, phase, kind| numbers.of(&PhaseEvent { address, phase, kind });
        let remote = 1 << 24 | 64;
        assert_eq!(of(64, false, PhaseKind::Start), Some(0));
        assert_eq!(of(64, true, PhaseKind::Over), None, "the one before the first");
        assert_eq!(of(64, false, PhaseKind::Arrive), Some(0));
        assert_eq!(of(2 << 24 | 64, false, PhaseKind::Copy), Some(0), "its own rank, named");
        assert_eq!(of(remote, false, PhaseKind::Arrive), None);
        assert_eq!(of(64, false, PhaseKind::Over), Some(0), "nothing has happened to the next");
        assert_eq!(of(64, true, PhaseKind::Arrive), Some(1));
        assert_eq!(of(64, false, PhaseKind::Over), Some(0));
        assert_eq!(of(64, false, PhaseKind::Start), Some(2));
        assert_eq!(of(64, true, PhaseKind::Over), None);
    }

    #[test]
    fn a_phase_is_over_when_the_last_has_come() {
        let step = |phase, kind| PhaseStep { at: 0, phase, kind };
        let steps = [step(0, PhaseKind::Arrive), step(0, PhaseKind::Copy), step(0, PhaseKind::Over)];
        let mut phases = Phases::of(steps.iter());
        assert_eq!(phases.over(0), None);
        assert!(!phases.come(0, 90));
        assert!(phases.come(0, 40));
        assert_eq!((phases.over(0), phases.over(7)), (Some(90), Some(0)));
    }
}
