//! Machine code as text.

use crate::boundary::{catching, copy, guard, put};
use crate::log::{Log, set_last_error};
use crate::result::orioleResult;
use std::ffi::{c_char, c_void};

/// The code of all functions of a cubin as text, as nvdisasm lists it, each instruction with its scheduling bits in front.
///
/// `cubin`, `size`: the cubin's bytes and how many.
/// `text`: where the text goes, which ends with a zero and which `orioleFree` releases; null on every error.
///
/// Errors: `ORIOLE_ERROR_INVALID_INPUT` for null, `ORIOLE_ERROR_INVALID_CUBIN` (`orioleGetLastError` says why),
/// `ORIOLE_ERROR_OUT_OF_MEMORY`, `ORIOLE_ERROR_INTERNAL`.
///
/// # Safety
/// `size` bytes can be read at `cubin`, and `text` may be written, where they are not null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleDisassemble(cubin: *const c_void, size: usize, text: *mut *mut c_char) -> orioleResult {
    guard(|| {
        // SAFETY: what this function asks of its caller.
        unsafe { put(text, std::ptr::null_mut()) }?;
        if cubin.is_null() {
            return Err(orioleResult::ORIOLE_ERROR_INVALID_INPUT);
        }
        // SAFETY: the same.
        let bytes = unsafe { copy(cubin.cast(), size) }?;
        let listing = catching(|| oriole::disassemble(&bytes)).map_err(|message| {
            set_last_error(&message);
            orioleResult::ORIOLE_ERROR_INTERNAL
        })?;
        let listing = listing.map_err(|error| {
            set_last_error(&error.to_string());
            orioleResult::ORIOLE_ERROR_INVALID_CUBIN
        })?;
        // SAFETY: it was not null when null was written there.
        unsafe { put(text, allocated(&listing)?) }
    })
}

/// A copy in memory of the C library, with a zero at its end: `free` needs no size.
fn allocated(text: &str) -> Result<*mut c_char, orioleResult> {
    let text = Log::new(text);
    let size = text.size().max(1);
    // SAFETY: memory of any size may be asked for.
    let memory: *mut c_char = unsafe { libc::calloc(size, 1) }.cast();
    if memory.is_null() {
        return Err(orioleResult::ORIOLE_ERROR_OUT_OF_MEMORY);
    }
    // SAFETY: there is room for as many bytes as are written, if not for more.
    let written = unsafe { text.put(memory) };
    written.map(|()| memory)
}

/// Releases a text that `orioleDisassemble` gave; null does nothing.
///
/// # Safety
/// `text` is null or such a text, and not released yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleFree(text: *mut c_char) {
    // SAFETY: such a text was allocated by `calloc`.
    unsafe { libc::free(text.cast()) };
}
