//! Files that are not finished: a signal that ends the process removes them first.
//!
//! The signal's handler does it, in whatever place the program is: a thread that waits for signals would cost a twentieth of
//! the least compilation. So the names stand in a table that is read without a lock.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ffi::{CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Files that are in the making at a time; of more than so many the others stay where a signal comes.
const MOST: usize = 16;

/// Their names, each made by [`CString::into_raw`]. Who takes one out owns it.
static NAMES: [AtomicPtr<c_char>; MOST] = [const { AtomicPtr::new(ptr::null_mut()) }; MOST];

/// A file whose name is in the table as long as this lives.
#[derive(Default)]
pub(super) struct Listed(Option<(usize, *mut c_char)>);

impl Listed {
    /// Put the name in the table: before the file is made, so that there is no time at which it is there unnamed.
    pub(super) fn new(path: &Path) -> Listed {
        remove_on_signals();
        let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return Listed(None) };
        let name = name.into_raw();
        let is_free = |slot: &AtomicPtr<c_char>| {
            slot.compare_exchange(ptr::null_mut(), name, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        match NAMES.iter().position(is_free) {
            Some(slot) => Listed(Some((slot, name))),
            None => {
                // SAFETY: the pointer is `into_raw`'s, and nobody else has it.
                drop(unsafe { CString::from_raw(name) });
                Listed(None)
            }
        }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let Some((slot, name)) = self.0.take() else { return };
        if NAMES[slot].compare_exchange(name, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            // SAFETY: the pointer is `into_raw`'s, and was taken out of the table here.
            drop(unsafe { CString::from_raw(name) });
        }
    }
}

/// From now on a signal that ends the process removes the files of the table first.
fn remove_on_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            let handler = move || {
                for slot in &NAMES {
                    let name = slot.swap(ptr::null_mut(), Ordering::AcqRel);
                    if !name.is_null() {
                        // SAFETY: a name of the table is a C string, and with the swap nobody else's.
                        unsafe { libc::unlink(name) };
                    }
                }
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            };
            // SAFETY: a handler may exchange atomics, `unlink` and end the process by the signal's default. Where it cannot
            // be registered only the tidying is lost.
            let _ = unsafe { signal_hook::low_level::register(signal, handler) };
        }
    });
}
