//! Happens-before: vector clocks of the threads of a cluster.
//!
//! Each warp has a time, one tick an instruction. Threads of a warp that run together (a *strand*) are in lock
//! step: each knows what the others have done. A strand that splits or joins others takes the knowledge along;
//! groups of the simulator join at `BSYNC` and `WARPSYNC` only, so joining is synchronisation.

use crate::lanes::{Mask, WARP, lanes_of};
use std::sync::Arc;

/// A moment of a warp: its instructions so far.
pub(super) type Time = u32;

/// What a thread knows: for each warp lane of the cluster, up to when that has happened before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock {
    /// What the thread has done itself.
    threads: Vec<Time>,
    /// The asynchronous copies that it has started.
    copies: Vec<Time>,
}

impl Clock {
    /// Knows nothing of `lanes` lanes.
    fn new(lanes: usize) -> Self {
        Clock { threads: vec![0; lanes], copies: vec![0; lanes] }
    }

    /// Learns all that `other` knows.
    pub(super) fn join(&mut self, other: &Clock) {
        for (mine, theirs) in [(&mut self.threads, &other.threads), (&mut self.copies, &other.copies)] {
            if mine.len() < theirs.len() {
                mine.resize(theirs.len(), 0);
            }
            mine.iter_mut().zip(theirs).for_each(|(mine, &theirs)| *mine = (*mine).max(theirs));
        }
    }

    /// Whether what lane `lane` of the cluster did at `time` is known.
    pub(super) fn knows(&self, lane: usize, time: Time, is_copy: bool) -> bool {
        let known = if is_copy { &self.copies } else { &self.threads };
        known.get(lane).is_some_and(|&known| known >= time)
    }
}

/// Threads of a warp in lock step.
#[derive(Clone, Debug)]
pub(super) struct Strand {
    /// The threads.
    pub(super) lanes: Mask,
    /// What they know of others.
    pub(super) clock: Arc<Clock>,
    /// What they knew at their last fence: what their atomics hand on.
    pub(super) released: Option<Arc<Clock>>,
}

/// The barrier of a block, and which of its uses, or one of the cluster.
pub(super) type Meeting = (usize, u8, u32);

/// A warp's place in time.
#[derive(Clone, Debug)]
pub(super) struct WarpClock {
    /// Number of its first lane in the cluster.
    first: usize,
    /// Now.
    pub(super) time: Time,
    strands: Vec<Strand>,
    /// The strand that runs.
    current: usize,
    /// Groups of copies that have been closed: threads and moment.
    commits: Vec<(Mask, Time)>,
    /// Barriers that threads wait at.
    waiting: Vec<(Mask, Meeting)>,
    /// Arrivals at the barrier of the cluster, and waits.
    pub(super) cluster_uses: [u32; 2],
}

impl WarpClock {
    /// Warp number `warp` of a cluster of `warps`.
    pub(super) fn new(warp: usize, warps: usize) -> Self {
        let strand = Strand { lanes: Mask::MAX, clock: Arc::new(Clock::new(warps * WARP)), released: None };
        WarpClock {
            first: warp * WARP,
            time: 1,
            strands: vec![strand],
            current: 0,
            commits: Vec::new(),
            waiting: Vec::new(),
            cluster_uses: [0; 2],
        }
    }

    /// The strand that runs.
    pub(super) fn strand(&self) -> &Strand {
        &self.strands[self.current]
    }

    /// The strand that runs.
    pub(super) fn strand_mut(&mut self) -> &mut Strand {
        &mut self.strands[self.current]
    }

    /// What the running strand knows, all that its own threads have done included.
    pub(super) fn snapshot(&self) -> Clock {
        self.up_to_now(self.strand())
    }

    fn up_to_now(&self, strand: &Strand) -> Clock {
        let mut clock = (*strand.clock).clone();
        for lane in lanes_of(strand.lanes) {
            clock.threads[self.first + lane] = self.time;
        }
        clock
    }

    /// The running strand learns all that `clock` knows.
    pub(super) fn learn(&mut self, clock: &Arc<Clock>) {
        let strand = self.strand_mut();
        if !Arc::ptr_eq(&strand.clock, clock) {
            Arc::make_mut(&mut strand.clock).join(clock);
        }
    }

    /// Threads `group` execute the next instruction. Returns the barriers that they have waited at.
    pub(super) fn advance(&mut self, group: Mask) -> Vec<Meeting> {
        if self.strand().lanes != group {
            self.regroup(group);
        }
        self.time += 1;
        let mut met = Vec::new();
        self.waiting.retain_mut(|(lanes, meeting)| {
            if *lanes & group != 0 {
                met.push(*meeting);
            }
            *lanes &= !group;
            *lanes != 0
        });
        met
    }

    /// Makes `group` a strand: splits those that it is part of, joins its parts.
    fn regroup(&mut self, group: Mask) {
        let mut clock = Clock::default();
        let mut released = None;
        for at in 0..self.strands.len() {
            if self.strands[at].lanes & group == 0 {
                continue;
            }
            let known = Arc::new(self.up_to_now(&self.strands[at]));
            clock.join(&known);
            let strand = &mut self.strands[at];
            strand.lanes &= !group;
            strand.clock = known;
            released = released.or_else(|| strand.released.clone());
        }
        self.strands.retain(|strand| strand.lanes != 0);
        self.strands.push(Strand { lanes: group, clock: Arc::new(clock), released });
        self.current = self.strands.len() - 1;
    }

    /// Threads `lanes` wait at a barrier.
    pub(super) fn wait(&mut self, lanes: Mask, meeting: Meeting) {
        self.waiting.push((lanes, meeting));
    }

    /// `LDGDEPBAR`: closes a group of copies.
    pub(super) fn commit(&mut self, lanes: Mask) {
        self.commits.push((lanes, self.time));
    }

    /// All copies of `lanes` are there but those of the last `outstanding` groups.
    pub(super) fn copies_arrive(&mut self, lanes: Mask, outstanding: usize) {
        for lane in lanes_of(lanes) {
            let of_lane = self.commits.iter().rev().filter(|(mask, _)| mask >> lane & 1 != 0);
            if let Some(&(_, time)) = of_lane.clone().nth(outstanding) {
                self.copies_arrived(lane, time);
            }
        }
        // Groups older than any wait can leave outstanding.
        if self.commits.len() > 64 {
            self.commits.drain(..32);
        }
    }

    /// The copies that `lane` has started up to `time` are there.
    pub(super) fn copies_arrived(&mut self, lane: usize, time: Time) {
        let at = self.first + lane;
        let clock = Arc::make_mut(&mut self.strand_mut().clock);
        clock.copies[at] = clock.copies[at].max(time);
    }

    /// Knowledge that all copies of `lanes` up to now are there.
    pub(super) fn copies_of(&self, lanes: Mask) -> Clock {
        let mut clock = Clock::new(self.strand().clock.threads.len());
        for lane in lanes_of(lanes) {
            clock.copies[self.first + lane] = self.time;
        }
        clock
    }
}
