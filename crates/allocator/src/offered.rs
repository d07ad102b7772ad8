//! What any thread may take: lists of free blocks, and what threads that ended left of their chunks.

use crate::{ALIGNMENT, CLASSES, Class, Free};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// What is left of a chunk.
struct Rest {
    next: *mut Rest,
    /// From here on, a multiple of [`ALIGNMENT`].
    bytes: usize,
}

const _: () = assert!(size_of::<Rest>() <= ALIGNMENT);

/// The memory that is on offer.
pub(crate) struct Offered {
    is_busy: AtomicBool,
    lists: [AtomicPtr<Free>; CLASSES],
    rests: AtomicPtr<Rest>,
}

pub(crate) static OFFERED: Offered = Offered {
    is_busy: AtomicBool::new(false),
    lists: [const { AtomicPtr::new(ptr::null_mut()) }; CLASSES],
    rests: AtomicPtr::new(ptr::null_mut()),
};

impl Offered {
    /// With no other thread here; nothing where one is, as nobody need wait.
    fn alone<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        if self.is_busy.swap(true, Ordering::Acquire) {
            return None;
        }
        let result = work();
        self.is_busy.store(false, Ordering::Release);
        Some(result)
    }

    /// Whether the list that begins with this block, of the class of that number, could be put here.
    pub(crate) fn put(&self, first: *mut Free, class: usize) -> bool {
        let next = &self.lists[class];
        self.alone(|| {
            // SAFETY: the block is free and on the caller's list alone.
            unsafe { (&raw mut (*first).offered).write(next.load(Ordering::Relaxed)) };
            next.store(first, Ordering::Relaxed);
        })
        .is_some()
    }

    /// The same where nobody keeps what is not put here.
    pub(crate) fn put_for_certain(&self, first: *mut Free, class: usize) {
        while !self.put(first, class) {
            std::thread::yield_now();
        }
    }

    /// A list of this class, null where there is none or another thread is here.
    pub(crate) fn take(&self, class: Class) -> *mut Free {
        let next = &self.lists[class.number];
        // Most often there is none.
        if next.load(Ordering::Relaxed).is_null() {
            return ptr::null_mut();
        }
        self.alone(|| {
            let first = next.load(Ordering::Relaxed);
            if !first.is_null() {
                // SAFETY: what `put` put here is a free block, and no thread's.
                next.store(unsafe { (*first).offered }, Ordering::Relaxed);
            }
            first
        })
        .unwrap_or(ptr::null_mut())
    }

    /// Put what is left of a chunk here: `bytes` that are aligned, and nobody's.
    pub(crate) fn put_rest(&self, start: *mut u8, bytes: usize) {
        let rest: *mut Rest = start.cast();
        let put = || {
            // SAFETY: it has room for a `Rest` and is aligned for it (the assertion above), and is the caller's alone.
            unsafe { rest.write(Rest { next: self.rests.load(Ordering::Relaxed), bytes }) };
            self.rests.store(rest, Ordering::Relaxed);
        };
        while self.alone(put).is_none() {
            std::thread::yield_now();
        }
    }

    /// A rest with so many `bytes` at least and how many they are: the one that was put here last, or none.
    pub(crate) fn take_rest(&self, bytes: usize) -> Option<(*mut u8, usize)> {
        if self.rests.load(Ordering::Relaxed).is_null() {
            return None;
        }
        let taken = self.alone(|| {
            let first = self.rests.load(Ordering::Relaxed);
            // SAFETY: what `put_rest` put here is nobody's.
            let found = unsafe { first.as_ref() }.filter(|rest| rest.bytes >= bytes)?;
            let taken = (first.cast(), found.bytes);
            self.rests.store(found.next, Ordering::Relaxed);
            Some(taken)
        });
        taken.flatten()
    }
}
