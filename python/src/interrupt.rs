//! Work that Ctrl-C ends.

use crate::panics::caught;
use oriole::CancelToken;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How long Ctrl-C waits at most until it is looked at.
const POLL: Duration = Duration::from_millis(50);

/// Stack of the thread that works: as much as main threads have, since parsers descend into nested input.
const STACK_BYTES: usize = 8 << 20;

/// Does `work` on another thread, while this one lets other Python threads run and looks for what ends it.
///
/// # Errors
/// What a signal handler raised, such as `KeyboardInterrupt`, or `oriole._threads.check`: `work` has ended by then, through
/// `token`. Or `work` panicked, or there is no thread to be had.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    token: &CancelToken,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    std::thread::scope(|scope| {
        let (sender, mut receiver) = mpsc::channel();
        // Whoever does not listen any more has been told by a signal.
        let job = move || sender.send(caught(work)).unwrap_or(());
        let worker = std::thread::Builder::new().name("oriole".to_owned()).stack_size(STACK_BYTES);
        let worker = {
            #[cfg(unix)]
            let _signals = crate::signals::NotForUs::new();
            worker.spawn_scoped(scope, job)
        };
        let worker =
            worker.map_err(|error| PyRuntimeError::new_err(format!("there is no thread to work on: {error}")))?;
        loop {
            // The receiver goes along and comes back, since it may be used by one thread alone.
            let (result, back) = py.detach(move || (receiver.recv_timeout(POLL), receiver));
            receiver = back;
            match result {
                Ok(done) => return done.map_err(|panicked| panicked.into_error(py)),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(raised) = look_around(py) {
                        token.cancel();
                        // What it has to say does not matter any more.
                        py.detach(|| worker.join().is_ok());
                        return Err(raised);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => unreachable!("it sends before it ends"),
            }
        }
    })
}

/// Signals come to the main thread; the others are told by Python's half of the package.
fn look_around(py: Python<'_>) -> PyResult<()> {
    py.check_signals()?;
    py.import("oriole._threads")?.call_method0("check").map(drop)
}
