//! What is said of a launch that takes long: that it is still running, and what ends it. A kernel that loops for ever looks like a
//! slow one.

use super::bounds;
use super::run_args::RunArgs;
use crate::console;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// After how many seconds a line is said where standard error is no terminal: early enough for a person who waits, and few lines
/// in a log of hours.
const TOLD_AFTER: [u64; 4] = [10, 60, 600, 3600];

/// How long a launch runs before a terminal shows it: most are over by then.
const SHOWN_AFTER: Duration = Duration::from_secs(2);

/// How often a terminal's line changes.
const TICK: Duration = Duration::from_millis(200);

/// Watches a launch until it is dropped.
pub(super) struct StillRunning {
    /// The launch is over when it is dropped.
    over: Option<Sender<()>>,
    watcher: Option<JoinHandle<()>>,
}

impl StillRunning {
    /// From now on, unless nothing is to be said.
    pub(super) fn watch(args: &RunArgs) -> StillRunning {
        if args.quiet {
            return StillRunning { over: None, watcher: None };
        }
        let advice = match bounds::timeout(args.timeout) {
            // What is wrong with the environment's the launch says.
            Ok(Some(_)) | Err(_) => "",
            Ok(None) => "; --timeout SECONDS ends a launch that never does",
        };
        let kernel = args.entry.clone();
        let (over, ended) = mpsc::channel();
        let waits = move |time: Duration| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
        let work = move || match std::io::stderr().is_terminal() {
            true => show(&kernel, advice, waits),
            false => tell(&kernel, advice, waits),
        };
        // Where no thread can be had, nothing is said.
        let watcher = thread::Builder::new().name("still running".to_owned()).spawn(work).ok();
        StillRunning { over: Some(over), watcher }
    }
}

impl Drop for StillRunning {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(watcher) = self.watcher.take() {
            // A watcher that failed has said too little, and the launch is over all the same.
            let _ = watcher.join();
        }
    }
}

/// A line that changes on a terminal, and goes with the launch. `waits` is true when the launch runs still after that time.
fn show(kernel: &str, advice: &str, waits: impl Fn(Duration) -> bool) {
    if !waits(SHOWN_AFTER) {
        return;
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_elapsed(SHOWN_AFTER);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(format!("{kernel} is still running{advice}"));
    bar.tick();
    while waits(TICK) {
        bar.tick();
    }
    bar.finish_and_clear();
}

/// Lines in a log.
fn tell(kernel: &str, advice: &str, waits: impl Fn(Duration) -> bool) {
    let start = Instant::now();
    for seconds in TOLD_AFTER {
        if !waits(Duration::from_secs(seconds).saturating_sub(start.elapsed())) {
            return;
        }
        console::say(format!("note: {kernel} is still running after {seconds} s{advice}"));
    }
    while waits(Duration::from_secs(TOLD_AFTER[TOLD_AFTER.len() - 1])) {
        console::say(format!("note: {kernel} is still running after {} s{advice}", start.elapsed().as_secs()));
    }
}
