//! The end of a thread, by the destructor of a key of the C library: it runs behind those of Rust's thread-local values,
//! which still take and free memory, and it needs no memory of ours.

use crate::LOCAL;
use libc::{c_void, pthread_key_t};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// No key is made yet.
const NONE: usize = usize::MAX;

static KEY: AtomicUsize = AtomicUsize::new(NONE);

/// See to it that what this thread has is offered when it ends. Whether that is so: without a key it is not.
#[cold]
pub(crate) fn watch() -> bool {
    let Some(key) = key() else { return false };
    // The destructor runs for a value that is not null; nobody reads it.
    let value = ptr::from_ref(&KEY).cast::<c_void>();
    // SAFETY: the key was made and is never deleted.
    unsafe { libc::pthread_setspecific(key, value) == 0 }
}

extern "C" fn end(_: *mut c_void) {
    LOCAL.with(super::Local::leave);
}

/// The key of all threads, made by the first that asks.
fn key() -> Option<pthread_key_t> {
    let known = KEY.load(Ordering::Acquire);
    if known != NONE {
        return pthread_key_t::try_from(known).ok();
    }
    let mut key: pthread_key_t = 0;
    // SAFETY: the place is ours, and the destructor may run on any thread: it has no state but the thread's own.
    if unsafe { libc::pthread_key_create(&mut key, Some(end)) } != 0 {
        return None;
    }
    match KEY.compare_exchange(NONE, key as usize, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(key),
        Err(first) => {
            // SAFETY: no thread has a value for it.
            unsafe { libc::pthread_key_delete(key) };
            pthread_key_t::try_from(first).ok()
        }
    }
}
