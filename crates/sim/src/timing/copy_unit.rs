//! The unit of a multiprocessor that copies in bulk (TMA): copies one after the other, each in lines.

use oriole_isa::chip::{BulkCopies, LINE};

/// The unit.
#[derive(Clone, Debug)]
pub(crate) struct CopyUnit {
    /// Cycles from an instruction to its first line, beyond those of a load.
    latency: u64,
    /// Least cycles from one copy to the next.
    interval: u64,
    /// Cycles from one line to the next.
    line_interval: u64,
    /// When the next copy may begin.
    free: u64,
}

impl CopyUnit {
    /// An idle unit.
    pub(crate) fn new(copies: &BulkCopies) -> Self {
        CopyUnit {
            latency: copies.latency.into(),
            interval: copies.interval.into(),
            line_interval: LINE / u64::from(copies.bytes_per_cycle).clamp(1, LINE),
            free: 0,
        }
    }

    /// Takes a copy of `lines` lines that issues at `now`: the cycles in which it asks for each line, and that in which the
    /// last has left the unit.
    pub(crate) fn begin(&mut self, now: u64, lines: u64) -> (impl Fn(usize) -> u64, u64) {
        let begin = now.max(self.free);
        let (first, step) = (begin + self.latency, self.line_interval);
        self.free = begin + self.interval.max(lines * step);
        (move |line: usize| first + line as u64 * step, first + lines * step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_wait_for_the_lines_of_those_before() {
        let mut unit = CopyUnit::new(&BulkCopies { latency: 100, interval: 50, bytes_per_cycle: 64 });
        let mut begin = |now, lines| {
            let (line, end) = unit.begin(now, lines);
            (line(0), line(3), end)
        };
        assert_eq!(begin(10, 40), (110, 116, 190));
        assert_eq!(begin(20, 4), (190, 196, 198), "behind 40 lines of two cycles");
        assert_eq!(begin(20, 4), (240, 246, 248), "behind the least of a copy");
        assert_eq!(begin(1000, 4), (1100, 1106, 1108));
    }
}
