//! What the accesses of one warp instruction cost: sectors of global memory after coalescing, wavefronts of
//! shared memory after bank conflicts.

use crate::access::{Access, AccessLog, PhaseKind, in_cluster};
use crate::lanes::{WARP, lanes_of};
use crate::timing::lines::{LOCAL_LINES, constant_part};
use oriole_device::{Access as AccessKind, Space};
use oriole_isa::Inst;
use oriole_isa::chip::{LINE, SECTOR};

/// Banks of shared memory, each four bytes wide.
const BANKS: usize = 32;
/// Bytes of a bank.
const BANK_BYTES: u64 = 4;
/// Bytes that shared memory moves for a part of a warp: of wide accesses each part, a half or a quarter of the
/// warp, goes by itself.
const WAVEFRONT_BYTES: u32 = 128;
/// Words of local memory that a thread may have, as a power of two.
const LOCAL_WORDS: u32 = 22;

/// What an instruction does with device memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// Nothing.
    #[default]
    None,
    /// It reads.
    Load,
    /// It writes.
    Store,
    /// It is an atomic operation.
    Atomic,
}

/// The memory accesses of one warp instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// What it does with global and local memory.
    pub(crate) transfer: Transfer,
    /// Lanes that meet at one address: what an atomic operation repeats.
    pub(crate) repeats: u8,
    /// Different addresses of constant memory.
    pub(crate) constants: u8,
    /// Cycles in which shared memory is busy with it; 0 if it does not go there.
    pub(crate) wavefronts: u16,
    /// Of those, the ones that bank conflicts add.
    pub(crate) conflicts: u16,
    /// Lines of global and local memory, or parts of constant banks ([`constant_part`]).
    pub(crate) lines: u32,
    /// It goes to shared memory of another block of the cluster.
    pub(crate) is_remote: bool,
    /// Of a copy in bulk: the ranks of the blocks in whose shared memory it writes.
    pub(crate) targets: u16,
}

/// Whose accesses they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    /// Number of the warp in the grid, which tells its local memory from others'.
    pub(crate) warp: u64,
    /// Rank of its block in the cluster.
    pub(crate) rank: usize,
}

/// A line number and the set of its sectors, as the trace keeps them.
pub(crate) fn line(number: u64, sectors: u8) -> u64 {
    number << 4 | u64::from(sectors)
}

/// The number of a line of the trace.
pub(crate) fn line_number(line: u64) -> u64 {
    line >> 4
}

/// The sectors of a line of the trace.
pub(crate) fn sectors(line: u64) -> u8 {
    (line & 15) as u8
}

/// The request of the accesses in `log`; adds its lines to `lines`.
pub(crate) fn of(log: &AccessLog, by: Owner, lines: &mut Vec<u64>) -> Request {
    let mut request = Request::default();
    let from = lines.len();
    for access in log.accesses() {
        match access.space {
            Space::Global => {
                request.transfer = transfer(access.kind);
                coalesce(access, lines, from);
                request.repeats = request.repeats.max(repeats(access));
            }
            Space::Local => {
                request.transfer = transfer(access.kind);
                interleave(access, by.warp, lines, from);
            }
            Space::Shared => {
                let is_remote = |lane: usize| in_cluster(access.addresses[lane], by.rank).0 != by.rank;
                request.is_remote |= lanes_of(access.lanes).any(is_remote);
                let (wavefronts, least) = wavefronts(access);
                request.wavefronts = request.wavefronts.saturating_add(wavefronts);
                request.conflicts = request.conflicts.saturating_add(wavefronts - least);
            }
            Space::Constant => {
                request.constants = request.constants.max(distinct(access));
                lanes_of(access.lanes).for_each(|lane| add(lines, from, constant_part(access.addresses[lane]), 0));
            }
        }
    }
    request.lines = (lines.len() - from) as u32;
    request
}

/// The request of a copy in bulk; adds its lines to `lines`. The description of a tensor, which the unit reads first and
/// keeps, does not count.
pub(crate) fn of_copy(inst: &Inst, log: &AccessLog, by: Owner, lines: &mut Vec<u64>) -> Request {
    let mut request = Request::default();
    let from = lines.len();
    for access in log.accesses().iter().skip(usize::from(inst.opcode.tensor_copy().is_some())) {
        match access.space {
            Space::Global => {
                request.transfer = transfer(access.kind);
                coalesce(access, lines, from);
            }
            Space::Shared => {
                let (rank, bytes) = (in_cluster(access.addresses[first_of(access)], by.rank).0, access.bytes);
                request.is_remote |= rank != by.rank;
                if access.kind != AccessKind::Read {
                    request.targets |= 1 << (rank & 15);
                }
                request.wavefronts =
                    request.wavefronts.max(bytes.div_ceil(WAVEFRONT_BYTES).min(u16::MAX.into()) as u16);
            }
            Space::Local | Space::Constant => {}
        }
    }
    // A multicast reports the box once, and what it tells each mbarrier.
    for event in log.phase_events().iter().filter(|event| event.kind == PhaseKind::Copy) {
        request.targets |= 1 << (in_cluster(event.address, by.rank).0 & 15);
    }
    request.lines = (lines.len() - from) as u32;
    request
}

/// The lane of an access that one makes.
fn first_of(access: &Access) -> usize {
    access.lanes.trailing_zeros() as usize % WARP
}

fn transfer(kind: AccessKind) -> Transfer {
    match kind {
        AccessKind::Read => Transfer::Load,
        AccessKind::Write => Transfer::Store,
        AccessKind::Atomic => Transfer::Atomic,
    }
}

/// Adds sectors of a line to the lines from `from` on.
fn add(lines: &mut Vec<u64>, from: usize, number: u64, mask: u8) {
    match lines[from..].iter_mut().rev().find(|known| line_number(**known) == number) {
        Some(known) => *known |= u64::from(mask),
        None => lines.push(line(number, mask)),
    }
}

/// The sectors of an access to global memory.
fn coalesce(access: &Access, lines: &mut Vec<u64>, from: usize) {
    for lane in lanes_of(access.lanes) {
        let address = access.addresses[lane];
        let last = address.saturating_add(u64::from(access.bytes.max(1)) - 1);
        for sector in address / SECTOR..=last / SECTOR {
            let per_line = LINE / SECTOR;
            add(lines, from, sector / per_line, 1 << (sector % per_line));
        }
    }
}

/// The sectors of an access to local memory, where the same word of the 32 threads makes up a line.
fn interleave(access: &Access, warp: u64, lines: &mut Vec<u64>, from: usize) {
    for lane in lanes_of(access.lanes) {
        let first = access.addresses[lane] / BANK_BYTES;
        let last = (access.addresses[lane].saturating_add(u64::from(access.bytes.max(1)) - 1)) / BANK_BYTES;
        for word in first..=last {
            let number = LOCAL_LINES | (warp << LOCAL_WORDS | word & ((1 << LOCAL_WORDS) - 1)) & (LOCAL_LINES - 1);
            add(lines, from, number, 1 << (lane as u64 * BANK_BYTES / SECTOR));
        }
    }
}

/// The most lanes that name the same address.
fn repeats(access: &Access) -> u8 {
    if access.kind != AccessKind::Atomic {
        return 1;
    }
    let count = |lane: usize| lanes_of(access.lanes).filter(|&l| access.addresses[l] == access.addresses[lane]).count();
    lanes_of(access.lanes).map(count).max().unwrap_or(1) as u8
}

fn distinct(access: &Access) -> u8 {
    let is_first = |lane: &usize| {
        let same = |earlier: usize| access.addresses[earlier] == access.addresses[*lane];
        !lanes_of(access.lanes & ((1 << lane) - 1)).any(same)
    };
    lanes_of(access.lanes).filter(is_first).count() as u8
}

/// Cycles of shared memory for an access, and those that it would take without conflicts.
///
/// A part of the warp that moves 128 bytes goes by itself: half of it in accesses of 64 bits, a quarter in those
/// of 128. Two halves, or two quarters of a half, go together where neighbouring threads want the same address
/// (see [`is_paired`]). In each part a bank gives one word a cycle, to all lanes that want it. Atomic operations on
/// one word come one after the other.
fn wavefronts(access: &Access) -> (u16, u16) {
    let bytes = access.bytes.max(1);
    let lanes_of_part = (WAVEFRONT_BYTES / bytes.next_power_of_two()).clamp(1, WARP as u32) as usize;
    let lanes_together = if is_paired(access) { (2 * lanes_of_part).min(WARP) } else { lanes_of_part };
    let (mut total, mut parts) = (0, 0);
    for first in (0..WARP).step_by(lanes_together) {
        let part = (u32::MAX >> (WARP - lanes_together)) << first;
        let lanes = access.lanes & part;
        if lanes != 0 {
            // A lane of a bulk copy moves more than a wavefront.
            let least = bytes.div_ceil(WAVEFRONT_BYTES).min(u32::from(u16::MAX)) as u16;
            parts += least;
            total += if bytes > WAVEFRONT_BYTES { least } else { bank_cycles(access, lanes) };
        }
    }
    (total, parts)
}

/// Each thread has the address of the one next to it, or each that of the next but one (lane numbers that differ in
/// bit 0 or in bit 1), threads that do nothing apart: the rule that microbenchmarks on Turing and Ampere have
/// found for accesses of 64 and 128 bits.
fn is_paired(access: &Access) -> bool {
    let same = |bit: usize| {
        let agrees = |lane: usize| {
            access.lanes >> (lane ^ bit) & 1 == 0 || access.addresses[lane] == access.addresses[lane ^ bit]
        };
        lanes_of(access.lanes).all(agrees)
    };
    access.bytes > BANK_BYTES as u32 && (same(1) || same(2))
}

/// The most words that one bank has to give for these lanes.
fn bank_cycles(access: &Access, lanes: u32) -> u16 {
    // The words wanted of each bank as chains through `words`.
    let mut head = [u8::MAX; BANKS];
    let mut depth = [0u16; BANKS];
    let mut words = [(0u64, u8::MAX); BANKS + 1];
    let mut used = 0;
    for lane in lanes_of(lanes) {
        let first = access.addresses[lane] / BANK_BYTES;
        let last = (access.addresses[lane].saturating_add(u64::from(access.bytes.max(1)) - 1)) / BANK_BYTES;
        for word in first..=last {
            let bank = (word % BANKS as u64) as usize;
            let mut at = head[bank];
            while at != u8::MAX && words[usize::from(at)].0 != word {
                at = words[usize::from(at)].1;
            }
            if at == u8::MAX && used < words.len() {
                words[used] = (word, head[bank]);
                head[bank] = used as u8;
                used += 1;
            } else if access.kind != AccessKind::Atomic {
                continue;
            }
            depth[bank] += 1;
        }
    }
    depth.into_iter().max().unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Place;
    use oriole_isa::Arch;

    fn access(space: Space, kind: AccessKind, bytes: u32, address: impl Fn(u64) -> u64) -> Access {
        Access { space, kind, bytes, lanes: u32::MAX, addresses: std::array::from_fn(|lane| address(lane as u64)) }
    }

    fn shared(kind: AccessKind, bytes: u32, address: impl Fn(u64) -> u64) -> (u16, u16) {
        wavefronts(&access(Space::Shared, kind, bytes, address))
    }

    fn sectors_of(bytes: u32, address: impl Fn(u64) -> u64) -> (usize, u32) {
        let mut lines = Vec::new();
        coalesce(&access(Space::Global, AccessKind::Read, bytes, address), &mut lines, 0);
        (lines.len(), lines.iter().map(|&line| sectors(line).count_ones()).sum())
    }

    /// The cases of the CUDA programming guide's chapter on shared memory: stride one, two, three, broadcast;
    /// and the widths of 64 and 128 bits, which take two and four cycles.
    #[test]
    fn bank_conflicts() {
        let read = AccessKind::Read;
        assert_eq!(shared(read, 4, |lane| 4 * lane), (1, 1));
        assert_eq!(shared(read, 4, |lane| 8 * lane), (2, 1));
        assert_eq!(shared(read, 4, |lane| 12 * lane), (1, 1));
        assert_eq!(shared(read, 4, |_| 64), (1, 1));
        assert_eq!(shared(read, 4, |lane| 128 * lane), (32, 1));
        assert_eq!(shared(read, 4, |lane| 132 * lane), (1, 1));
        assert_eq!(shared(read, 1, |lane| lane), (1, 1));
        assert_eq!(shared(read, 8, |lane| 8 * lane), (2, 2));
        assert_eq!(shared(read, 16, |lane| 16 * lane), (4, 4));
        assert_eq!(shared(read, 16, |lane| 128 * lane), (32, 4));
        assert_eq!(shared(AccessKind::Atomic, 4, |_| 0), (32, 1));
        // Broadcasts of wide words: the two halves go together, the quarters of a half too.
        assert_eq!(shared(read, 8, |_| 64), (1, 1));
        assert_eq!(shared(read, 16, |_| 64), (2, 2));
        assert_eq!(shared(read, 16, |lane| 16 * (lane / 2)), (2, 2));
    }

    /// Sectors per request as the profiling guide counts them: 4 coalesced, 8 and 16 for two and four words, 32
    /// for a stride of a sector or more, 5 off by a word.
    #[test]
    fn coalescing() {
        assert_eq!(sectors_of(4, |lane| 4096 + 4 * lane), (1, 4));
        assert_eq!(sectors_of(8, |lane| 4096 + 8 * lane), (2, 8));
        assert_eq!(sectors_of(16, |lane| 4096 + 16 * lane), (4, 16));
        assert_eq!(sectors_of(4, |lane| 4096 + 8 * lane), (2, 8));
        assert_eq!(sectors_of(4, |lane| 4096 + 32 * lane), (8, 32));
        assert_eq!(sectors_of(4, |lane| 4096 + 4096 * lane), (32, 32));
        assert_eq!(sectors_of(4, |lane| 4100 + 4 * lane), (2, 5));
        assert_eq!(sectors_of(4, |_| 4096), (1, 1));
    }

    #[test]
    fn local_memory_is_interleaved() {
        let mut lines = Vec::new();
        interleave(&access(Space::Local, AccessKind::Write, 4, |_| 64), 3, &mut lines, 0);
        assert_eq!((lines.len(), sectors(lines[0])), (1, 15));
        interleave(&access(Space::Local, AccessKind::Write, 8, |_| 128), 3, &mut lines, 1);
        assert_eq!(lines.len(), 3);
    }

    /// A multicast of four rows of 128 bytes to both blocks: the map, here a parameter, is no traffic, and both count as targets though the
    /// box is reported once.
    #[test]
    fn tensor_copies_are_their_rows() {
        let inst = oriole_isa::parse("UTMALDG.2D.MULTICAST [UR36], [UR30], UR25", Arch::Sm90, &|_| None).expect("SASS");
        let mut log = AccessLog::default();
        let mut report = |space, kind, bytes, address| log.push(space, kind, bytes, 1, [address; WARP]);
        report(Space::Constant, AccessKind::Read, 128, 0x210);
        (0..4).for_each(|row| report(Space::Global, AccessKind::Read, 128, 0x10_0000 + 8192 * row));
        report(Space::Shared, AccessKind::Write, 512, 0x400);
        for rank in 0..2 {
            log.push_phase(Place::Cluster { rank, address: 0x40 }, false, PhaseKind::Copy);
        }
        let mut lines = Vec::new();
        let request = of_copy(&inst, &log, Owner { warp: 0, rank: 1 }, &mut lines);
        assert_eq!((request.transfer, request.lines, request.constants, request.targets), (Transfer::Load, 4, 0, 3));
        assert_eq!(line_number(lines[1]), (0x10_0000 + 8192) / LINE);
    }
}
