//! Units that are worked on at a time. What comes out does not depend on the number of threads: results are put together in
//! the order of the units.

use oriole_checkpoint::{current, with_watch};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::OnceLock;

/// Bytes of a worker's stack: as many as the first thread of a process has.
const STACK: usize = 8 << 20;

/// Threads that work at a time at most, whatever is asked for: more would only wait for each other.
pub const MOST_WORKERS: usize = 1024;

/// The threads of a compilation. They are its own, and end with it: a program that calls the compiler may fork at any time.
#[derive(Debug)]
pub struct Workers {
    threads: usize,
    /// None where the system gives no threads.
    pool: OnceLock<Option<ThreadPool>>,
}

impl Workers {
    /// The caller's own thread.
    pub const fn alone() -> Workers {
        Workers { threads: 1, pool: OnceLock::new() }
    }

    /// So many threads, [`MOST_WORKERS`] at most, which start when there is work for them; with 1, and where the system gives
    /// none, the caller's own does it.
    pub fn new(jobs: usize) -> Workers {
        Workers { threads: jobs.clamp(1, MOST_WORKERS), ..Workers::alone() }
    }

    /// How many threads are wanted.
    pub fn count(&self) -> usize {
        self.threads
    }

    fn pool(&self) -> Option<&ThreadPool> {
        let named = || ThreadPoolBuilder::new().thread_name(|_| "oriole-compile".to_owned());
        let start = || named().num_threads(self.threads).stack_size(STACK).build().ok();
        if self.threads > 1 { self.pool.get_or_init(start).as_ref() } else { None }
    }

    /// What `work` makes of each item, in the order of the items.
    pub fn each<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
        // Waking a thread takes longer than most of what it could do.
        let pool = if items.len() > 1 { self.pool() } else { None };
        let watch = current();
        let watched = |item| with_watch(watch.clone(), || work(item));
        match pool {
            Some(pool) => pool.install(|| items.into_par_iter().map(watched).collect()),
            None => items.into_iter().map(work).collect(),
        }
    }

    /// Give `take` what `work` makes of each item, in the order of the items: at once where there is one thread, so that
    /// little has to be kept.
    ///
    /// # Errors
    /// The first of `take`, which is not called again then.
    pub fn each_into<T: Send, R: Send, E>(
        &self,
        items: Vec<T>,
        work: impl Fn(T) -> R + Sync + Send,
        take: impl FnMut(R) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.threads {
            1 => items.into_iter().map(work).try_for_each(take),
            _ => self.each(items, work).into_iter().try_for_each(take),
        }
    }
}
