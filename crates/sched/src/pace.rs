//! How many other instructions go between two of a slow unit.
//!
//! While a unit is busy that takes an instruction only once in many cycles (double precision where there are two lanes of it),
//! all that is ready could issue at once, and would stand close together; behind it one instruction of the slow unit would
//! follow the other. Instructions come to a warp line by line at a rate of their own: the stretch without them then waits for its
//! next lines, which the other stretch would have had time to fetch. So no more of the others go between two of the slow unit than
//! there are on the average.

use crate::code::Op;

/// A unit is slow that takes an instruction only once in so many cycles.
const SLOW: u16 = 16;

/// What is left of a block, and what may issue while a slow unit is busy.
pub(crate) struct Pace {
    /// Instructions of slow units that are to come, and others.
    slow: usize,
    others: usize,
    /// So many others may still issue before `until`.
    quota: usize,
    until: u32,
}

fn is_slow(op: &Op) -> bool {
    op.demand.cycles >= SLOW
}

impl Pace {
    /// That of a block none of which has issued.
    pub(crate) fn new(ops: &[Op]) -> Pace {
        let slow = ops.iter().filter(|op| is_slow(op)).count();
        Pace { slow, others: ops.len() - slow, quota: 0, until: 0 }
    }

    /// Whether an instruction has to wait for its share. One whose result takes long never has to.
    pub(crate) fn holds(op: &Op) -> bool {
        !is_slow(op) && !op.variable
    }

    /// The time to which those that it holds are better put off, if they are.
    pub(crate) fn full_until(&self, clock: u32) -> Option<u32> {
        (self.quota == 0 && clock < self.until && self.slow > 0).then_some(self.until)
    }

    /// An instruction issues.
    pub(crate) fn issue(&mut self, op: &Op, clock: u32) {
        if is_slow(op) {
            self.slow -= 1;
            self.quota = self.others.div_ceil(self.slow.max(1));
            self.until = clock + u32::from(op.demand.cycles);
        } else {
            self.others -= 1;
            self.quota = self.quota.saturating_sub(1);
        }
    }
}
