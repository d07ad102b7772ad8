//! Many pieces of work at a time.

use super::failure::Failure;
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
    let processors = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let jobs = jobs.unwrap_or_else(processors).get();
    let at_a_time = jobs.min(pieces).max(1);
    Share { at_a_time, each: jobs / at_a_time }
}

/// Work on all pieces, so many at a time: each thread takes the next that nobody has taken. `work` gets a piece's number too.
pub(crate) fn each<T: Sync>(pieces: &[T], at_a_time: usize, work: impl Fn(usize, &T) + Sync) -> Result<(), Failure> {
    let next = AtomicUsize::new(0);
    let worker = || {
        while let Some((number, piece)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|number| Some((number, pieces.get(number)?)))
        {
            work(number, piece);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..at_a_time {
            let started = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker);
            started.map_err(|error| Failure::Rejected(format!("error: --jobs: {error}")))?;
        }
        Ok(())
    })
}
