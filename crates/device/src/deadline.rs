//! How long a launch may take.

use crate::FaultKind;
use std::time::{Duration, Instant};

/// The moment at which a launch has taken too long.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    limit: Duration,
    start: Instant,
}

impl Deadline {
    /// `limit` from now on.
    pub fn after(limit: Duration) -> Deadline {
        Deadline { limit, start: Instant::now() }
    }

    /// The fault of a launch that is still running, if the time is over.
    pub fn check(&self) -> Result<(), FaultKind> {
        if self.start.elapsed() < self.limit { Ok(()) } else { Err(FaultKind::TimeLimit(self.limit)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_over_at_the_limit() {
        assert_eq!(Deadline::after(Duration::from_secs(1 << 40)).check(), Ok(()));
        let fault = Deadline::after(Duration::ZERO).check().expect_err("no time at all");
        assert_eq!(fault.to_string(), "time limit: the launch takes longer than 0 seconds");
    }
}
