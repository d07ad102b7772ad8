//! Handles: numbers of tables. Nothing is ever read through one, so that a wrong one does no harm.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The next number. One sequence for all tables, so that a handle of one kind is never taken for another kind's. Odd ones
/// only: addresses of objects are even, and no wild pointer passes.
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// The objects of one kind that exist.
pub(crate) struct Handles<T>(Mutex<BTreeMap<usize, Arc<T>>>);

impl<T> Handles<T> {
    pub(crate) const fn new() -> Handles<T> {
        Handles(Mutex::new(BTreeMap::new()))
    }

    /// No call changes the table in more than one step, so it is whole even behind a panic.
    fn table(&self) -> MutexGuard<'_, BTreeMap<usize, Arc<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an object in; its number, which no other object ever gets.
    pub(crate) fn insert(&self, object: T) -> usize {
        let number = NEXT.fetch_add(2, Ordering::Relaxed);
        self.table().insert(number, Arc::new(object));
        number
    }

    /// The object of that number, which lives as long as the answer, even if it is removed meanwhile.
    pub(crate) fn get(&self, number: usize) -> Option<Arc<T>> {
        self.table().get(&number).cloned()
    }

    /// Takes an object out; whether it was there.
    pub(crate) fn remove(&self, number: usize) -> bool {
        // What it holds is released when the table is free again.
        let removed = self.table().remove(&number);
        removed.is_some()
    }
}

/// The lock of what one object holds. Each call changes it by whole values, so it is whole even behind a panic.
pub(crate) fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
