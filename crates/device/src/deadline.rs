//! How long a launch may take.

use crate::FaultKind;
use oriole_checkpoint::checkpoint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What engines do between two looks, in the steps of [`checkpoint`].
const STEPS: u32 = 256;

/// When a launch has to end: after so much time, or when its caller says so.
#[derive(Clone, Debug)]
pub struct Deadline {
    limit: Option<Duration>,
    cancelled: Option<Arc<AtomicBool>>,
    start: Instant,
}

impl Deadline {
    /// `limit` from now on, and as soon as `cancelled` is true; `None` where there is neither.
    pub fn new(limit: Option<Duration>, cancelled: Option<Arc<AtomicBool>>) -> Option<Deadline> {
        let ends = limit.is_some() || cancelled.is_some();
        ends.then(|| Deadline { limit, cancelled, start: Instant::now() })
    }

    /// The fault of a launch that is still running, if it has to end. This is a checkpoint of the caller's too.
    pub fn check(&self) -> Result<(), FaultKind> {
        checkpoint(STEPS);
        if self.cancelled.as_ref().is_some_and(|cancelled| cancelled.load(Ordering::Relaxed)) {
            return Err(FaultKind::Cancelled);
        }
        match self.limit.filter(|limit| self.start.elapsed() >= *limit) {
            Some(limit) => Err(FaultKind::TimeLimit(limit)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(limit: Duration) -> Deadline {
        Deadline::new(Some(limit), None).expect("there is a limit")
    }

    #[test]
    fn the_time_is_over_at_the_limit() {
        assert_eq!(after(Duration::from_secs(1 << 40)).check(), Ok(()));
        let fault = after(Duration::ZERO).check().expect_err("no time at all");
        assert_eq!(fault.to_string(), "time limit: the launch takes longer than 0 seconds");
    }

    #[test]
    fn a_caller_can_end_it() {
        let cancelled = Arc::new(AtomicBool::new(false));
        let deadline = Deadline::new(None, Some(cancelled.clone())).expect("it can be cancelled");
        assert_eq!(deadline.check(), Ok(()));
        cancelled.store(true, Ordering::Relaxed);
        assert_eq!(deadline.check(), Err(FaultKind::Cancelled));
        assert!(Deadline::new(None, None).is_none());
    }
}
