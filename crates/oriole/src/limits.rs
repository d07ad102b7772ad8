//! What a compilation may cost, and how it is ended early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How much one compilation may do; no limit where a field is `None`.
///
/// ```
/// # use std::time::Duration;
/// let mut limits = oriole::Limits::default();
/// limits.functions = Some(100);
/// limits.time = Some(Duration::from_secs(10));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Functions with a body that the module may have.
    pub functions: Option<usize>,
    /// Machine instructions that its functions may have together, looked at after lowering and after optimisation.
    pub instructions: Option<usize>,
    /// Time on the host. A compilation runs over it by some milliseconds; in programs whose panics do not unwind by one pass.
    pub time: Option<Duration>,
    /// Bytes by which the process may grow from the start of the compilation on, on Linux; elsewhere there is no bound. What
    /// other threads take counts, and what was free before and is taken again does not. It is looked at every
    /// five milliseconds, so that it may be more for a moment; where the system gives no more before that, the process ends.
    pub memory: Option<u64>,
}

impl Limits {
    pub(crate) fn inner(self) -> oriole_codegen::Limits {
        oriole_codegen::Limits {
            functions: self.functions,
            instructions: self.instructions,
            time: self.time,
            memory: self.memory,
        }
    }
}

/// Ends compilations and launches that are under way, from any thread. Clones are the same token.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(pub(crate) Arc<AtomicBool>);

impl CancelToken {
    /// A token that was not used yet.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// What looks at the token ends soon, and at once from now on.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The flag behind it, which is true once it was cancelled.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
