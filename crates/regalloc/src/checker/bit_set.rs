//! A set of small numbers, a bit each.

/// The numbers below a bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BitSet(Vec<u64>);

impl BitSet {
    /// Room for the numbers below `bound`; none is in it, or all are.
    pub(super) fn new(bound: usize, full: bool) -> Self {
        BitSet(vec![if full { u64::MAX } else { 0 }; bound.div_ceil(64)])
    }

    pub(super) fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    pub(super) fn remove(&mut self, number: usize) {
        self.0[number / 64] &= !(1 << (number % 64));
    }

    pub(super) fn contains(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    /// Keep what `other` has too; whether that took something away.
    pub(super) fn intersect(&mut self, other: &BitSet) -> bool {
        let mut changed = false;
        for (word, kept) in self.0.iter_mut().zip(&other.0) {
            changed |= *word & !kept != 0;
            *word &= kept;
        }
        changed
    }
}
