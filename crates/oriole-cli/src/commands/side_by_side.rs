//! Many pieces of work at a time. Where the system gives fewer threads than are wanted, work goes on with those that are there.

use super::failure::{Failure, rejected};
use oriole_passes::MOST_WORKERS;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a worker's stack: as many as the first thread of a process has, where one piece alone is worked on.
pub(crate) const STACK: usize = 8 << 20;

/// How the threads that were asked for are shared.
#[derive(Clone, Copy)]
pub(crate) struct Share {
    /// Pieces that are worked on at a time.
    pub(crate) at_a_time: usize,
    /// Threads for each.
    pub(crate) each: usize,
}

/// `jobs` threads, or as many as there are processors, for so many pieces.
pub(crate) fn share(jobs: Option<NonZeroUsize>, pieces: usize) -> Share {
    let jobs = jobs.map_or_else(processors, NonZeroUsize::get).min(MOST_WORKERS);
    let at_a_time = jobs.min(pieces).max(1);
    Share { at_a_time, each: jobs / at_a_time }
}

/// As many threads as work at a time on this machine.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// So many threads for rayon; where the system gives none, the caller's own.
///
/// # Errors
/// The caller's own is one of a pool already.
pub(crate) fn pool(threads: usize) -> Result<ThreadPool, Failure> {
    let pool = ThreadPoolBuilder::new().num_threads(threads.clamp(1, MOST_WORKERS)).stack_size(STACK).build();
    pool.or_else(|_| ThreadPoolBuilder::new().num_threads(1).use_current_thread().build()).map_err(rejected)
}

/// Work on all pieces, so many at a time: each thread takes the next that nobody has taken, the caller's own too. `work` gets a
/// piece's number too.
pub(crate) fn each<T: Sync>(pieces: &[T], at_a_time: usize, work: impl Fn(usize, &T) + Sync) {
    let next = AtomicUsize::new(0);
    let worker = || {
        while let Some((number, piece)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|number| Some((number, pieces.get(number)?)))
        {
            work(number, piece);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..at_a_time {
            if std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker).is_err() {
                break;
            }
        }
        worker();
    });
}
