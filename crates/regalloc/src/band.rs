//! A bit for each two components whose numbers are near: those that the code names first in the same stretch.
//!
//! What is live at a time was mostly written not long ago, so that nearly all who meet are near each other, in a function
//! of any length. A row takes a few words, and meeting all that is live is an `or` of them.

use crate::heavy::ones_from;
use crate::node::{Component, Node};
use std::ops::Range;

/// Words of a row on either side of the component's own. Functions of so few components have a bit for every pair.
const REACH: usize = 16;

/// While meetings are found, a pair is in the row of one of the two; then [`Band::finish`] puts it into both.
#[derive(Debug)]
pub(crate) struct Band {
    /// Words of a set of all components.
    total: usize,
    /// Words of a row.
    width: usize,
    words: Vec<u64>,
}

impl Band {
    /// No pairs yet of so many components.
    pub(crate) fn new(components: usize) -> Self {
        let total = components.div_ceil(64);
        let width = total.min(2 * REACH + 1);
        Band { total, width, words: vec![0; components * width] }
    }

    /// Whether all are near each other.
    pub(crate) fn is_complete(&self) -> bool {
        self.total <= REACH + 1
    }

    /// The components that are near one.
    pub(crate) fn near(&self, component: Component) -> Range<Component> {
        let words = self.near_words(component);
        64 * words.start as Component..64 * words.end as Component
    }

    fn near_words(&self, component: Component) -> Range<usize> {
        let own = component as usize / 64;
        own.saturating_sub(REACH)..(own + REACH + 1).min(self.total)
    }

    /// The word of a set that a component's row begins with.
    fn base(&self, component: Component) -> usize {
        (component as usize / 64).saturating_sub(REACH).min(self.total - self.width)
    }

    fn row(&self, component: Component) -> &[u64] {
        &self.words[component as usize * self.width..][..self.width]
    }

    /// `component` meets those of `live`, a set of all components, that are near it, but not itself and not `source`.
    pub(crate) fn meet(&mut self, component: Component, source: Option<Component>, live: &[u64]) {
        let (base, near) = (self.base(component), self.near_words(component));
        let source = source.filter(|source| near.contains(&(*source as usize / 64)));
        // If it has met the source before, that stays.
        let new_source = source.filter(|source| *self.word(component, *source / 64) >> (source % 64) & 1 == 0);
        let row = &mut self.words[component as usize * self.width..][near.start - base..near.end - base];
        row.iter_mut().zip(&live[near]).for_each(|(row, live)| *row |= live);
        for other in new_source.into_iter().chain([component]) {
            *self.word(component, other / 64) &= !(1 << (other % 64));
        }
    }

    /// Word `column` of a set, in the row of a component that is near.
    fn word(&mut self, component: Component, column: Component) -> &mut u64 {
        let at = component as usize * self.width + column as usize - self.base(component);
        &mut self.words[at]
    }

    /// Put each pair into the rows of both, by squares of 64 rows and a word; components of one node, which follow each
    /// other, do not meet.
    pub(crate) fn finish(&mut self, owner: &[Node]) {
        for above in 0..self.total {
            for below in above..(above + REACH + 1).min(self.total) {
                let (upper, lower) = (self.square(above, below, owner.len()), self.square(below, above, owner.len()));
                if upper != [0; 64] || lower != [0; 64] {
                    self.add_square(below, above, owner.len(), transposed(upper));
                    self.add_square(above, below, owner.len(), transposed(lower));
                }
            }
        }
        for a in 0..owner.len() {
            for b in (a..owner.len()).take_while(|b| owner[a] == owner[*b]) {
                let (a, b) = (a as Component, b as Component);
                *self.word(a, b / 64) &= !(1 << (b % 64));
                *self.word(b, a / 64) &= !(1 << (a % 64));
            }
        }
    }

    /// The words at place `column` of the rows from `64 * band` on; zero beyond the last row.
    fn square(&self, band: usize, column: usize, rows: usize) -> [u64; 64] {
        let at = column - self.base(64 * band as Component);
        let word = |row: usize| if row < rows { self.words[row * self.width + at] } else { 0 };
        std::array::from_fn(|row| word(64 * band + row))
    }

    fn add_square(&mut self, band: usize, column: usize, rows: usize, square: [u64; 64]) {
        let at = column - self.base(64 * band as Component);
        for (row, bits) in (64 * band..rows).zip(square) {
            self.words[row * self.width + at] |= bits;
        }
    }

    /// Call `visit` for each that `component` meets, in order.
    pub(crate) fn for_each(&self, component: Component, visit: impl FnMut(Component)) {
        ones_from(self.base(component), self.row(component).iter().copied(), visit);
    }

    /// The same for those within a set of all components.
    pub(crate) fn for_each_within(&self, component: Component, set: &[u64], visit: impl FnMut(Component)) {
        let base = self.base(component);
        let words = self.row(component).iter().zip(&set[base..]);
        ones_from(base, words.map(|(met, within)| met & within), visit);
    }

    /// How many `component` meets.
    pub(crate) fn count(&self, component: Component) -> u32 {
        self.row(component).iter().map(|word| word.count_ones()).sum()
    }
}

/// Bit `i` of word `j` becomes bit `j` of word `i`: the two halves off the diagonal change places, then those of each
/// quarter, and so on.
pub(crate) fn transposed(mut square: [u64; 64]) -> [u64; 64] {
    let mut half = 32;
    let mut mask = u64::MAX >> 32;
    while half != 0 {
        for low in (0..64).filter(|word| word & half == 0) {
            let exchanged = (square[low] >> half ^ square[low + half]) & mask;
            square[low] ^= exchanged << half;
            square[low + half] ^= exchanged;
        }
        half /= 2;
        mask ^= mask << half;
    }
    square
}
