//! Who holds the columns of tensor memory (sm_100): the map of the SM, and the book that the driver opens in each block
//! whose kernel asks for it.
//!
//! What is in tensor memory is not simulated. Every block is alone on its SM, as far as its columns go.

use crate::mbarrier::Mbarrier;
use oriole_cubin::Function;
use oriole_cubin::nvinfo::{Value, number};
use oriole_isa::Arch;
use std::ops::Range;

/// Units of 32 columns that an SM has.
const UNITS: u32 = 16;
/// Code of the driver before a kernel's first instruction (`AT_ENTRY_FRAGMENTS`) that opens the book of one block
/// (`TMEM_CTA1_V2`), or of each of a pair (`TMEM_CTA2_V2`), as cuobjdump names them.
const FRAGMENTS: [[u8; 4]; 2] = [[6, 0, 0, 0], [7, 0, 0, 0]];
/// Bytes of the book, and the places in it of an mbarrier and of the phase of it that is waited for next. In the even block
/// of a pair that is the phase before the first, which is over.
const BOOK_BYTES: u64 = 0x20;
const MBARRIER: u32 = 8;
const PHASE: u32 = 16;

/// Whether the driver opens the book for this kernel.
pub(crate) fn has_book(function: &Function) -> bool {
    function.info.iter().any(|record| match &record.value {
        Value::Sized(bytes) => {
            let mut codes = bytes.chunks_exact(4);
            record.number == number::AT_ENTRY_FRAGMENTS && codes.any(|code| FRAGMENTS.iter().any(|known| known == code))
        }
        _ => false,
    })
}

/// Addresses of the book in a block's shared memory.
pub(crate) fn book(arch: Arch) -> Range<u64> {
    let book = u64::from(arch.sm().reserved_shared_begin);
    book..book + BOOK_BYTES
}

/// Opens the book in the shared memory of the block with this rank in its cluster.
pub(crate) fn open_book(shared: &mut [u32], rank: u32, arch: Arch) {
    let book = arch.sm().reserved_shared_begin;
    let mbarrier = Mbarrier::new(1).0;
    let words = [(MBARRIER, mbarrier as u32), (MBARRIER + 4, (mbarrier >> 32) as u32), (PHASE, 1 - rank % 2)];
    for (place, value) in words {
        if let Some(word) = shared.get_mut(((book + place) / 4) as usize) {
            *word = value;
        }
    }
}

/// The columns that are held on the SM of each block of a cluster, a bit for each unit.
#[derive(Debug, Default)]
pub(crate) struct Columns(Vec<u32>);

impl Columns {
    /// The map of the block with this rank.
    pub(crate) fn of(&mut self, rank: usize) -> &mut u32 {
        if self.0.len() <= rank {
            self.0.resize(rank + 1, 0);
        }
        &mut self.0[rank]
    }

    /// Takes so many neighbouring units, which are free in all of `ranks`: the first such place, a multiple of their
    /// number if `aligned`. Gives the first unit.
    pub(crate) fn take(&mut self, ranks: &[usize], units: u32, aligned: bool) -> Option<u32> {
        let held = ranks.iter().fold(0, |held, rank| held | *self.of(*rank));
        if !(1..=UNITS).contains(&units) {
            return None;
        }
        let wanted = (1u32 << units) - 1;
        let mut places = (0..=UNITS - units).step_by(if aligned { units as usize } else { 1 });
        let first = places.find(|first| held & wanted << first == 0)?;
        ranks.iter().for_each(|rank| *self.of(*rank) |= wanted << first);
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_taken_where_all_blocks_have_them_free() {
        let mut columns = Columns::default();
        assert_eq!(columns.take(&[1], 4, true), Some(0));
        assert_eq!(columns.take(&[0, 1], 2, true), Some(4));
        assert_eq!(columns.take(&[0], 4, true), Some(0));
        assert_eq!(columns.take(&[0], 16, true), None);
        *columns.of(1) &= !0b1111;
        assert_eq!(columns.take(&[1], 8, true), Some(8));
        assert_eq!(columns.take(&[1], 3, false), Some(0));
        assert_eq!((*columns.of(0), *columns.of(1)), (0b11_1111, 0xff37));
        assert_eq!(columns.take(&[0], 0, true), None);
        assert_eq!(columns.take(&[0], 17, false), None);
    }
}
