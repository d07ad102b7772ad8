//! Work that Ctrl-C ends.

use oriole::CancelToken;
use pyo3::prelude::*;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How long Ctrl-C waits at most until it is looked at.
const POLL: Duration = Duration::from_millis(50);

/// Stack of the thread that works: as much as main threads have, since parsers descend into nested input.
const STACK_BYTES: usize = 8 << 20;

/// Does `work` on another thread, while this one lets other Python threads run and looks for signals.
///
/// # Errors
/// What a signal handler raised, such as `KeyboardInterrupt`: `work` has ended by then, through `token`. Or there is no
/// thread to be had.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    token: &CancelToken,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    std::thread::scope(|scope| {
        let (sender, mut receiver) = mpsc::channel();
        // Whoever does not listen any more has been told by a signal.
        let job = move || sender.send(work()).unwrap_or(());
        let worker = std::thread::Builder::new().name("oriole".to_owned()).stack_size(STACK_BYTES);
        let worker = worker.spawn_scoped(scope, job)?;
        loop {
            // The receiver goes along and comes back, since it may be used by one thread alone.
            let (result, back) = py.detach(move || (receiver.recv_timeout(POLL), receiver));
            receiver = back;
            match result {
                Ok(value) => return Ok(value),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(raised) = py.check_signals() {
                        token.cancel();
                        // What it has to say does not matter any more, nor whether it panics.
                        py.detach(|| worker.join().is_ok());
                        return Err(raised);
                    }
                }
                // It panicked: so does this thread, which becomes an exception.
                Err(RecvTimeoutError::Disconnected) => match worker.join() {
                    Ok(()) => unreachable!("it sends before it ends"),
                    Err(payload) => std::panic::resume_unwind(payload),
                },
            }
        }
    })
}
