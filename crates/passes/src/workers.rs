//! Units that are worked on at a time. What comes out does not depend on the number of threads: results are put together in
//! the order of the units.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// Bytes of a worker's stack: as many as the first thread of a process has.
const STACK: usize = 8 << 20;

/// The threads of a compilation.
#[derive(Debug)]
pub struct Workers(Option<ThreadPool>);

impl Workers {
    /// So many threads; with 1 the caller's own does the work.
    ///
    /// # Errors
    /// The system gives no threads.
    pub fn new(jobs: usize) -> Result<Workers, ThreadPoolBuildError> {
        if jobs <= 1 {
            return Ok(Workers(None));
        }
        let pool = ThreadPoolBuilder::new().num_threads(jobs).stack_size(STACK).build()?;
        Ok(Workers(Some(pool)))
    }

    /// What `work` makes of each item, in the order of the items.
    pub fn each<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
        match &self.0 {
            // Waking a thread takes longer than most of what it could do.
            Some(pool) if items.len() > 1 => pool.install(|| items.into_par_iter().map(work).collect()),
            _ => items.into_iter().map(work).collect(),
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
        match &self.0 {
            Some(_) => self.each(items, work).into_iter().try_for_each(take),
            None => items.into_iter().map(work).try_for_each(take),
        }
    }
}
