//! Races in global memory: between threads, blocks and clusters of one launch, and with launches that may run at the same time.
//!
//! Of each word the last write and the last reads are known, so that a race with an earlier read may be missed, and none is
//! made up.

use super::clock::{Clock, Foreign, Time, WarpClock, join_foreign};
use super::race::spread;
use super::streams::{PastLaunch, Unordered};
use crate::lanes::{Mask, WARP};
use oriole_device::Access as AccessKind;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Reads of one word that are kept.
const KEPT_READS: usize = 2;

/// An access to a word by one instruction of one warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GlobalEntry {
    /// Number of the cluster.
    pub(super) cluster: u64,
    /// Number of the warp in the cluster.
    pub(super) warp: u16,
    /// Which bytes of the word.
    pub(super) bytes: u8,
    /// What was done.
    pub(super) kind: AccessKind,
    /// Others may do such at the same time: an atomic, a volatile or relaxed access.
    pub(super) is_strong: bool,
    /// By which lanes.
    pub(super) lanes: Mask,
    /// When.
    pub(super) time: Time,
    /// Code address of the instruction.
    pub(super) pc: u64,
}

/// An access that another races with.
pub(super) struct Rival {
    /// The access.
    pub(super) entry: GlobalEntry,
    /// The launch that made it, if it is another.
    pub(super) launch: Option<Arc<PastLaunch>>,
}

/// What is known of one word.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// Writes and atomics; one that others have written parts of since has the rest.
    writes: SmallVec<[GlobalEntry; 1]>,
    reads: SmallVec<[GlobalEntry; KEPT_READS]>,
    /// What the last write left.
    value: u32,
}

/// What is known of global memory.
#[derive(Default)]
pub(super) struct GlobalRaces {
    cells: HashMap<u64, Cell>,
    /// What atomics have handed on at an address.
    handed_on: HashMap<u64, Arc<Foreign>>,
    /// Launches that may run at the same time.
    unordered: Unordered,
    /// What a thread knows that has waited for the launches in front of its own.
    waited: Arc<Foreign>,
}

/// The numbers of the words that `bytes` bytes from `address` on touch.
pub(super) fn words_within(address: u64, bytes: u64) -> Range<u64> {
    address / 4..address.saturating_add(bytes).div_ceil(4)
}

/// The name of another launch among the clusters.
fn as_cluster(launch: &PastLaunch) -> u64 {
    u64::MAX - launch.number
}

impl GlobalRaces {
    /// Nothing has been accessed but by launches that may run at the same time.
    pub(super) fn new(unordered: Unordered) -> Self {
        let own = unordered.launches[unordered.first_of_own..].iter();
        let waited = Arc::new(own.map(|past| (as_cluster(past), Arc::new(Clock::of_an_end()))).collect());
        GlobalRaces { unordered, waited, ..GlobalRaces::default() }
    }

    /// The accesses, by the number of the word.
    pub(super) fn into_cells(self) -> HashMap<u64, Cell> {
        self.cells
    }

    /// Notes an access to the word with this number by one lane of the running strand of `warp`. Returns the earlier access that it
    /// races with. `value` is what the word holds after it.
    pub(super) fn touch(&mut self, word: u64, new: GlobalEntry, value: u32, warp: &WarpClock) -> Option<Rival> {
        let cell = self.cells.entry(word).or_default();
        let is_same = |old: &GlobalEntry| (old.cluster, old.warp, old.time) == (new.cluster, new.warp, new.time);
        let with = cell.race(&new, value, |old| is_same(old) || is_before(old, &new, warp));
        cell.note(new, value, warp);
        let own = with.map(|entry| Rival { entry, launch: None });
        own.or_else(|| {
            let races = |past: &Arc<PastLaunch>| {
                let has_ended = warp.strand().clock.knows_foreign(as_cluster(past), 0, 1);
                let entry = past.cells.get(&word)?.race(&new, value, |_| has_ended)?;
                Some(Rival { entry, launch: Some(past.clone()) })
            };
            self.unordered.launches.iter().find_map(races)
        })
    }

    /// The running strand of `warp` waits for the launches in front of its own: `griddepcontrol.wait`.
    pub(super) fn wait_for_launches(&self, warp: &mut WarpClock) {
        if !self.waited.is_empty() {
            warp.learn_foreign(&self.waited);
        }
    }

    /// What was done to `bytes` bytes from `address` on is of the past: they have been given to someone else.
    pub(super) fn forget(&mut self, address: u64, bytes: u64) {
        let words = words_within(address, bytes);
        self.cells.retain(|word, _| !words.contains(word));
    }

    /// An atomic of the running strand of `warp` hands on what that knew at its last fence, and learns what others have handed
    /// on at the address.
    pub(super) fn hand_on(&mut self, address: u64, cluster: u64, warp: &mut WarpClock) {
        let given = warp.strand().released.as_ref().map(|released| released.of_all(cluster));
        if let Some(known) = self.handed_on.get(&address) {
            if let Some(own) = known.get(&cluster) {
                warp.learn(own);
            }
            warp.learn_foreign(known);
        }
        if let Some(given) = given {
            join_foreign(Arc::make_mut(self.handed_on.entry(address).or_default()), &given);
        }
    }
}

impl Cell {
    /// All accesses that are known.
    pub(super) fn entries(&self) -> impl Iterator<Item = &GlobalEntry> {
        self.writes.iter().chain(&self.reads)
    }

    /// The earlier access that `new` races with, of those that are not before it.
    fn race(&self, new: &GlobalEntry, value: u32, is_before: impl Fn(&GlobalEntry) -> bool) -> Option<GlobalEntry> {
        let conflicts = |old: &&GlobalEntry| {
            let shared = old.bytes & new.bytes;
            let writes_same = (old.kind, new.kind) == (AccessKind::Write, AccessKind::Write)
                && (value ^ self.value) & spread(shared) == 0;
            let both_strong = old.is_strong && new.is_strong;
            shared != 0 && !both_strong && !writes_same && !is_before(old)
        };
        let mut writes = self.writes.iter();
        if new.kind == AccessKind::Read {
            return writes.find(conflicts).copied();
        }
        writes.chain(&self.reads).find(conflicts).copied()
    }

    fn note(&mut self, new: GlobalEntry, value: u32, warp: &WarpClock) {
        let is_same = |old: &GlobalEntry| {
            let same = |e: &GlobalEntry| (e.cluster, e.warp, e.time, e.kind, e.is_strong, e.bytes);
            same(old) == same(&new)
        };
        let list = if new.kind == AccessKind::Read { self.reads.iter_mut() } else { self.writes.iter_mut() };
        if let Some(old) = list.into_iter().find(|old| is_same(old)) {
            old.lanes |= new.lanes;
        } else if new.kind == AccessKind::Read {
            self.reads.retain(|old| old.bytes & !new.bytes != 0 || !is_before(old, &new, warp));
            if self.reads.len() >= KEPT_READS {
                self.reads.remove(0);
            }
            self.reads.push(new);
        } else {
            // An atomic tells those that come after it nothing of a plain write before it.
            let covered = self.writes.iter_mut().filter(|old| old.is_strong || !new.is_strong);
            covered.chain(&mut self.reads).for_each(|old| old.bytes &= !new.bytes);
            self.writes.retain(|old| old.bytes != 0);
            self.reads.retain(|old| old.bytes != 0);
            self.writes.push(new);
        }
        if new.kind != AccessKind::Read {
            self.value = value;
        }
    }
}

/// Whether `old` has happened before `new`, which the running strand of `warp` does.
fn is_before(old: &GlobalEntry, new: &GlobalEntry, warp: &WarpClock) -> bool {
    let lane = old.lanes.trailing_zeros() as usize % WARP;
    let strand = warp.strand();
    let clock: &Clock = &strand.clock;
    let number = usize::from(old.warp) * WARP + lane;
    if old.cluster != new.cluster {
        return clock.knows_foreign(old.cluster, number, old.time);
    }
    let in_step = old.warp == new.warp && strand.lanes >> lane & 1 != 0;
    in_step || clock.knows(number, old.time, false)
}
