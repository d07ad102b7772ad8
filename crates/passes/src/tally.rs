//! Counts of rewrites, and their limit.

use std::cell::Cell;

/// Rules of one pass, at most.
pub const MOST_RULES: usize = 48;

/// What the rules of a pass have done in one run, and whether they may go on. Counting is an addition in a small array.
#[derive(Debug)]
pub struct Tally {
    counts: [Cell<u32>; MOST_RULES],
    /// Rewrites that may still happen.
    left: Cell<u64>,
    last: Cell<Option<usize>>,
}

impl Default for Tally {
    /// Nothing done, no limit.
    fn default() -> Self {
        Tally { counts: [const { Cell::new(0) }; MOST_RULES], left: Cell::new(u64::MAX), last: Cell::new(None) }
    }
}

impl Tally {
    /// Begins a run in which so many rewrites may happen.
    pub fn start(&self, limit: u64) {
        self.counts.iter().for_each(|count| count.set(0));
        self.left.set(limit);
        self.last.set(None);
    }

    /// Whether another rewrite may happen. A pass that never asks is not limited by rewrites.
    pub fn is_open(&self) -> bool {
        self.left.get() > 0
    }

    /// A rewrite by the rule of that place in the pass's list has happened.
    pub fn count(&self, rule: usize) {
        self.add(rule, 1);
    }

    /// The same for several at once.
    pub fn add(&self, rule: usize, rewrites: u32) {
        if let Some(count) = self.counts.get(rule).filter(|_| rewrites > 0) {
            count.set(count.get().saturating_add(rewrites));
            self.left.set(self.left.get().saturating_sub(rewrites.into()));
            self.last.set(Some(rule));
        }
    }

    /// Rewrites by rule, of the first rules.
    pub fn counts(&self) -> impl Iterator<Item = u64> {
        self.counts.iter().map(|count| count.get().into())
    }

    /// The same with the rules' names, those that did something.
    pub fn by_rule(&self, rules: &[&'static str]) -> Vec<(&'static str, u64)> {
        rules.iter().copied().zip(self.counts()).filter(|(_, count)| *count > 0).collect()
    }

    /// All rewrites.
    pub fn all(&self) -> u64 {
        self.counts().sum()
    }

    /// The rule of the last rewrite.
    pub fn last(&self) -> Option<usize> {
        self.last.get()
    }
}
