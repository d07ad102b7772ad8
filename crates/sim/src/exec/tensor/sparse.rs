//! The metadata of a sparse A: which columns its stored elements stand in.
//!
//! Four bits describe a chunk of a row, two of whose four columns are stored (or two of four pairs of
//! 4-bit elements; of 32-bit elements one of two): two indices of two bits each. Which thread holds the
//! bits of which chunk is described in the PTX manual under `mma.sp`; the layouts are also those of
//! CUTLASS (`ELayout`). In a group of four threads all of them, two or one hold metadata; the selector
//! says which.

use super::fragment::{Lines, ROWS};
use crate::state::State;

/// Where the metadata of a warp are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Metadata {
    /// The register.
    pub(super) register: usize,
    /// The selector: which threads of four give theirs.
    pub(super) selector: usize,
    /// Bits of an element of A.
    pub(super) bits: usize,
}

impl Metadata {
    /// The columns of `stored` elements of each row of A.
    pub(super) fn places(self, state: &State, stored: usize) -> Lines<u8> {
        let mut places = Lines::new(ROWS, stored);
        let per_chunk = match self.bits {
            32 => 1,
            4 => 4,
            _ => 2,
        };
        for row in 0..ROWS {
            for (chunk, elements) in places.line_mut(row).chunks_mut(per_chunk).enumerate() {
                let code = self.code(state, row, chunk, stored / per_chunk);
                let indices = [code & 3, code >> 2];
                for (n, place) in elements.iter_mut().enumerate() {
                    *place = match self.bits {
                        32 => 2 * chunk as u8 + (indices[0] >> 1),
                        4 => 8 * chunk as u8 + 2 * indices[n / 2 % 2] + n as u8 % 2,
                        _ => 4 * chunk as u8 + indices[n % 2],
                    };
                }
            }
        }
        places
    }

    /// The four bits of one of a row's `chunks`.
    fn code(self, state: &State, row: usize, chunk: usize, chunks: usize) -> u8 {
        let (group, upper) = (row % 8, row / 8);
        // A thread has four chunks of two rows, or eight chunks of one.
        let (thread, shift, threads) = match self.bits >= 16 {
            true => (chunk / 4, 16 * upper + 4 * (chunk % 4), chunks / 4),
            false => (upper + 2 * (chunk / 8), 4 * (chunk % 8), chunks / 4),
        };
        let lane = 4 * group + (self.selector % 4 * threads + thread) % 4;
        (state.lane(self.register, lane) >> shift & 15) as u8
    }
}
