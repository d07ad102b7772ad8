//! Races in shared memory: two accesses to one byte by different threads, one of them a write, neither before the
//! other.

use super::clock::{Time, WarpClock};
use crate::lanes::{Mask, WARP};
use oriole_device::Access as AccessKind;
use smallvec::SmallVec;

/// Earlier accesses to a word by one instruction of one warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Number of the warp in the cluster.
    pub(super) warp: u16,
    /// Which bytes of the word.
    pub(super) bytes: u8,
    /// What was done.
    pub(super) kind: AccessKind,
    /// Done by an asynchronous copy.
    pub(super) is_copy: bool,
    /// By which lanes.
    pub(super) lanes: Mask,
    /// When.
    pub(super) time: Time,
    /// Code address of the instruction.
    pub(super) pc: u64,
}

/// What is known of one word of shared memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    entries: SmallVec<[Entry; 2]>,
    /// What the last write left.
    value: u32,
}

/// An access to a word by one lane.
pub(super) struct Touch {
    /// The access; one lane.
    pub(super) entry: Entry,
    /// What the word holds after the instruction, if that is known.
    pub(super) value: Option<u32>,
}

impl Cell {
    /// Notes an access of a lane of the running strand of `warp`. Returns the earlier access that it races with.
    pub(super) fn touch(&mut self, touch: &Touch, warp: &WarpClock) -> Option<Entry> {
        let new = touch.entry;
        let is_same = |old: &Entry| old.warp == new.warp && old.time == new.time && old.kind == new.kind;
        let with = self.entries.iter().find(|old| self.races(old, touch, warp)).copied();
        if let Some(old) = self.entries.iter_mut().find(|old| is_same(old) && old.bytes == new.bytes) {
            old.lanes |= new.lanes;
            return with;
        }
        self.entries.retain(|old| match (old.kind, new.kind) {
            _ if is_same(old) => true,
            // Who comes after the new access comes after these too.
            (AccessKind::Read, AccessKind::Read) | (AccessKind::Atomic, AccessKind::Atomic) => {
                old.bytes & !new.bytes != 0 || !is_before(old, &new, warp)
            }
            // An atomic tells those that come after it nothing of a write before it.
            (_, AccessKind::Read) | (AccessKind::Write, AccessKind::Atomic) => true,
            _ => {
                old.bytes &= !new.bytes;
                old.bytes != 0
            }
        });
        self.entries.push(new);
        if let (Some(value), AccessKind::Write | AccessKind::Atomic) = (touch.value, new.kind) {
            self.value = value;
        }
        with
    }

    /// A plain write of these bytes that comes before the running strand of `warp`, but before no fence between the proxies
    /// that does.
    pub(super) fn unfenced(&self, bytes: u8, warp: &WarpClock) -> Option<Entry> {
        let clock = &warp.strand().clock;
        let fenced = |old: &Entry| {
            let lane = old.lanes.trailing_zeros() as usize % WARP;
            clock.has_fenced(usize::from(old.warp) * WARP + lane, old.time)
        };
        let is_plain = |old: &&Entry| old.kind == AccessKind::Write && !old.is_copy && old.bytes & bytes != 0;
        self.entries.iter().filter(is_plain).find(|old| !fenced(old)).copied()
    }

    fn races(&self, old: &Entry, touch: &Touch, warp: &WarpClock) -> bool {
        let new = &touch.entry;
        let shared = old.bytes & new.bytes;
        let harmless = matches!(
            (old.kind, new.kind),
            (AccessKind::Read, AccessKind::Read) | (AccessKind::Atomic, AccessKind::Atomic)
        );
        if shared == 0 || harmless {
            return false;
        }
        if old.warp == new.warp && old.time == new.time {
            // Lanes of one instruction: the caller looks at what they write.
            return false;
        }
        let writes_same = (old.kind, new.kind) == (AccessKind::Write, AccessKind::Write)
            && touch.value.is_some_and(|value| (value ^ self.value) & spread(shared) == 0);
        !writes_same && !is_before(old, new, warp)
    }
}

/// Whether `old` has happened before `new`, which the running strand of `warp` does.
///
/// Lanes of one entry were in lock step, so that all are known once one is.
fn is_before(old: &Entry, new: &Entry, warp: &WarpClock) -> bool {
    let lane = old.lanes.trailing_zeros() as usize % WARP;
    let strand = warp.strand();
    let in_step = old.warp == new.warp && strand.lanes >> lane & 1 != 0 && !old.is_copy;
    in_step || strand.clock.knows(usize::from(old.warp) * WARP + lane, old.time, old.is_copy)
}

/// The bits of the bytes in a byte mask.
pub(super) fn spread(bytes: u8) -> u32 {
    (0..4).filter(|byte| bytes >> byte & 1 != 0).fold(0, |bits, byte| bits | 0xff << (8 * byte))
}
