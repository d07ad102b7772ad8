//! How much the process has grown since a compilation began.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Time between two looks: one takes some ten microseconds.
const BETWEEN: Duration = Duration::from_millis(5);

/// A bound of the process's growth. The system is asked now and then, by whichever thread comes by; so all threads of the
/// process count, and what was free before and is taken again does not.
#[derive(Debug)]
pub(crate) struct Growth {
    limit: u64,
    /// Bytes that the process held at the start; `None` where the system does not say it.
    before: Option<u64>,
    start: Instant,
    /// Nanoseconds from the start to the next look, or [`EXCEEDED`]: a compilation that has found it once must not go on.
    next: AtomicU64,
}

/// There is no next look: the process was above the bound.
const EXCEEDED: u64 = u64::MAX;

impl Growth {
    /// From now on, so many bytes at most.
    pub(crate) fn new(limit: u64) -> Growth {
        Growth { limit, before: resident(), start: Instant::now(), next: AtomicU64::new(0) }
    }

    /// The bound, if the process was found above it, now or before.
    pub(crate) fn exceeded(&self) -> Option<u64> {
        let before = self.before?;
        let now = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(EXCEEDED - 1);
        let next = self.next.load(Relaxed);
        let later = now.saturating_add(BETWEEN.as_nanos() as u64);
        let is_mine = now >= next && self.next.compare_exchange(next, later, Relaxed, Relaxed).is_ok();
        if is_mine && resident()?.saturating_sub(before) > self.limit {
            self.next.store(EXCEEDED, Relaxed);
        }
        (self.next.load(Relaxed) == EXCEEDED).then_some(self.limit)
    }
}

/// Bytes of memory that the process holds, as Linux says it.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let size = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    size.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_process_takes_is_seen() {
        let growth = Growth::new(64 << 20);
        if growth.before.is_none() {
            println!("skipped: the system does not say what the process holds");
            return;
        }
        assert_eq!(growth.exceeded(), None);
        let taken = vec![1u8; 256 << 20];
        std::thread::sleep(2 * BETWEEN);
        assert_eq!(growth.exceeded(), Some(64 << 20));
        assert_eq!(taken.iter().rposition(|byte| *byte == 1), Some(taken.len() - 1));
        drop(taken);
        assert_eq!(growth.exceeded(), Some(64 << 20), "once is enough");
    }
}
