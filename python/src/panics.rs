//! Panics as `oriole_gpu.InternalError`.

use crate::errors::internal_error;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};
use std::sync::{Mutex, PoisonError};

/// What the first panic said that nobody has caught yet, with its place: of those that follow from it one learns less.
static SAID: Mutex<Option<String>> = Mutex::new(None);

/// A panic that was caught: what it said, and where.
pub(crate) struct Panicked(String);

impl Panicked {
    /// The exception.
    pub(crate) fn into_error(self, py: Python<'_>) -> PyErr {
        internal_error(py, format!("a fault of Oriole itself, please report it: {}", self.0))
    }
}

/// Keeps panics of this library from the host's standard error. Rust code of other libraries has hooks of its own.
pub(crate) fn keep_quiet() {
    set_hook(Box::new(|info: &PanicHookInfo<'_>| {
        let place = info.location().map_or_else(String::new, |at| format!(" ({}:{})", at.file(), at.line()));
        said().get_or_insert_with(|| format!("{}{place}", text(info.payload())));
    }));
}

/// Does `work`. What a panic interrupts is dropped, so that no half of it is seen.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|panic| Panicked(said().take().unwrap_or_else(|| text(&*panic).to_owned())))
}

fn said() -> std::sync::MutexGuard<'static, Option<String>> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner)
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a message")
}

/// Panics where work is done, for tests of what becomes of that.
#[pyfunction]
pub(crate) fn panic(py: Python<'_>, message: String) -> PyResult<()> {
    crate::interrupt::interruptible(py, &oriole::CancelToken::new(), || std::panic::panic_any(message))
}
