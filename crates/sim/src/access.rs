//! The access log: what memory an instruction touches, for whoever judges or times it.
//!
//! Every instruction that goes to memory reports to [`Env::log`](crate::effect::Env::log), if there
//! is one, before it does anything. The log holds the accesses of one warp instruction:
//! [`Warp::step_one`](crate::warp::Warp::step_one) clears it before the instruction, and its caller
//! reads it afterwards.

use crate::lanes::{Mask, WARP, lanes_of};
use crate::space::Place;
use oriole_device::{Access as AccessKind, Space};

/// One access of a warp instruction to one space, by some of its lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// The space that the addresses are of. One generic instruction may go to several spaces and has
    /// an access for each.
    pub(crate) space: Space,
    /// What is done.
    pub(crate) kind: AccessKind,
    /// Bytes that each lane touches, from its address on; bulk copies have one lane and many bytes.
    pub(crate) bytes: u32,
    /// The lanes that do it.
    pub(crate) lanes: Mask,
    /// The address of each of these lanes in the space: of global memory the device address, of shared
    /// and local memory the offset from the window's start (where the block of the cluster is named, with
    /// its rank plus one in byte 3: see [`in_cluster`]), of a constant bank its number times
    /// 2<sup>32</sup> plus the offset. Other elements mean nothing.
    pub(crate) addresses: [u64; WARP],
}

/// The accesses of one warp instruction, in the order in which it makes them.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessLog {
    accesses: Vec<Access>,
    heap_events: Vec<HeapEvent>,
    phase_events: Vec<PhaseEvent>,
    absent: Vec<(usize, usize)>,
}

/// What an instruction does to a phase of an mbarrier, or learns of it; lanes that do the same are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PhaseEvent {
    /// Where the mbarrier is, as [`Access::addresses`] has it.
    pub(crate) address: u64,
    /// Which phase, as its lowest bit.
    pub(crate) phase: bool,
    /// What.
    pub(crate) kind: PhaseKind,
}

/// See [`PhaseEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhaseKind {
    /// The mbarrier is made, and its first phase begins.
    Start,
    /// Threads arrive, or bytes are expected.
    Arrive,
    /// Bytes of the instruction's copy have come.
    Copy,
    /// The phase is found to be over.
    Over,
    /// The phase is found not to be over, and the program goes on.
    Open,
}

/// A call of `malloc` or `free` by one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeapEvent {
    /// The lane.
    pub(crate) lane: usize,
    /// The block of the heap; null if `malloc` had none to give.
    pub(crate) address: u64,
    /// Bytes that `malloc` was asked for; `None`: the block is given back.
    pub(crate) size: Option<u64>,
}

impl AccessLog {
    /// Forgets the accesses of the instruction before.
    pub(crate) fn clear(&mut self) {
        self.accesses.clear();
        self.heap_events.clear();
        self.phase_events.clear();
        self.absent.clear();
    }

    /// The accesses since the log was cleared.
    #[allow(dead_code, reason = "for the timing model and the memory checks")]
    pub(crate) fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// The calls of `malloc` and `free` since the log was cleared.
    pub(crate) fn heap_events(&self) -> &[HeapEvent] {
        &self.heap_events
    }

    /// What happened to phases of mbarriers since the log was cleared.
    pub(crate) fn phase_events(&self) -> &[PhaseEvent] {
        &self.phase_events
    }

    /// Lanes that have read the value of a lane that does not execute the shuffle, and that lane.
    pub(crate) fn absent(&self) -> &[(usize, usize)] {
        &self.absent
    }

    /// Adds such a lane.
    pub(crate) fn push_absent(&mut self, lane: usize, source: usize) {
        self.absent.push((lane, source));
    }

    /// Adds what happens to a phase of the mbarrier at `place`.
    pub(crate) fn push_phase(&mut self, place: Place, phase: bool, kind: PhaseKind) {
        let event = PhaseEvent { address: located(place).1, phase, kind };
        if !self.phase_events.contains(&event) {
            self.phase_events.push(event);
        }
    }

    /// Adds a call of `malloc` or `free`.
    pub(crate) fn push_heap(&mut self, event: HeapEvent) {
        self.heap_events.push(event);
    }

    /// Adds an access whose addresses are all of one space. Without lanes there is none.
    pub(crate) fn push(&mut self, space: Space, kind: AccessKind, bytes: u32, lanes: Mask, addresses: [u64; WARP]) {
        if lanes != 0 {
            self.accesses.push(Access { space, kind, bytes, lanes, addresses });
        }
    }

    /// Adds an access of `lanes` to `places`, one entry for each space among them.
    pub(crate) fn push_places(&mut self, kind: AccessKind, bytes: u32, lanes: Mask, places: &[Place; WARP]) {
        for space in [Space::Global, Space::Shared, Space::Local, Space::Constant] {
            let (mut there, mut addresses) = (0, [0; WARP]);
            for lane in lanes_of(lanes) {
                let (of, address) = located(places[lane]);
                if of == space {
                    there |= 1 << lane;
                    addresses[lane] = address;
                }
            }
            self.push(space, kind, bytes, there, addresses);
        }
    }
}

/// Bits of an address in shared memory below the rank of the block in its cluster.
const RANK_SHIFT: u32 = 24;

/// The rank of the block whose shared memory `address` is in, as [`Access::addresses`] has it, and its offset there,
/// for an access by the block with rank `own`.
pub(crate) fn in_cluster(address: u64, own: usize) -> (usize, u64) {
    let rank = (address >> RANK_SHIFT).checked_sub(1).map_or(own, |rank| rank as usize);
    (rank, address & ((1 << RANK_SHIFT) - 1))
}

/// The space of a place, and its address as [`Access::addresses`] gives it.
fn located(place: Place) -> (Space, u64) {
    match place {
        Place::Global(address) => (Space::Global, address),
        Place::Shared(address) => (Space::Shared, address),
        Place::Cluster { rank, address } => (Space::Shared, (rank as u64 + 1) << RANK_SHIFT | address),
        Place::Local(address) => (Space::Local, address),
        Place::Constant { bank, offset } => (Space::Constant, (bank as u64) << 32 | offset as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generic_access_has_an_entry_for_each_space() {
        let mut places = [Place::Global(0x7_0000_0000); WARP];
        places[1] = Place::Shared(16);
        places[2] = Place::Constant { bank: 3, offset: 8 };
        places[4] = Place::Local(32);
        let mut log = AccessLog::default();
        log.push_places(AccessKind::Read, 4, 0b0111, &places);
        let entries: Vec<_> = log.accesses().iter().map(|access| (access.space, access.lanes)).collect();
        assert_eq!(entries, [(Space::Global, 0b001), (Space::Shared, 0b010), (Space::Constant, 0b100)]);
        let addresses: Vec<u64> = (0..3).map(|n| log.accesses()[n].addresses[n]).collect();
        assert_eq!(addresses, [0x7_0000_0000, 16, 0x3_0000_0008]);
        log.clear();
        log.push(Space::Shared, AccessKind::Write, 16, 0, [0; WARP]);
        assert!(log.accesses().is_empty(), "no lanes, no access");
    }
}
