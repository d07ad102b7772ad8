//! Where values are read for the last time, in one block after the other.

use crate::code::FileCode;
use crate::live_set::LiveSet;
use crate::node::Component;

/// What ends at the lines of a block.
pub(super) struct LastReads {
    live: LiveSet,
    /// What is read for the last time, and what is written for nobody, last line first.
    last: Vec<Component>,
    unread: Vec<Component>,
    /// By line, last one first: where each of these ends.
    ends: Vec<(usize, usize)>,
}

impl LastReads {
    /// For a file of so many components.
    pub(super) fn new(components: usize) -> Self {
        LastReads { live: LiveSet::new(components), last: Vec::new(), unread: Vec::new(), ends: Vec::new() }
    }

    /// The block at a place of the layout, at whose end `live_out` is live.
    pub(super) fn read(&mut self, lines: &FileCode, place: usize, live_out: impl Iterator<Item = Component>) {
        self.live.clear();
        self.last.clear();
        self.unread.clear();
        self.ends.clear();
        live_out.for_each(|part| self.live.insert(part, 0));
        for access in lines.lines_backwards(place) {
            let written = || access.writes.iter().flat_map(|write| write.components());
            self.unread.extend(written().filter(|part| !self.live.set.contains(*part)));
            if !access.line.partly {
                written().for_each(|part| self.live.remove(part, 0));
            }
            for part in access.reads.iter().flat_map(|read| read.components()) {
                if !self.live.set.contains(part) {
                    self.last.push(part);
                    self.live.insert(part, 0);
                }
            }
            self.ends.push((self.last.len(), self.unread.len()));
        }
    }

    /// What line `at` of the block reads for the last time, and what it writes for nobody.
    pub(super) fn of_line(&self, at: usize) -> (&[Component], &[Component]) {
        let from_end = self.ends.len() - 1 - at;
        let (last, unread) = from_end.checked_sub(1).map_or((0, 0), |behind| self.ends[behind]);
        let (last_end, unread_end) = self.ends[from_end];
        (&self.last[last..last_end], &self.unread[unread..unread_end])
    }
}
