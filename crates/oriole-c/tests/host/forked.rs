//! Calls in a child of `fork`. Only the thread that called it is there: nothing may wait for one that was.

use crate::calls::CALLS;
use std::panic::catch_unwind;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A child that has not ended by then hangs.
const LONGEST: Duration = Duration::from_secs(300);

pub(crate) fn calls_end_behind_a_fork() {
    in_child("nothing", all_calls);
    for (name, call) in CALLS {
        call();
        in_child(name, all_calls);
    }
}

pub(crate) fn all_calls() {
    CALLS.iter().for_each(|(_, call)| call());
}

/// Does the work in a child, which has to end, and without a panic.
pub(crate) fn in_child(behind: &str, work: fn()) {
    // SAFETY: this program has one thread when it forks; the child does what it may do in any process, and ends by `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no fork");
    if child == 0 {
        let status = if catch_unwind(work).is_ok() { 0 } else { 1 };
        // SAFETY: it ends the process.
        unsafe { libc::_exit(status) };
    }
    let (start, mut status) = (Instant::now(), 0);
    loop {
        // SAFETY: a number can be written there; the child is ours.
        let ended = unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) };
        if ended == child {
            break;
        }
        if start.elapsed() > LONGEST {
            // SAFETY: the child is ours, and was not waited for yet.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("behind {behind} the child hangs");
        }
        sleep(Duration::from_millis(2));
    }
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "behind {behind}: status {status:#x}");
}
