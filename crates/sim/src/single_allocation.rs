//! Accesses whose lanes all lie in one piece of memory: the block's shared memory, or one allocation of
//! global memory.
//!
//! Nearly all are like that. They are done here in one loop without a search for each lane; what they
//! do not cover, faults above all, is left to the accesses lane by lane in [`crate::space`], which may
//! follow a part that was done here because both do the same.

use crate::lanes::{Lanes, Mask, WARP, WideLanes, lanes_of};
use crate::space::{Place, Spaces};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Where the addresses of an access lead if all lead into the piece that its first one does.
struct Span {
    /// The address, as the instruction gives it, of the piece's first byte.
    base: u64,
    /// Bytes of the piece, less those of one lane's access: the highest offset that is inside.
    highest: u64,
    /// Bits that an address must not have.
    misaligned: u64,
}

impl Span {
    /// A piece of `size` bytes for accesses of `bytes`; `None` if it is smaller than that, or does not start with a
    /// word.
    fn new(base: u64, size: u64, bytes: u32) -> Option<Span> {
        let highest = size.checked_sub(u64::from(bytes))?;
        base.is_multiple_of(4).then_some(Span { base, highest, misaligned: u64::from(bytes) - 1 })
    }

    /// Number of the word at `address`, if an access to it is inside and aligned.
    #[inline(always)]
    fn word(&self, address: u64) -> Option<usize> {
        let offset = address.wrapping_sub(self.base);
        (offset <= self.highest && address & self.misaligned == 0).then_some((offset / 4) as usize)
    }
}

impl Spaces<'_> {
    /// Loads `WORDS` words for each of `lanes` into registers. `finish` makes the value of a register
    /// from a word and the lane's address, for accesses of `bytes` less than a word. `false` if it could
    /// not be done for all lanes.
    #[inline(always)]
    pub(crate) fn load_piece<const WORDS: usize>(
        &self,
        first: (u64, Place),
        bytes: u32,
        (addresses, lanes): (&WideLanes, Mask),
        registers: &mut [Lanes; WORDS],
        finish: impl Fn(u32, u64) -> u32,
    ) -> bool {
        let (address, place) = first;
        match self.nearest(place) {
            Place::Shared(offset) => Span::new(address.wrapping_sub(offset), self.shared_size, bytes)
                .is_some_and(|span| gather(self.shared, &span, addresses, lanes, registers, |&word| word, finish)),
            Place::Global(_) => self.resources.memory.find(address).is_some_and(|allocation| {
                let value = |word: &AtomicU32| word.load(Relaxed);
                Span::new(allocation.base(), allocation.size(), bytes)
                    .is_some_and(|span| gather(allocation.words(), &span, addresses, lanes, registers, value, finish))
            }),
            Place::Cluster { .. } | Place::Local(_) | Place::Constant { .. } => false,
        }
    }

    /// Stores `WORDS` whole words for each of `lanes` from registers. `false` if it could not be done for
    /// all lanes.
    #[inline(always)]
    pub(crate) fn store_piece<const WORDS: usize>(
        &mut self,
        first: (u64, Place),
        (addresses, lanes): (&WideLanes, Mask),
        registers: &[Lanes; WORDS],
    ) -> bool {
        let (address, place) = first;
        let bytes = 4 * WORDS as u32;
        match self.nearest(place) {
            Place::Shared(offset) => {
                let span = Span::new(address.wrapping_sub(offset), self.shared_size, bytes);
                let words = &mut *self.shared;
                span.is_some_and(|span| {
                    each(lanes, |lane| {
                        let cells = words.get_mut(span.word(addresses[lane])?..)?.first_chunk_mut::<WORDS>()?;
                        *cells = registers.each_ref().map(|register| register[lane]);
                        Some(())
                    })
                })
            }
            Place::Global(_) => self.resources.memory.find(address).is_some_and(|allocation| {
                let span = Span::new(allocation.base(), allocation.size(), bytes);
                span.is_some_and(|span| {
                    each(lanes, |lane| {
                        let cells = allocation.words().get(span.word(addresses[lane])?..)?.first_chunk::<WORDS>()?;
                        for (cell, register) in cells.iter().zip(registers) {
                            cell.store(register[lane], Relaxed);
                        }
                        Some(())
                    })
                })
            }),
            Place::Cluster { .. } | Place::Local(_) | Place::Constant { .. } => false,
        }
    }
}

/// Loads the words at each lane's address.
#[inline(always)]
fn gather<T, const WORDS: usize>(
    words: &[T],
    span: &Span,
    addresses: &WideLanes,
    lanes: Mask,
    registers: &mut [Lanes; WORDS],
    value: impl Fn(&T) -> u32,
    finish: impl Fn(u32, u64) -> u32,
) -> bool {
    each(lanes, |lane| {
        let address = addresses[lane];
        let cells = words.get(span.word(address)?..)?.first_chunk::<WORDS>()?;
        for (register, cell) in registers.iter_mut().zip(cells) {
            register[lane] = finish(value(cell), address);
        }
        Some(())
    })
}

/// Does something for each of `lanes`, lowest first, until it fails.
#[inline(always)]
fn each(lanes: Mask, mut f: impl FnMut(usize) -> Option<()>) -> bool {
    match lanes {
        Mask::MAX => (0..WARP).all(|lane| f(lane).is_some()),
        _ => lanes_of(lanes).all(|lane| f(lane).is_some()),
    }
}
