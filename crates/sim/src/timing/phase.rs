//! Phases of mbarriers: numbered while a block is simulated, and when they are over when it is replayed.
//!
//! What a phase waits for is all that the blocks of its cluster did to it: arrivals, and the bytes of copies.

use crate::access::{PhaseEvent, PhaseKind, in_cluster};
use crate::timing::trace::BlockTrace;
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

/// A phase of an mbarrier of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PhaseName {
    /// Rank of the block that has the mbarrier.
    pub(crate) home: u8,
    /// Its number among the phases of that block.
    pub(crate) number: u32,
}

/// The phases of the mbarriers of a cluster's blocks, numbered in the order in which something happens to them.
#[derive(Clone, Debug, Default)]
pub(crate) struct PhaseNumbers {
    /// By rank and address.
    current: HashMap<(usize, u64), Current>,
    /// How many each block has, by rank.
    numbers: Vec<u32>,
}

impl PhaseNumbers {
    /// The phase that the block of that rank does something to; `None` for the phase before the first.
    pub(crate) fn of(&mut self, event: &PhaseEvent, by: usize) -> Option<PhaseName> {
        let (rank, address) = in_cluster(event.address, by);
        let known = self.current.get(&(rank, address)).copied();
        let number = match (event.kind, known) {
            (PhaseKind::Over, Some(known)) if known.bit != event.phase => known.before?,
            (PhaseKind::Over, known) => known?.number,
            (PhaseKind::Arrive | PhaseKind::Copy | PhaseKind::Open, Some(known)) if known.bit == event.phase => {
                known.number
            }
            (kind, known) => {
                let before = known.map(|known| known.number).filter(|_| kind != PhaseKind::Start);
                let number = self.next(rank);
                self.current.insert((rank, address), Current { bit: event.phase, number, before });
                number
            }
        };
        Some(PhaseName { home: rank as u8, number })
    }

    fn next(&mut self, rank: usize) -> u32 {
        self.numbers.resize(self.numbers.len().max(rank + 1), 0);
        self.numbers[rank] += 1;
        self.numbers[rank] - 1
    }
}

/// Something that an instruction of a trace does to a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PhaseStep {
    /// The instruction: number in the order of execution.
    pub(crate) at: u64,
    /// The phase.
    pub(crate) phase: PhaseName,
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
    /// Those of the blocks of a cluster that do this, by rank.
    pub(crate) fn of(cluster: &[BlockTrace]) -> Vec<Phases> {
        Phases::of_steps(cluster.len(), cluster.iter().flatten().flat_map(|warp| &warp.phases))
    }

    fn of_steps<'s>(blocks: usize, steps: impl Iterator<Item = &'s PhaseStep>) -> Vec<Phases> {
        let mut all = vec![Phases(Vec::new()); blocks];
        for step in steps.filter(|step| matches!(step.kind, PhaseKind::Arrive | PhaseKind::Copy)) {
            let Some(Phases(phases)) = all.get_mut(usize::from(step.phase.home)) else { continue };
            let number = step.phase.number as usize;
            phases.resize(phases.len().max(number + 1), Phase::default());
            phases[number].left += 1;
        }
        all
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
        let mut numbers = PhaseNumbers::default();
        let mut of = |address, phase, kind| {
            let name = numbers.of(&PhaseEvent { address, phase, kind }, 1);
            name.map(|name| (name.home, name.number))
        };
        let remote = 1 << 24 | 64;
        assert_eq!(of(64, false, PhaseKind::Start), Some((1, 0)));
        assert_eq!(of(64, true, PhaseKind::Over), None, "the one before the first");
        assert_eq!(of(64, false, PhaseKind::Arrive), Some((1, 0)));
        assert_eq!(of(64, false, PhaseKind::Open), Some((1, 0)));
        assert_eq!(of(2 << 24 | 64, false, PhaseKind::Copy), Some((1, 0)), "its own rank, named");
        assert_eq!(of(remote, false, PhaseKind::Arrive), Some((0, 0)), "that of another block");
        assert_eq!(of(64, false, PhaseKind::Over), Some((1, 0)), "nothing has happened to the next");
        assert_eq!(of(64, true, PhaseKind::Arrive), Some((1, 1)));
        assert_eq!(of(64, false, PhaseKind::Over), Some((1, 0)));
        assert_eq!(of(64, false, PhaseKind::Start), Some((1, 2)));
        assert_eq!(of(64, true, PhaseKind::Over), None);
    }

    #[test]
    fn a_phase_is_over_when_the_last_has_come() {
        let step = |home, kind| PhaseStep { at: 0, phase: PhaseName { home, number: 0 }, kind };
        let steps = [step(0, PhaseKind::Arrive), step(0, PhaseKind::Copy), step(0, PhaseKind::Over)];
        let elsewhere = [step(1, PhaseKind::Arrive)];
        let mut all = Phases::of_steps(2, steps.iter().chain(&elsewhere));
        assert_eq!((all[0].over(0), all[1].over(0)), (None, None));
        assert!(!all[0].come(0, 90));
        assert!(all[0].come(0, 40));
        assert_eq!((all[0].over(0), all[0].over(7), all[1].over(0)), (Some(90), Some(0), None));
    }
}
