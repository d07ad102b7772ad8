//! Work that Ctrl-C ends.

use crate::panics::caught;
use oriole::CancelToken;
use oriole_checkpoint::{Watch, with_watch};
use pyo3::prelude::*;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long Ctrl-C waits at most until it is looked at.
const POLL: Duration = Duration::from_millis(10);

/// Stack of the thread that works: as much as main threads have, since parsers descend into nested input.
const STACK_BYTES: usize = 8 << 20;

/// Does `work` on another thread, while this one lets other Python threads run and looks for what ends it. Where no thread is to
/// be had, this one does both.
///
/// # Errors
/// What a signal handler raised, such as `KeyboardInterrupt`, or `oriole_gpu._threads.check`: `work` has ended by then, through
/// `token`. Or `work` panicked.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    token: &CancelToken,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    // A thread that does not begin does not give it back.
    let work = Mutex::new(Some(work));
    let take = &|| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    std::thread::scope(|scope| {
        let (sender, mut receiver) = mpsc::channel();
        // Whoever does not listen any more has been told by a signal.
        let job = move || take().map_or((), |work| sender.send(caught(work)).unwrap_or(()));
        let worker = std::thread::Builder::new().name("oriole".to_owned()).stack_size(STACK_BYTES);
        let worker = {
            #[cfg(unix)]
            let _signals = crate::signals::NotForUs::new();
            worker.spawn_scoped(scope, job)
        };
        let Ok(worker) = worker else { return alone(py, token, take()) };
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

/// Does `work` on this thread, which looks for what ends it at the checkpoints in between.
fn alone<T: Send>(py: Python<'_>, token: &CancelToken, work: Option<impl FnOnce() -> T + Send>) -> PyResult<T> {
    let raised = Arc::new(Mutex::new(None));
    let watch: Watch = {
        let (token, raised, last) = (token.clone(), raised.clone(), Mutex::new(Instant::now()));
        Arc::new(move || {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.elapsed() >= POLL && !token.is_cancelled() {
                if let Err(error) = Python::attach(look_around) {
                    token.cancel();
                    *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
                *last = Instant::now();
            }
            // The token ends it.
            false
        })
    };
    let done = py.detach(|| caught(|| with_watch(Some(watch), || work.map(|work| work()))));
    if let Some(raised) = raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(raised);
    }
    match done {
        Ok(Some(done)) => Ok(done),
        Ok(None) => unreachable!("a thread that did not begin has not taken it"),
        Err(panicked) => Err(panicked.into_error(py)),
    }
}

/// Signals come to the main thread; the others are told by Python's half of the package.
fn look_around(py: Python<'_>) -> PyResult<()> {
    py.check_signals()?;
    py.import("oriole_gpu._threads")?.call_method0("check").map(drop)
}
