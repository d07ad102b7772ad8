//! Signals: what the process does with them.

use libc::{c_int, sigaction, sighandler_t};
use std::mem::MaybeUninit;

/// A write beyond `ulimit -f` is an error from now on, as on a full disk; by default its signal ends the process. Programs that
/// this one starts have the default again: a handler, unlike a signal that is ignored, does not outlive `exec`.
pub(super) fn outlive_the_limit_of_file_sizes() {
    extern "C" fn nothing(_: c_int) {}
    // SAFETY: the handler does nothing, which it may at any time.
    unsafe { libc::signal(libc::SIGXFSZ, nothing as extern "C" fn(c_int) as sighandler_t) };
}

/// Whether the process was started with the signal ignored, as `nohup` does.
pub(super) fn is_ignored(signal: c_int) -> bool {
    let mut action = MaybeUninit::<sigaction>::zeroed();
    // SAFETY: without a new action the call only writes the present one, into a place of its type.
    let status = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: zeros are an action, and what the call wrote is one.
    status == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}
