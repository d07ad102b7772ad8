//! Happens-before: vector clocks of the threads of a cluster.
//!
//! Each warp has a time, one tick an instruction. Threads of a warp that run together (a *strand*) are in lock
//! step: each knows what the others have done. A strand that splits or joins others takes the knowledge along;
//! groups of the simulator join at `BSYNC` and `WARPSYNC` only, so joining is synchronisation.

use crate::lanes::{Mask, WARP, lanes_of};
use std::collections::BTreeMap;
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
    /// What of the first is before a fence between the proxies.
    fenced: Vec<Time>,
    /// What is known of the threads of other clusters, by the number of these.
    foreign: Option<Arc<Foreign>>,
}

/// Clocks of clusters by number; those have none of others.
pub(super) type Foreign = BTreeMap<u64, Arc<Clock>>;

/// Adds what `more` knows.
pub(super) fn join_foreign(known: &mut Foreign, more: &Foreign) {
    for (number, clock) in more {
        match known.get_mut(number) {
            Some(of) if Arc::ptr_eq(of, clock) => {}
            Some(of) => Arc::make_mut(of).join(clock),
            None => drop(known.insert(*number, clock.clone())),
        }
    }
}

impl Clock {
    /// Knows nothing of `lanes` lanes.
    fn new(lanes: usize) -> Self {
        Clock { threads: vec![0; lanes], copies: vec![0; lanes], fenced: vec![0; lanes], foreign: None }
    }

    /// What is known of a launch that has ended, which counts as one thread that has done one thing.
    pub(super) fn of_an_end() -> Self {
        Clock { threads: vec![1], ..Clock::default() }
    }

    /// Learns all that `other` knows.
    pub(super) fn join(&mut self, other: &Clock) {
        let vectors =
            [(&mut self.threads, &other.threads), (&mut self.copies, &other.copies), (&mut self.fenced, &other.fenced)];
        for (mine, theirs) in vectors {
            if mine.len() < theirs.len() {
                mine.resize(theirs.len(), 0);
            }
            mine.iter_mut().zip(theirs).for_each(|(mine, &theirs)| *mine = (*mine).max(theirs));
        }
        if let Some(foreign) = &other.foreign {
            self.learn_foreign(foreign);
        }
    }

    /// Whether it knows all that `other` knows.
    fn covers(&self, other: &Clock) -> bool {
        let vectors = [(&self.threads, &other.threads), (&self.copies, &other.copies), (&self.fenced, &other.fenced)];
        let known = |(mine, theirs): (&Vec<Time>, &Vec<Time>)| {
            let mut pairs = theirs.iter().enumerate();
            pairs.all(|(at, theirs)| mine.get(at).copied().unwrap_or(0) >= *theirs)
        };
        let same_foreign = match (&self.foreign, &other.foreign) {
            (_, None) => true,
            (Some(mine), Some(theirs)) => Arc::ptr_eq(mine, theirs),
            (None, Some(_)) => false,
        };
        same_foreign && vectors.into_iter().all(known)
    }

    /// Learns what is known of other clusters.
    pub(super) fn learn_foreign(&mut self, foreign: &Arc<Foreign>) {
        match &mut self.foreign {
            Some(known) if Arc::ptr_eq(known, foreign) => {}
            Some(known) => join_foreign(Arc::make_mut(known), foreign),
            None => self.foreign = Some(foreign.clone()),
        }
    }

    /// What it knows of all clusters, of which its own has this number.
    pub(super) fn of_all(&self, own: u64) -> Foreign {
        let mut all = self.foreign.as_deref().cloned().unwrap_or_default();
        let of_own = Clock { foreign: None, ..self.clone() };
        join_foreign(&mut all, &Foreign::from([(own, Arc::new(of_own))]));
        all
    }

    /// Whether what lane `lane` of another cluster did at `time` is known.
    pub(super) fn knows_foreign(&self, cluster: u64, lane: usize, time: Time) -> bool {
        self.foreign
            .as_ref()
            .and_then(|foreign| foreign.get(&cluster))
            .is_some_and(|clock| clock.knows(lane, time, false))
    }

    /// Whether what lane `lane` of the cluster did at `time` is before a fence between the proxies.
    pub(super) fn has_fenced(&self, lane: usize, time: Time) -> bool {
        self.fenced.get(lane).is_some_and(|&fenced| fenced >= time)
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
        if !Arc::ptr_eq(&strand.clock, clock) && !strand.clock.covers(clock) {
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

    /// A fence between the proxies: the asynchronous one sees all that the running strand knows.
    pub(super) fn fence_proxies(&mut self) {
        let mut clock = self.snapshot();
        clock.fenced.clone_from(&clock.threads);
        self.strand_mut().clock = Arc::new(clock);
    }

    /// The running strand learns what is known of other clusters.
    pub(super) fn learn_foreign(&mut self, foreign: &Arc<Foreign>) {
        Arc::make_mut(&mut self.strand_mut().clock).learn_foreign(foreign);
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
