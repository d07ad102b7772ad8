//! Long work that can be ended at any moment.
//!
//! Loops that may take long call [`checkpoint`]; who starts the work says by [`watched`] who is asked whether it has to end. Then
//! the stack is unwound up to there, without a panic's message. What the work has changed is in no certain state afterwards, and is
//! to be dropped. Where panics do not unwind (`panic = "abort"`), checkpoints do nothing.
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// Says whether work has to end. It is asked from all threads of the work, and about ten thousand times a second.
pub type Watch = Arc<dyn Fn() -> bool + Send + Sync>;

/// The work was ended by its watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended;

/// Steps between two questions: some ten nanoseconds each, as a rule.
const BETWEEN: u32 = 4096;

thread_local! {
    static LEFT: Cell<u32> = const { Cell::new(BETWEEN) };
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// So many steps of work are done, or will be before the next call; a step takes some ten nanoseconds. Now and then the watch of
/// this thread is asked, and the work ends here if it says so.
#[inline]
pub fn checkpoint(steps: u32) {
    if cfg!(panic = "unwind") {
        LEFT.with(|left| match left.get().checked_sub(steps) {
            Some(rest) => left.set(rest),
            None => look(left),
        });
    }
}

#[cold]
fn look(left: &Cell<u32>) {
    left.set(BETWEEN);
    // What is dropped on the way out must not unwind again.
    if WATCH.with_borrow(|watch| watch.as_ref().is_some_and(|is_over| is_over())) && !std::thread::panicking() {
        resume_unwind(Box::new(Ended));
    }
}

/// Does `work` on this thread, and ends it when `watch` says so, or who was asked before.
///
/// # Errors
/// It was ended. Panics go on.
pub fn watched<T>(watch: Watch, work: impl FnOnce() -> T) -> Result<T, Ended> {
    let watch: Watch = match current() {
        Some(outer) => Arc::new(move || outer() || watch()),
        None => watch,
    };
    let caught = catch_unwind(AssertUnwindSafe(|| with_watch(Some(watch), work)));
    caught.map_err(|why| if why.is::<Ended>() { Ended } else { resume_unwind(why) })
}

/// Who is asked on this thread.
pub fn current() -> Option<Watch> {
    WATCH.with_borrow(Clone::clone)
}

/// Does a part of the work whose [`current`] watch this is. If it has to end, the caller is unwound as well, and has to take that
/// to the thread that has called [`watched`], as rayon does.
pub fn with_watch<T>(watch: Option<Watch>, work: impl FnOnce() -> T) -> T {
    /// Puts back what was there before.
    struct Before(Option<Watch>);
    impl Drop for Before {
        fn drop(&mut self) {
            WATCH.set(self.0.take());
        }
    }
    let _before = Before(WATCH.replace(watch));
    work()
}

/// Calls what belongs to somebody else, and is not to be unwound.
pub fn unwatched<T>(work: impl FnOnce() -> T) -> T {
    with_watch(None, work)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::thread;

    /// Says it when it is asked for that time.
    fn at(time: u32) -> (Watch, Arc<AtomicU32>) {
        let asked = Arc::new(AtomicU32::new(0));
        let count = asked.clone();
        (Arc::new(move || count.fetch_add(1, Relaxed) + 1 >= time), asked)
    }

    fn endless() {
        loop {
            checkpoint(1);
        }
    }

    #[test]
    fn work_ends_when_its_watch_says_so() {
        let (watch, asked) = at(3);
        assert_eq!(watched(watch, endless), Err(Ended));
        assert_eq!(asked.load(Relaxed), 3);
        assert!(current().is_none());
        assert_eq!(watched(at(1).0, || 7), Ok(7), "it was not asked");
        (0..10 * BETWEEN).for_each(|_| checkpoint(1));
    }

    #[test]
    fn one_within_another_ends_alone_and_with_it() {
        let inner = watched(at(u32::MAX).0, || watched(at(1).0, endless));
        assert_eq!(inner, Ok(Err(Ended)));
        let both = watched(at(3).0, || watched(at(u32::MAX).0, endless).map_err(|Ended| endless()));
        assert_eq!(both, Err(Ended));
        let counts = watched(at(1).0, || unwatched(|| (0..10 * BETWEEN).for_each(|_| checkpoint(1))));
        assert_eq!(counts, Ok(()));
    }

    #[test]
    fn threads_that_share_the_work_end_with_it() {
        let ended = watched(at(5).0, || {
            let watch = current();
            let joined = thread::scope(|scope| scope.spawn(|| with_watch(watch, endless)).join());
            joined.unwrap_or_else(|why| resume_unwind(why));
        });
        assert_eq!(ended, Err(Ended));
    }

    #[test]
    fn panics_are_not_taken_for_it() {
        let panicked = catch_unwind(|| watched(at(1).0, || resume_unwind(Box::new("a fault"))));
        assert_eq!(panicked.expect_err("it goes on").downcast_ref(), Some(&"a fault"));
        assert!(current().is_none());
    }

    /// Takes many steps when it is dropped.
    struct Long;

    impl Drop for Long {
        fn drop(&mut self) {
            (0..10 * BETWEEN).for_each(|_| checkpoint(1));
        }
    }

    #[test]
    fn what_is_dropped_on_the_way_out_goes_to_its_end() {
        let ended = watched(at(1).0, || {
            let _long = Long;
            endless();
        });
        assert_eq!(ended, Err(Ended));
    }
}
