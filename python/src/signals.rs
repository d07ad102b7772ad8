//! Signals are left to the host's own threads.
//!
//! A signal for the process is meant for Python's main thread, which the kernel wakes for it. But whichever thread sets its mask
//! of signals before that one runs takes the signal instead, and `pthread_create` sets it, in the thread that calls and in the new
//! one. Python's main thread does not notice then: it waits on in whatever call it is, as nothing has interrupted that.
#![expect(unsafe_code, reason = "masks of signals are the C library's")]

use std::mem::MaybeUninit;
use std::ptr;
use std::thread::sleep;
use std::time::Duration;

/// How often it is looked, a millisecond apart, whether a signal has come to its thread.
const PATIENCE: u32 = 50;

/// Signals that a thread causes itself.
const OWN: [libc::c_int; 7] =
    [libc::SIGABRT, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGSEGV, libc::SIGSYS, libc::SIGTRAP];

/// As long as it is there this thread takes no signals for the process, and threads that it starts never do.
pub(crate) struct NotForUs {
    before: libc::sigset_t,
}

impl NotForUs {
    pub(crate) fn new() -> NotForUs {
        let mut all = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: the first call writes to `all`, the last one to `before`. None fails: the numbers are those of signals.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            for signal in OWN {
                libc::sigdelset(all.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
            NotForUs { before: before.assume_init() }
        }
    }

    /// Whether there is one that this thread would take now, if it did not leave it to others.
    fn is_pending(&self) -> bool {
        let mut pending = MaybeUninit::uninit();
        // SAFETY: the first call writes to `pending`; the others read the sets and know the numbers.
        unsafe {
            libc::sigpending(pending.as_mut_ptr());
            let is_in = |set: *const libc::sigset_t, signal| libc::sigismember(set, signal) == 1;
            (1..32).any(|signal| is_in(pending.as_ptr(), signal) && !is_in(&raw const self.before, signal))
        }
    }
}

impl Drop for NotForUs {
    /// What has come meanwhile goes to its thread first. Where that is this one, it has to wait for some milliseconds.
    fn drop(&mut self) {
        for _ in 0..PATIENCE {
            if !self.is_pending() {
                break;
            }
            sleep(Duration::from_millis(1));
        }
        // SAFETY: the set is one that the C library has written.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut()) };
    }
}
