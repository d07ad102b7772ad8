//! How much memory of the host a launch may take.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The host has no room for what a launch needs, or the launch needs more than it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutOfMemory {
    /// The system gives no more.
    #[error("out of memory: the host does not give {0} bytes more")]
    Host(
        /// Bytes that were asked for.
        u64,
    ),
    /// The launch's own bound.
    #[error("out of memory: the launch needs more than the {0} bytes that it may have")]
    Limit(
        /// The bound in bytes.
        u64,
    ),
}

/// What a launch has taken of the host's memory, and the most that it may. Shared by the threads of the launch.
///
/// What counts is what programs can make large: buffers and variables, the device heap, and of each block that is under way
/// registers, shared and local memory.
#[derive(Debug)]
pub struct Quota {
    limit: u64,
    taken: AtomicU64,
}

impl Quota {
    /// With a bound in bytes, or without one.
    pub fn new(limit: Option<u64>) -> Quota {
        Quota { limit: limit.unwrap_or(u64::MAX), taken: AtomicU64::new(0) }
    }

    /// Counts so many bytes, which the caller is about to take.
    ///
    /// # Errors
    /// There would be more than the bound; then nothing is counted.
    pub fn take(&self, bytes: u64) -> Result<(), OutOfMemory> {
        let within = |taken: u64| taken.checked_add(bytes).filter(|sum| *sum <= self.limit);
        match self.taken.fetch_update(Relaxed, Relaxed, within) {
            Ok(_) => Ok(()),
            Err(_) => Err(OutOfMemory::Limit(self.limit)),
        }
    }

    /// Takes back what was counted.
    pub fn give_back(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Relaxed);
    }

    /// The bound in bytes; `u64::MAX` where there is none.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes that count now.
    pub fn taken(&self) -> u64 {
        self.taken.load(Relaxed)
    }
}

/// So many zeros, counted.
///
/// # Errors
/// They are more than may be taken, or than the host has.
pub fn zeros<T: Clone + Default>(count: usize, quota: &Quota) -> Result<Vec<T>, OutOfMemory> {
    let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
    quota.take(bytes)?;
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(count).map_err(|_| OutOfMemory::Host(bytes))?;
    zeros.resize(count, T::default());
    Ok(zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_counted_than_may_be_taken() {
        let quota = Quota::new(Some(100));
        assert_eq!((quota.take(60), quota.take(41)), (Ok(()), Err(OutOfMemory::Limit(100))));
        assert_eq!((quota.taken(), quota.take(40)), (60, Ok(())));
        quota.give_back(70);
        assert_eq!((quota.taken(), quota.take(u64::MAX)), (30, Err(OutOfMemory::Limit(100))));
        assert_eq!(zeros::<u32>(17, &quota).map(|zeros| zeros.len()), Ok(17));
        assert_eq!(zeros::<u32>(1, &quota), Err(OutOfMemory::Limit(100)));
        let open = Quota::new(None);
        assert_eq!(zeros::<u64>(usize::MAX / 8, &open), Err(OutOfMemory::Host(u64::MAX / 8 * 8)));
    }
}
