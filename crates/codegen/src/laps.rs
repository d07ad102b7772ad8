//! How long the stages of the back end take.

use std::time::{Duration, Instant};

/// What is done with a function behind the optimiser.
#[derive(Clone, Copy)]
pub(crate) enum Stage {
    /// What has no room, or would leave none, is computed again where it is read.
    Recompute,
    /// Instructions on virtual registers get an order.
    Order,
    /// Registers; with other orders where values went to memory or more warps might run.
    Allocate,
    /// Blocks get their places, and jumps go straight.
    Layout,
    /// Hardware instructions get their order and control words.
    Schedule,
    /// Words.
    Encode,
}

/// The name under which words are timed; sections are put together under it, too.
pub(crate) const ENCODING: &str = "encode";

impl Stage {
    /// The stages' names, in the order in which a function goes through them.
    pub(crate) const NAMES: [&str; 6] = ["recompute", "order", "allocate", "layout", "schedule", ENCODING];
}

/// By stage: how long it took.
pub(crate) type StageTimes = [Duration; Stage::NAMES.len()];

/// A clock that is read at the end of each stage.
pub(crate) struct Laps {
    since: Instant,
    pub(crate) times: StageTimes,
}

impl Laps {
    pub(crate) fn start() -> Self {
        Laps { since: Instant::now(), times: StageTimes::default() }
    }

    /// All since the last end, or the start, was `stage`.
    pub(crate) fn end(&mut self, stage: Stage) {
        let now = Instant::now();
        self.times[stage as usize] += now - std::mem::replace(&mut self.since, now);
    }
}
