//! Matrices in shared memory, as the descriptors of warpgroup instructions describe them.
//!
//! A matrix is made of pieces of 16 bytes. Where K is contiguous, a piece holds consecutive elements of a
//! line; where the other dimension is ("transposed", 16-bit elements only), it holds eight lines at
//! one k. The canonical layouts of the pieces are those of the PTX manual and of CUTLASS
//! (`mma_traits_sm90_gmma.hpp`): rows of one, two, four or eight pieces ("none", "32", "64" and "128 byte
//! swizzle"), eight rows to a block, and two strides between blocks.

use super::fragment::Lines;
use crate::effect::Env;
use crate::halt::Halt;
use crate::lanes::{Mask, WARP};
use crate::space::{Place, Words};
use oriole_device::Access;

/// Bytes of a piece.
const PIECE: u64 = 16;

/// A descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    start: u64,
    /// Bytes: between blocks along the contiguous dimension.
    leading: u64,
    /// Bytes: between blocks along the other.
    stride: u64,
    /// Which row of eight the pattern of the swizzle starts in.
    base: u64,
    /// Pieces in a row: 1, 2, 4 or 8.
    row: u64,
    /// Neighbouring pieces that a swizzle keeps together: 1 or 2.
    together: u64,
}

/// How the elements of a matrix lie in its pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Elements {
    /// Bits of one.
    pub(super) bits: usize,
    /// Elements of a piece, which may have room behind them.
    pub(super) each: usize,
    /// A piece holds several lines at one k.
    pub(super) transposed: bool,
}

impl Elements {
    /// Elements of `bits` bits that fill their pieces.
    pub(super) fn dense(bits: usize, transposed: bool) -> Self {
        Elements { bits, each: 8 * PIECE as usize / bits, transposed }
    }
}

impl Descriptor {
    /// The descriptor with these bits: start address, leading and stride byte offsets in units of 16 bytes in
    /// bits 0–13, 16–29 and 32–45, the base offset in bits 49–51, the swizzle in bits 62–63.
    pub(super) fn new(bits: u64) -> Self {
        let bytes = |from: u32| (bits >> from & 0x3fff) * PIECE;
        Descriptor {
            start: bytes(0),
            leading: bytes(16),
            stride: bytes(32),
            base: bits >> 49 & 7,
            row: [1, 8, 4, 2][(bits >> 62) as usize],
            together: 1,
        }
    }

    /// The same as `tcgen05` has it (PTX manual, "tcgen05 shared memory descriptor"): a constant 1 in bits 46-48, the mode of the
    /// leading dimension in bit 52, the swizzle in bits 61-63. Fails with what is wrong.
    pub(super) fn of_tensor_memory(bits: u64) -> Result<Self, String> {
        if bits >> 46 & 7 != 1 {
            return Err(format!("the matrix descriptor {bits:#x} has no 1 in bits 46 to 48"));
        }
        if bits >> 52 & 1 != 0 {
            return Err(format!(
                "the matrix descriptor {bits:#x} has an absolute leading dimension, which is not simulated"
            ));
        }
        let plain = Descriptor::new(bits);
        match bits >> 61 {
            1 => Ok(Descriptor { row: 8, together: 2, ..plain }),
            0 | 2 | 4 | 6 => Ok(plain),
            other => Err(format!("the matrix descriptor {bits:#x} has swizzle {other}, which is none")),
        }
    }

    /// The address of piece `piece` along K of line `line`.
    fn along_k(self, line: u64, piece: u64) -> u64 {
        let place = (line % 8) * self.row * PIECE + (line / 8) * self.stride;
        self.swizzled(place + (piece % self.row) * PIECE + (piece / self.row) * self.leading)
    }

    /// The address of the piece that has lines `8 group` to `8 group + 7` at `k`.
    fn across_k(self, group: u64, k: u64) -> u64 {
        // Without swizzle, the offsets change places.
        let (blocks, rows) = if self.row == 1 { (self.stride, self.leading) } else { (self.leading, self.stride) };
        let block = 8 / self.together;
        let place = (k % block) * self.row * PIECE + (k / block) * rows;
        self.swizzled(place + (group % self.row) * PIECE + (group / self.row) * blocks)
    }

    /// The address of a byte offset: the number of a piece in its row changes with the number of the row,
    /// which counts 128 bytes.
    fn swizzled(self, offset: u64) -> u64 {
        let address = self.start + offset;
        let row = (address >> 7).wrapping_sub(self.base) & (self.row / self.together - 1);
        address ^ (row * self.together * PIECE)
    }

    /// `count` lines from `first` on, each of `pieces` pieces, in the shared memory of a block of the cluster.
    pub(super) fn lines<T: Copy + Default>(
        self,
        env: &mut Env<'_>,
        rank: usize,
        (first, count): (usize, usize),
        pieces: usize,
        Elements { bits, each, transposed }: Elements,
        element: impl Fn(u32) -> T,
    ) -> Result<Lines<T>, Halt> {
        let mut matrix = Lines::new(count, pieces * each);
        let value = |words: Words, n: usize| {
            let (at, shift) = (n * bits / 32, n * bits % 32);
            // Elements of six bits may lie in two words.
            let upper = words.get(at + 1).copied().unwrap_or_default();
            let both = u64::from(words[at]) | u64::from(upper) << 32;
            element((both >> shift) as u32 & (u32::MAX >> (32 - bits)))
        };
        if transposed {
            // Where K is not contiguous, as many k as else fill the pieces.
            let (groups, depth) = (count.div_ceil(each), pieces * each);
            let address = |n: usize| self.across_k((first / each + n / depth) as u64, (n % depth) as u64);
            for (n, words) in read(env, rank, groups * depth, address)?.into_iter().enumerate() {
                let from = each * (n / depth);
                for line in from..(from + each).min(count) {
                    matrix.line_mut(line)[n % depth] = value(words, line - from);
                }
            }
        } else {
            let address = |n: usize| self.along_k((first + n / pieces) as u64, (n % pieces) as u64);
            for (n, words) in read(env, rank, count * pieces, address)?.into_iter().enumerate() {
                for at in 0..each {
                    matrix.line_mut(n / pieces)[n % pieces * each + at] = value(words, at);
                }
            }
        }
        Ok(matrix)
    }
}

/// Reads `count` pieces of shared memory; a fault is of the warp's first lane.
fn read(env: &mut Env<'_>, rank: usize, count: usize, address: impl Fn(usize) -> u64) -> Result<Vec<Words>, Halt> {
    let place = |n| Place::Cluster { rank, address: address(n) & 0xff_ffff };
    if env.log.is_some() {
        for first in (0..count).step_by(WARP) {
            let lanes = Mask::MAX >> (WARP - (count - first).min(WARP));
            let places = std::array::from_fn(|lane| place(first + lane));
            env.report(Access::Read, PIECE as u32, lanes, &places);
        }
    }
    let piece = |n| env.spaces.load(place(n), PIECE as u32, 0);
    (0..count).map(piece).collect::<Result<_, _>>().map_err(|kind| Halt::fault(0, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A descriptor from its fields.
    fn descriptor(start: u64, leading: u64, stride: u64, swizzle: u64) -> Descriptor {
        Descriptor::new(start >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | swizzle << 62)
    }

    #[test]
    fn pieces_of_a_block_without_swizzle_follow_each_other() {
        let plain = descriptor(0x400, 128, 256, 0);
        assert_eq!(plain.along_k(0, 0), 0x400);
        assert_eq!(plain.along_k(3, 0), 0x430);
        assert_eq!(plain.along_k(3, 1), 0x4b0, "the leading offset is to the next piece");
        assert_eq!(plain.along_k(9, 1), 0x400 + 256 + 16 + 128);
        assert_eq!(plain.across_k(1, 0), 0x500, "the stride offset is to the next eight lines");
        assert_eq!(plain.across_k(0, 9), 0x400 + 128 + 16);
    }

    #[test]
    fn a_swizzle_exchanges_pieces_of_a_row() {
        // Bits 4 to 6 of an address are combined with bits 7 to 9, as CUTLASS's Swizzle<3, 4, 3> does.
        let wide = descriptor(0x800, 16, 1024, 1);
        for (line, piece) in [(0, 0), (1, 0), (5, 1), (7, 7), (12, 3)] {
            let plain = 0x800 + line * 128 + piece * 16;
            assert_eq!(wide.along_k(line, piece), plain ^ (plain >> 3 & 0x70));
        }
        // A block of 32-byte rows has 256 bytes, whose two halves differ.
        let narrow = descriptor(0, 0, 256, 3);
        assert_eq!([0, 3, 4, 7].map(|line| narrow.along_k(line, 0)), [0, 96, 128 + 16, 224 + 16]);
    }
}
