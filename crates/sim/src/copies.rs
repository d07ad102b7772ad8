//! Strict simulation of copies to shared memory (`LDGSTS`): they are there when somebody has waited for them.
//!
//! A copy belongs to the group that the next `LDGDEPBAR` of its warp ends, and is there when a wait for the scoreboard of that instruction
//! says so. Until then an access to its bytes is a fault; or, where registers that are read too early have their old values, memory has its
//! old contents. Copies that an mbarrier counts (`ARRIVES`) are taken to be there at once.

use crate::access::{AccessLog, in_cluster};
use crate::lanes::lanes_of;
use crate::space::Words;
use oriole_device::{Access, Space};

/// What one lane copies.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Number of the warp in its block.
    warp: u32,
    /// Code address of the instruction.
    pc: u64,
    /// The scoreboard that counts the group, and which of its settings the group is; `None` as long as the group is open.
    group: Option<(u8, u64)>,
    /// Offset in shared memory.
    address: u64,
    bytes: u32,
    words: Words,
}

/// Copies of a block that nobody has waited for.
#[derive(Debug)]
pub(crate) struct Copies {
    pieces: Vec<Piece>,
    /// They are written when they are waited for, rather than at once.
    late: bool,
    /// The warp at hand, and the code address of its instruction.
    at: (u32, u64),
}

impl Copies {
    /// None; `late`: memory keeps its old contents until a copy is waited for.
    pub(crate) fn new(late: bool) -> Self {
        Copies { pieces: Vec::new(), late, at: (0, 0) }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// A warp issues the instruction at a code address.
    pub(crate) fn issue(&mut self, warp: u32, pc: u64) {
        self.at = (warp, pc);
    }

    /// A lane of the warp at hand copies these bytes to an offset of shared memory. Whether they are written later.
    pub(crate) fn start(&mut self, address: u64, bytes: u32, words: Words) -> bool {
        let (warp, pc) = self.at;
        self.pieces.push(Piece { warp, pc, group: None, address, bytes, words });
        self.late
    }

    /// The warp at hand ends a group, which is this setting of a scoreboard; `None`: of no scoreboard.
    pub(crate) fn end_group(&mut self, setting: Option<(u8, u64)>) {
        // What nothing counts is never known to be there.
        let group = setting.unwrap_or((u8::MAX, u64::MAX));
        let warp = self.at.0;
        for piece in self.pieces.iter_mut().filter(|piece| piece.warp == warp && piece.group.is_none()) {
            piece.group = Some(group);
        }
    }

    /// The copies of the warp at hand come whose group `is_done`; shared memory gets what has not been written yet.
    pub(crate) fn come(&mut self, shared: &mut [u32], is_done: impl Fn(Option<(u8, u64)>) -> bool) {
        let (warp, late) = (self.at.0, self.late);
        self.pieces.retain(|piece| {
            let comes = piece.warp == warp && is_done(piece.group);
            if comes && late {
                write(shared, piece);
            }
            !comes
        });
    }

    /// The code address of a copy that is not known to be there and that an access of the warp at hand touches, and that access.
    pub(crate) fn touched(&self, log: &AccessLog, rank: usize) -> Option<(u64, Access)> {
        let shared = log.accesses().iter().filter(|access| access.space == Space::Shared);
        let mut touched = shared.flat_map(|access| {
            lanes_of(access.lanes).filter_map(move |lane| {
                let (of, start) = in_cluster(access.addresses[lane], rank);
                let end = start + u64::from(access.bytes);
                let meets = |piece: &&Piece| {
                    of == rank && piece.address < end && start < piece.address + u64::from(piece.bytes)
                };
                self.pieces.iter().find(meets).map(|piece| (piece.pc, access.kind))
            })
        });
        touched.next()
    }
}

fn write(shared: &mut [u32], piece: &Piece) {
    for (at, word) in (piece.address / 4..).zip(piece.words).take(piece.bytes as usize / 4) {
        if let Some(there) = shared.get_mut(at as usize) {
            *there = word;
        }
    }
}
