//! The 16 barriers of a block.
//!
//! Threads are counted. A warp whose living threads have all arrived counts as 32, whatever its size,
//! because the thread counts of `barrier` are multiples of the warp size; exited threads are not waited
//! for.

use crate::lanes::{WARP, lanes_of};
use crate::operand::{Destination, Source};
use crate::state::State;

/// Barriers of a block.
pub(crate) const BARRIERS: usize = 16;

/// One barrier.
#[derive(Clone, Debug, Default)]
struct Barrier {
    /// By warp: the threads that have arrived in this phase.
    arrived: Vec<u32>,
    /// Threads that it waits for; `None`: the whole block.
    expected: Option<u32>,
    /// By warp: the arrived threads whose predicate was true.
    votes: Vec<u32>,
}

/// All barriers of a block.
#[derive(Clone, Debug)]
pub(crate) struct Barriers {
    barriers: Vec<Barrier>,
}

/// What a completed barrier gives to `barrier.red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Threads that took part.
    pub(crate) threads: u32,
    /// Those whose predicate was true.
    pub(crate) votes: u32,
}

impl Barriers {
    /// Barriers of a block with this number of warps.
    pub(crate) fn new(warps: usize) -> Self {
        let barrier = Barrier { arrived: vec![0; warps], expected: None, votes: vec![0; warps] };
        Barriers { barriers: vec![barrier; BARRIERS] }
    }

    /// The threads `mask` of `warp` arrive at barrier `id`; those of `votes` with a true predicate. The
    /// error says which rule is broken.
    pub(crate) fn arrive(
        &mut self,
        id: usize,
        warp: usize,
        mask: u32,
        expected: Option<u32>,
        votes: u32,
    ) -> Result<(), String> {
        let count = self.barriers.len();
        let barrier = self.barriers.get_mut(id).ok_or(format!("barrier {id}: a block has {count}"))?;
        if let Some(threads) = expected.filter(|threads| *threads == 0 || !threads.is_multiple_of(WARP as u32)) {
            return Err(format!("barrier {id} for {threads} threads: not a positive multiple of {WARP}"));
        }
        if barrier.is_idle() {
            barrier.expected = expected;
        } else if barrier.expected != expected {
            let text = |n: Option<u32>| n.map_or("the whole block".to_owned(), |n| format!("{n} threads"));
            return Err(format!("barrier {id} waits for {}, now for {}", text(barrier.expected), text(expected)));
        }
        if barrier.arrived[warp] & mask != 0 {
            return Err(format!("barrier {id}: a thread arrives a second time before the barrier is complete"));
        }
        barrier.arrived[warp] |= mask;
        barrier.votes[warp] |= votes & mask;
        Ok(())
    }

    /// The next complete barrier, made ready for its next phase. `alive` holds each warp's living
    /// threads.
    pub(crate) fn complete(&mut self, alive: &[u32]) -> Option<(usize, Verdict)> {
        let id = self.barriers.iter().position(|barrier| barrier.is_complete(alive))?;
        let barrier = &mut self.barriers[id];
        let count = |masks: &[u32]| masks.iter().map(|mask| mask.count_ones()).sum();
        let verdict = Verdict { threads: count(&barrier.arrived), votes: count(&barrier.votes) };
        barrier.arrived.fill(0);
        barrier.votes.fill(0);
        barrier.expected = None;
        Some((id, verdict))
    }

    /// Threads that have arrived at barrier `id`, and how many it waits for.
    pub(crate) fn progress(&self, id: usize, alive: &[u32]) -> (u32, Option<u32>) {
        self.barriers.get(id).map_or((0, None), |barrier| (barrier.count(alive), barrier.expected))
    }
}

impl Barrier {
    fn is_idle(&self) -> bool {
        self.arrived.iter().all(|&mask| mask == 0)
    }

    fn count(&self, alive: &[u32]) -> u32 {
        let of_warp = |(&arrived, &alive): (&u32, &u32)| match arrived {
            0 => 0,
            _ if alive & !arrived == 0 => WARP as u32,
            _ => arrived.count_ones(),
        };
        self.arrived.iter().zip(alive).map(of_warp).sum()
    }

    fn is_complete(&self, alive: &[u32]) -> bool {
        if self.is_idle() {
            return false;
        }
        match self.expected {
            Some(threads) => self.count(alive) >= threads,
            None => self.arrived.iter().zip(alive).all(|(arrived, alive)| alive & !arrived == 0),
        }
    }
}

/// A barrier instruction.
pub(crate) struct BarrierOp {
    /// Which barrier.
    pub(crate) id: Source,
    /// For how many threads; all without one.
    pub(crate) threads: Option<Source>,
    /// What it does besides arriving.
    pub(crate) kind: BarrierKind,
}

/// What a barrier instruction does.
pub(crate) enum BarrierKind {
    /// `.arrive`: does not wait.
    Arrive,
    /// `.sync`: waits.
    Sync,
    /// `.red`: waits, and judges the predicates.
    Reduce {
        /// Of each thread.
        predicate: Source,
        /// Where the verdict goes.
        to: Destination,
        /// Makes it.
        judge: fn(Verdict) -> u32,
    },
}

impl BarrierOp {
    /// Writes the result for threads that have passed.
    pub(crate) fn deliver(&self, state: &mut State, mask: u32, verdict: Verdict) {
        if let BarrierKind::Reduce { to, judge, .. } = &self.kind {
            let result = u128::from(judge(verdict));
            lanes_of(mask).for_each(|lane| state.set(to, lane, result));
        }
    }
}
