//! Groups of copies to shared memory (`LDGSTS`), which end at an `LDGDEPBAR` and are done in order.

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
}

impl Copies {
    /// The number of the group that copies go to now.
    pub(crate) fn current(&self) -> u32 {
        self.ended.len() as u32
    }

    /// A copy that will be done at `time`, if that is known.
    pub(crate) fn add(&mut self, time: Option<u64>) {
        match time {
            Some(time) => self.current.time = self.current.time.max(time),
            None => self.current.open += 1,
        }
    }

    /// Ends the group; scoreboards of groups that are done, with the times, go to `complete`.
    pub(crate) fn end(&mut self, scoreboard: Option<u8>, now: u64, complete: impl FnMut(u8, u64)) {
        let group = std::mem::take(&mut self.current);
        self.ended.push(Group { scoreboard, time: group.time.max(now), ..group });
        self.settle(complete);
    }

    /// A copy of group `number` whose time was not known is done at `time`.
    pub(crate) fn complete(&mut self, number: u32, time: u64, complete: impl FnMut(u8, u64)) {
        let group = self.ended.get_mut(number as usize).unwrap_or(&mut self.current);
        group.open = group.open.saturating_sub(1);
        group.time = group.time.max(time);
        self.settle(complete);
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
        let first = copies.current();
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
}
