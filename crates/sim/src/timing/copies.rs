//! Copies to shared memory (`LDGSTS`) in groups, which end at an `LDGDEPBAR` and are done in order, and what waits for all copies so far.

use crate::timing::phase::PhaseName;
use std::collections::VecDeque;

/// A copy that is not done, or stands behind one that is not.
#[derive(Clone, Copy, Debug)]
struct Copy {
    group: u32,
    /// When it was done.
    time: Option<u64>,
}

/// Arrivals at mbarriers, and when.
pub(crate) type Arrivals = Vec<(PhaseName, u64)>;

/// A group.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    /// Copies of which it is not known when they will be done.
    open: u32,
    /// When the others are.
    time: u64,
    /// The scoreboard of its end.
    scoreboard: Option<u8>,
}

/// The groups of a warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    /// Those that have ended.
    ended: Vec<Group>,
    /// The one that copies go to now.
    current: Group,
    /// Of those that are done, in order: when they and all before them were.
    done: Vec<u64>,
    /// Copies from the first on that is not done.
    copies: VecDeque<Copy>,
    /// Copies before those.
    passed: u32,
    /// When the last of those was done.
    time: u64,
    /// Arrivals at mbarriers, with the number of copies that have to be done before.
    arrivals: VecDeque<(u32, PhaseName)>,
}

impl Copies {
    /// The number of the next copy.
    pub(crate) fn next(&self) -> u32 {
        self.passed + self.copies.len() as u32
    }

    /// A copy that will be done at `time`, if that is known.
    pub(crate) fn add(&mut self, time: Option<u64>) {
        match time {
            Some(time) => self.current.time = self.current.time.max(time),
            None => self.current.open += 1,
        }
        self.copies.push_back(Copy { group: self.ended.len() as u32, time });
        self.pass();
    }

    /// An arrival at an mbarrier at `now`, or when the copies so far are done.
    pub(crate) fn arrive(&mut self, phase: PhaseName, now: u64) -> Arrivals {
        self.time = self.time.max(if self.copies.is_empty() { now } else { 0 });
        self.arrivals.push_back((self.next(), phase));
        self.arrived()
    }

    /// Arrivals that wait for copies.
    pub(crate) fn left(&mut self) -> impl Iterator<Item = PhaseName> {
        self.arrivals.drain(..).map(|(_, phase)| phase)
    }

    /// Goes on to the first copy that is not done.
    fn pass(&mut self) {
        while let Some(Copy { time: Some(time), .. }) = self.copies.front() {
            self.time = self.time.max(*time);
            self.copies.pop_front();
            self.passed += 1;
        }
    }

    /// The arrivals that wait for nothing any more.
    fn arrived(&mut self) -> Arrivals {
        let mut arrived = Arrivals::new();
        while let Some(&(_, phase)) = self.arrivals.front().filter(|(needed, _)| *needed <= self.passed) {
            self.arrivals.pop_front();
            arrived.push((phase, self.time));
        }
        arrived
    }

    /// Ends the group; scoreboards of groups that are done, with the times, go to `complete`.
    pub(crate) fn end(&mut self, scoreboard: Option<u8>, now: u64, complete: impl FnMut(u8, u64)) {
        let group = std::mem::take(&mut self.current);
        self.ended.push(Group { scoreboard, time: group.time.max(now), ..group });
        self.settle(complete);
    }

    /// Copy `number`, whose time was not known, is done at `time`; the arrivals that waited for it last.
    pub(crate) fn complete(&mut self, number: u32, time: u64, complete: impl FnMut(u8, u64)) -> Arrivals {
        let place = number.wrapping_sub(self.passed) as usize;
        let Some(copy) = self.copies.get_mut(place) else { return Arrivals::new() };
        copy.time = Some(time);
        let group = self.ended.get_mut(copy.group as usize).unwrap_or(&mut self.current);
        group.open = group.open.saturating_sub(1);
        group.time = group.time.max(time);
        self.settle(complete);
        self.pass();
        self.arrived()
    }

    fn settle(&mut self, mut complete: impl FnMut(u8, u64)) {
        while let Some(group) = self.ended.get(self.done.len()).filter(|group| group.open == 0) {
            let time = group.time.max(self.done.last().copied().unwrap_or(0));
            if let Some(scoreboard) = group.scoreboard {
                complete(scoreboard, time);
            }
            self.done.push(time);
        }
    }

    /// Groups end at this scoreboard.
    pub(crate) fn uses(&self, scoreboard: u8) -> bool {
        self.ended.last().is_some_and(|group| group.scoreboard == Some(scoreboard))
    }

    /// When all groups but the last `left` are done; `None`: not known yet.
    pub(crate) fn done_but(&self, left: usize) -> Option<u64> {
        match self.ended.len().checked_sub(left + 1) {
            None => Some(0),
            Some(last) => self.done.get(last).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_done_in_order() {
        let mut copies = Copies::default();
        let mut released = Vec::new();
        let first = copies.next();
        copies.add(None);
        copies.end(Some(0), 10, |sb, time| released.push((sb, time)));
        copies.add(Some(50));
        copies.end(Some(0), 20, |sb, time| released.push((sb, time)));
        assert_eq!((copies.done_but(1), copies.done_but(2)), (None, Some(0)));
        assert!(released.is_empty(), "the first holds up the second");
        copies.complete(first, 90, |sb, time| released.push((sb, time)));
        assert_eq!(released, [(0, 90), (0, 90)]);
        assert_eq!((copies.done_but(1), copies.done_but(0)), (Some(90), Some(90)));
    }

    #[test]
    fn arrivals_wait_for_the_copies_before_them() {
        let mut copies = Copies::default();
        let phase = |number| PhaseName { home: 0, number };
        assert_eq!(copies.arrive(phase(0), 5), [(phase(0), 5)], "nothing to wait for");
        let first = copies.next();
        copies.add(None);
        let second = copies.next();
        copies.add(None);
        assert!(copies.arrive(phase(1), 10).is_empty());
        let third = copies.next();
        copies.add(None);
        assert!(copies.arrive(phase(2), 12).is_empty());
        assert!(copies.complete(second, 70, |_, _| ()).is_empty());
        assert!(copies.complete(third, 60, |_, _| ()).is_empty());
        assert_eq!(copies.complete(first, 50, |_, _| ()), [(phase(1), 70), (phase(2), 70)]);
        copies.add(None);
        assert!(copies.arrive(phase(3), 90).is_empty());
        assert_eq!(copies.left().collect::<Vec<_>>(), [phase(3)]);
    }
}
