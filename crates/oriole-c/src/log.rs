//! Texts for the caller: logs of handles, and the last error of a thread.

use crate::boundary::put_bytes;
use crate::result::Outcome;
use std::cell::RefCell;
use std::ffi::{CString, c_char};

/// A text that C reads: without zeros within.
#[derive(Clone, Default)]
pub(crate) struct Log(CString);

impl Log {
    /// A zero within is part of what the text quotes, and ends it for C: it is replaced.
    pub(crate) fn new(text: &str) -> Log {
        Log(CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default())
    }

    /// Its bytes, without the zero.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Bytes with the zero at the end; 0 for an empty text, which callers take for "there is none".
    pub(crate) fn size(&self) -> usize {
        if self.0.is_empty() { 0 } else { self.0.as_bytes_with_nul().len() }
    }

    /// Writes as many bytes as [`Log::size`] says.
    ///
    /// # Safety
    /// `place` is null, or as many bytes may be written there.
    pub(crate) unsafe fn put(&self, place: *mut c_char) -> Outcome {
        // SAFETY: what this function asks of its caller: no more than the size is written.
        unsafe { put_bytes(&self.0.as_bytes_with_nul()[..self.size()], place.cast()) }
    }
}

thread_local! {
    static LAST_ERROR: RefCell<Log> = RefCell::default();
}

/// Keeps what went wrong where there is no handle to ask.
pub(crate) fn set_last_error(text: &str) {
    LAST_ERROR.with(|last| last.replace(Log::new(text)));
}

/// Why `orioleSimulatorCreate` or `orioleDisassemble` last answered `ORIOLE_ERROR_INVALID_CUBIN` in the calling thread:
/// functions that have no handle whose log could say it. Empty if neither did.
///
/// The text is the library's: it is not to be released, and stays until one of the two fails again in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn orioleGetLastError() -> *const c_char {
    // A thread that is ending has no such text any more.
    LAST_ERROR.try_with(|last| last.borrow().0.as_ptr()).unwrap_or(c"".as_ptr())
}
