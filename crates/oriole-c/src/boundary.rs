//! The border to C: panics end here, and pointers become values here.

use crate::quiet::catch;
use crate::result::{Outcome, orioleResult};
use std::any::Any;
use std::ffi::{CStr, c_char};

/// The body of each function that C calls. A panic is answered by `ORIOLE_ERROR_INTERNAL`.
///
/// What a panic interrupts stays usable: all that outlives a call lies behind locks, and is changed by whole values.
pub(crate) fn guard(work: impl FnOnce() -> Outcome) -> orioleResult {
    match catch(work) {
        Ok(Ok(())) => orioleResult::ORIOLE_SUCCESS,
        Ok(Err(result)) => result,
        Err(_) => orioleResult::ORIOLE_ERROR_INTERNAL,
    }
}

/// What `work` gives, or what its panic said.
pub(crate) fn catching<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch(work).map_err(|panic| format!("internal error: {}\n", said(&*panic)))
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a message")
}

/// Writes a result where the caller wants it, if that is not null.
///
/// # Safety
/// `place` is null or may be written.
pub(crate) unsafe fn put<T>(place: *mut T, value: T) -> Outcome {
    if place.is_null() {
        return Err(orioleResult::ORIOLE_ERROR_INVALID_INPUT);
    }
    // SAFETY: it is not null, so the caller of this function says that it may be written.
    unsafe { place.write(value) };
    Ok(())
}

/// A copy of the caller's bytes: nobody else's pointer is kept, and other threads may write theirs. Null may stand for no
/// bytes.
///
/// # Safety
/// `bytes` is null or `size` bytes can be read there.
pub(crate) unsafe fn copy(bytes: *const u8, size: usize) -> Outcome<Vec<u8>> {
    let mut copied = room(size)?;
    if size == 0 {
        return Ok(copied);
    }
    if bytes.is_null() {
        return Err(orioleResult::ORIOLE_ERROR_INVALID_INPUT);
    }
    // SAFETY: it is not null, so the caller of this function says that `size` bytes can be read. No object has more bytes
    // than `isize::MAX`, or there would not have been room for them.
    copied.extend_from_slice(unsafe { std::slice::from_raw_parts(bytes, size) });
    Ok(copied)
}

/// An empty vector with room for so many bytes.
pub(crate) fn room(size: usize) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| orioleResult::ORIOLE_ERROR_OUT_OF_MEMORY)?;
    Ok(bytes)
}

/// Puts bytes where the caller has room for them.
///
/// # Safety
/// `place` is null, or as many bytes may be written there.
pub(crate) unsafe fn put_bytes(bytes: &[u8], place: *mut u8) -> Outcome {
    if place.is_null() {
        return Err(orioleResult::ORIOLE_ERROR_INVALID_INPUT);
    }
    // SAFETY: it is not null, so the caller of this function says that they may be written; `bytes` is memory of ours.
    unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(())
}

/// Puts as many bytes of a text as there is room for, with a zero behind them where there is any room; and where `size` is not
/// null how many bytes all of it has, with the zero.
///
/// # Safety
/// `room` bytes may be written at `place`, and `size` is null or may be written.
pub(crate) unsafe fn put_text(text: &[u8], room: usize, place: *mut u8, size: *mut usize) -> Outcome {
    let copied = text.len().min(room.saturating_sub(1));
    // SAFETY: what this function asks of its caller: no more than `room` is written.
    unsafe {
        if room > 0 {
            put_bytes(&text[..copied], place)?;
            place.add(copied).write(0);
        }
        if size.is_null() { Ok(()) } else { put(size, text.len() + 1) }
    }
}

/// Puts bytes if there is room for all of them; and where `size` is not null, in any case, how many there are.
///
/// # Safety
/// `room` bytes may be written at `place`, and `size` is null or may be written.
pub(crate) unsafe fn put_whole(bytes: &[u8], room: usize, place: *mut u8, size: *mut usize) -> Outcome {
    // SAFETY: what this function asks of its caller: no more than `room` is written.
    unsafe {
        if !size.is_null() {
            put(size, bytes.len())?;
        }
        if room < bytes.len() { Err(orioleResult::ORIOLE_ERROR_INVALID_INPUT) } else { put_bytes(bytes, place) }
    }
}

/// A copy of the caller's text. What is not UTF-8 in it is replaced, so that messages can name it and nothing is called so.
///
/// # Safety
/// `text` is null or a string that ends with a zero.
pub(crate) unsafe fn text(text: *const c_char) -> Outcome<String> {
    if text.is_null() {
        return Err(orioleResult::ORIOLE_ERROR_INVALID_INPUT);
    }
    // SAFETY: it is not null, so the caller of this function says that it ends with a zero.
    Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error_and_its_words_are_kept() {
        assert_eq!(guard(|| panic!("what it says")), orioleResult::ORIOLE_ERROR_INTERNAL);
        assert_eq!(catching(|| panic!("slot {}", 7)), Err::<(), _>("internal error: slot 7\n".to_owned()));
        assert_eq!(catching(|| 3), Ok(3));
    }

    #[test]
    fn more_bytes_than_there_can_be_are_out_of_memory() {
        let byte = 0u8;
        // SAFETY: no byte is read, as there is no room for a copy.
        let outcome = unsafe { copy(&byte, usize::MAX) };
        assert_eq!(outcome, Err(orioleResult::ORIOLE_ERROR_OUT_OF_MEMORY));
    }
}
