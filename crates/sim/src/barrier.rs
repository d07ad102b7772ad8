//! The sixteen barriers of a block.

use crate::lanes::{Mask, WARP};

/// Barriers that a block has.
pub(crate) const BARRIERS: usize = 16;

/// How `BAR.RED` joins the predicates of the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    /// The number of threads where it is true.
    Count,
    /// True in all threads.
    And,
    /// True in any thread.
    Or,
}

/// What a completed `BAR.RED` leaves for `B2R.RESULT`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BarrierResult {
    /// The number of threads with a true predicate (0 or 1 for the logical reductions).
    pub(crate) value: u32,
    /// The logical result; of a count, whether it is not zero.
    pub(crate) truth: bool,
}

/// One barrier while threads arrive.
#[derive(Clone, Debug)]
struct Slot {
    /// Threads that have arrived, per warp.
    arrived: Vec<Mask>,
    /// Threads to wait for; `None`: all threads of the block that have not exited.
    expected: Option<u32>,
    reduction: Option<Reduction>,
    /// Threads that arrived with a true predicate, per warp.
    truths: Vec<Mask>,
}

/// One group's arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Number of the warp in the block.
    pub(crate) warp: usize,
    /// The threads that arrive.
    pub(crate) lanes: Mask,
    /// Threads to wait for in all; `None`: the whole block.
    pub(crate) expected: Option<u32>,
    /// `BAR.RED`: how to reduce, and where the predicate is true.
    pub(crate) reduction: Option<(Reduction, Mask)>,
}

/// All barriers of a block.
#[derive(Clone, Debug)]
pub(crate) struct Barriers {
    /// Threads that have not exited, per warp.
    pub(crate) live: Vec<Mask>,
    slots: Vec<Slot>,
    /// How many times each has been complete.
    generations: [u32; BARRIERS],
}

impl Barriers {
    /// Barriers of a block whose warps have these threads.
    pub(crate) fn new(live: Vec<Mask>) -> Self {
        let none = vec![0; live.len()];
        let slot = Slot { arrived: none.clone(), expected: None, reduction: None, truths: none };
        Barriers { live, slots: vec![slot; BARRIERS], generations: [0; BARRIERS] }
    }

    /// Threads arrive at barrier `id`. An error names the rule that they break.
    pub(crate) fn arrive(&mut self, id: u8, arrival: Arrival) -> Result<(), String> {
        let Some(slot) = self.slots.get_mut(usize::from(id)) else {
            return Err(format!("barrier {id} does not exist; a block has {BARRIERS}"));
        };
        let first = slot.arrived.iter().all(|&mask| mask == 0);
        if first {
            slot.expected = arrival.expected;
        } else if slot.expected != arrival.expected {
            let show = |count: Option<u32>| count.map_or("the whole block".to_owned(), |n| format!("{n} threads"));
            return Err(format!(
                "barrier {id} is used for {} and for {} at the same time",
                show(slot.expected),
                show(arrival.expected)
            ));
        }
        if slot.arrived[arrival.warp] & arrival.lanes != 0 {
            return Err(format!("threads arrive twice at barrier {id} before it is complete"));
        }
        slot.arrived[arrival.warp] |= arrival.lanes;
        if let Some((reduction, truth)) = arrival.reduction {
            slot.reduction = Some(reduction);
            slot.truths[arrival.warp] |= truth & arrival.lanes;
        }
        Ok(())
    }

    /// Completes a barrier that everyone has reached, if there is one: its number and the result of
    /// its reduction.
    pub(crate) fn complete(&mut self) -> Option<(u8, Option<BarrierResult>)> {
        let live = &self.live;
        let id = self.slots.iter().position(|slot| slot.is_complete(live))?;
        let slot = &mut self.slots[id];
        let result = slot.reduction.map(|reduction| slot.reduce(reduction));
        self.generations[id] = self.generations[id].wrapping_add(1);
        slot.arrived.fill(0);
        slot.truths.fill(0);
        slot.expected = None;
        slot.reduction = None;
        // There are 16 of them.
        Some((id as u8, result))
    }

    /// How many times barrier `id` has been complete.
    pub(crate) fn generation(&self, id: u8) -> u32 {
        self.generations[usize::from(id) % BARRIERS]
    }

    /// Threads that have arrived at barrier `id`, and those that it waits for, for messages.
    pub(crate) fn progress(&self, id: u8) -> (u32, Option<u32>) {
        let slot = &self.slots[usize::from(id) % BARRIERS];
        (slot.arrived.iter().map(|mask| mask.count_ones()).sum(), slot.expected)
    }
}

impl Slot {
    fn is_complete(&self, live: &[Mask]) -> bool {
        if self.arrived.iter().all(|&mask| mask == 0) {
            return false;
        }
        let all_of = |(&arrived, &live): (&Mask, &Mask)| live & !arrived == 0;
        match self.expected {
            None => self.arrived.iter().zip(live).all(all_of),
            Some(expected) => self.count(live) >= expected,
        }
    }

    /// Threads that count as arrived. Hardware counts warps: one whose living threads are all there
    /// counts in full.
    fn count(&self, live: &[Mask]) -> u32 {
        let of_warp = |(&arrived, &live): (&Mask, &Mask)| match arrived != 0 && live & !arrived == 0 {
            true => WARP as u32,
            false => arrived.count_ones(),
        };
        self.arrived.iter().zip(live).map(of_warp).sum()
    }

    fn reduce(&self, reduction: Reduction) -> BarrierResult {
        let count: u32 = self.truths.iter().map(|mask| mask.count_ones()).sum();
        let all = self.truths == self.arrived;
        match reduction {
            Reduction::Count => BarrierResult { value: count, truth: count > 0 },
            Reduction::And => BarrierResult { value: u32::from(all), truth: all },
            Reduction::Or => BarrierResult { value: u32::from(count > 0), truth: count > 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(barriers: &mut Barriers, warp: usize, lanes: Mask, expected: Option<u32>) {
        let arrival = Arrival { warp, lanes, expected, reduction: None };
        barriers.arrive(0, arrival).expect("a proper arrival");
    }

    #[test]
    fn the_whole_block_less_the_exited() {
        let mut barriers = Barriers::new(vec![Mask::MAX, 0xffff]);
        arrive(&mut barriers, 0, Mask::MAX, None);
        assert_eq!(barriers.complete(), None);
        arrive(&mut barriers, 1, 0xff, None);
        assert_eq!(barriers.complete(), None);
        barriers.live[1] = 0xff;
        assert_eq!(barriers.complete(), Some((0, None)));
        assert_eq!(barriers.complete(), None, "it starts anew");
    }

    #[test]
    fn counted_barriers_count_full_warps() {
        let mut barriers = Barriers::new(vec![Mask::MAX, 0xffff, Mask::MAX]);
        arrive(&mut barriers, 0, Mask::MAX, Some(64));
        assert_eq!(barriers.complete(), None);
        arrive(&mut barriers, 1, 0xffff, Some(64));
        assert_eq!(barriers.complete(), Some((0, None)));
    }

    #[test]
    fn reductions() {
        for (reduction, value, truth) in
            [(Reduction::Count, 33, true), (Reduction::And, 0, false), (Reduction::Or, 1, true)]
        {
            let mut barriers = Barriers::new(vec![Mask::MAX, Mask::MAX]);
            for (warp, truths) in [(0, 1), (1, Mask::MAX)] {
                let reduction = Some((reduction, truths));
                let arrival = Arrival { warp, lanes: Mask::MAX, expected: None, reduction };
                barriers.arrive(3, arrival).expect("a proper arrival");
            }
            assert_eq!(barriers.complete(), Some((3, Some(BarrierResult { value, truth }))));
        }
    }

    #[test]
    fn broken_rules_are_named() {
        let mut barriers = Barriers::new(vec![Mask::MAX]);
        arrive(&mut barriers, 0, 1, Some(32));
        let again = |expected, lanes| Arrival { warp: 0, lanes, expected, reduction: None };
        assert!(barriers.arrive(0, again(None, 2)).expect_err("mixed").contains("at the same time"));
        assert!(barriers.arrive(0, again(Some(32), 1)).expect_err("twice").contains("twice"));
        assert!(barriers.arrive(16, again(None, 2)).expect_err("too high").contains("does not exist"));
    }
}
