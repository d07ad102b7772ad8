//! When a search ends.

use crate::commands::failure::{Failure, rejected};
use crate::commands::system;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time that there is, and whether someone wants an end.
pub(super) struct Clock {
    start: Instant,
    limit: Option<Duration>,
    interrupted: Arc<AtomicBool>,
}

impl Clock {
    /// From now on. The first SIGINT or SIGTERM ends the search, the second the process.
    pub(super) fn start(limit: Option<Duration>) -> Result<Clock, Failure> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM].into_iter().filter(|signal| !system::is_ignored(*signal)) {
            // In this order: the first signal finds the flag clear.
            flag::register_conditional_default(signal, interrupted.clone()).map_err(rejected)?;
            flag::register(signal, interrupted.clone()).map_err(rejected)?;
        }
        Ok(Clock { start: Instant::now(), limit, interrupted })
    }

    /// Since the start.
    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// How much of the time is left; `None` where there is no limit.
    pub(super) fn left(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_sub(self.elapsed()))
    }

    /// Whether nothing more is to begin.
    pub(super) fn is_over(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) || self.left().is_some_and(|left| left.is_zero())
    }

    /// Whether what is left to do at the end takes too long, too: a tenth of the time.
    pub(super) fn is_far_over(&self) -> bool {
        self.limit.is_some_and(|limit| self.elapsed() > limit + limit / 10)
    }

    /// Whether someone wanted an end.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}
