//! What the caller of a compilation decides while it goes on: with how many threads, and whether it goes on at all.

use oriole_passes::Workers;

/// How one compilation is carried out. Its result does not depend on it.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Threads that work on functions.
    pub workers: &'a Workers,
    /// Asked now and then, by several threads at a time: the compilation ends soon after this is true.
    pub is_stopped: &'a (dyn Fn() -> bool + Sync),
}

static ALONE: Workers = Workers::alone();

impl Default for Control<'_> {
    /// On the caller's thread, to its end.
    fn default() -> Self {
        Control { workers: &ALONE, is_stopped: &|| false }
    }
}
