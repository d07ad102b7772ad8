//! Files that are not finished: a signal that ends the process removes them first.
//!
//! The signal's handler does it, in whatever place the program is: a thread that waits for signals would cost a twentieth of
//! the least compilation. So the names stand in a table that is read without a lock, and grows without one.

use super::system;
use std::cell::Cell;
use std::ffi::{CString, c_char};
use std::io::Error;
use std::path::Path;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::time::Duration;

/// Names in a part of the table: more files are rarely in the making at a time.
const PART: usize = 16;
/// How long a handler waits for files that other threads are making, all together, and how often it looks.
const LOOKS: u32 = 1000;
const PAUSE: Duration = Duration::from_micros(100);

/// Names, each made by [`CString::into_raw`]; who takes one out owns it. And the next part of the table, which stays.
struct Part {
    names: [AtomicPtr<c_char>; PART],
    next: AtomicPtr<Part>,
}

impl Part {
    const fn empty() -> Part {
        Part { names: [const { AtomicPtr::new(ptr::null_mut()) }; PART], next: AtomicPtr::new(ptr::null_mut()) }
    }

    /// The next part, which is made where there is none.
    fn next(&self) -> &'static Part {
        let next = self.next.load(Ordering::Acquire);
        // SAFETY: a part that is in the table was leaked.
        if let Some(next) = unsafe { next.as_ref() } {
            return next;
        }
        let new = Box::into_raw(Box::new(Part::empty()));
        match self.next.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: it was just leaked, and nothing takes it out.
            Ok(_) => unsafe { &*new },
            Err(first) => {
                // SAFETY: nobody else has seen the new one; the first one is in the table.
                unsafe {
                    drop(Box::from_raw(new));
                    &*first
                }
            }
        }
    }
}

static TABLE: Part = Part::empty();
/// A handler is at work: no file is made any more.
static IS_ENDING: AtomicBool = AtomicBool::new(false);
/// Threads that are making a file.
static MAKING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// This thread is one of [`MAKING`].
    static IS_MAKING: Cell<bool> = const { Cell::new(false) };
}

/// A temporary file that goes unless it gets another name: also when a signal ends the process.
pub(super) struct Unfinished {
    pub(super) file: tempfile::NamedTempFile,
    listed: Listed,
}

impl Unfinished {
    /// A new file in a folder, readable and writable by all, less the process's umask. `name` says what its name is like.
    pub(super) fn in_folder(folder: &Path, name: &tempfile::Builder<'_, '_>) -> Result<Unfinished, Error> {
        let mut listed = Listed::default();
        let mut options = system::new_file();
        options.read(true);
        let file = name.make_in(folder, |name| {
            listed = Listed::new(name);
            listed.make(|| options.open(name))
        })?;
        let (file, name) = file.into_parts();
        Ok(Unfinished { file: tempfile::NamedTempFile::from_parts(file, name), listed })
    }

    /// Give it its name, by `work`.
    pub(super) fn finish<T>(self, work: impl FnOnce(tempfile::NamedTempFile) -> T) -> T {
        let done = work(self.file);
        drop(self.listed);
        done
    }
}

/// A file whose name is in the table as long as this lives.
#[derive(Default)]
pub(super) struct Listed(Option<(&'static AtomicPtr<c_char>, *mut c_char)>);

// SAFETY: the pointer is a C string that nobody writes; who takes it out of the table frees it, on whatever thread.
unsafe impl Send for Listed {}

impl Listed {
    /// Put the name in the table: before the file is made, so that there is no time at which it is there unnamed.
    pub(super) fn new(path: &Path) -> Listed {
        remove_on_signals();
        let Ok(name) = CString::new(path.as_os_str().as_encoded_bytes()) else { return Listed(None) };
        let name = name.into_raw();
        let is_free = |slot: &&'static AtomicPtr<c_char>| {
            slot.compare_exchange(ptr::null_mut(), name, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let mut part: &'static Part = &TABLE;
        loop {
            if let Some(slot) = part.names.iter().find(is_free) {
                return Listed(Some((slot, name)));
            }
            part = part.next();
        }
    }

    /// Make the file, by `open`. While the process ends it is not made, and this does not return.
    pub(super) fn make<T>(&self, open: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        MAKING.fetch_add(1, Ordering::SeqCst);
        IS_MAKING.set(true);
        if IS_ENDING.load(Ordering::SeqCst) {
            IS_MAKING.set(false);
            MAKING.fetch_sub(1, Ordering::SeqCst);
            loop {
                std::thread::park();
            }
        }
        let made = open();
        IS_MAKING.set(false);
        MAKING.fetch_sub(1, Ordering::SeqCst);
        made
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let Some((slot, name)) = self.0.take() else { return };
        if slot.compare_exchange(name, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            // SAFETY: the pointer is `into_raw`'s, and was taken out of the table here.
            drop(unsafe { CString::from_raw(name) });
        }
    }
}

/// From now on a signal that ends the process removes the files of the table first. One that is ignored stays so.
fn remove_on_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in system::ENDING.into_iter().filter(|signal| !system::is_ignored(*signal)) {
            let handler = move || {
                remove_all();
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            };
            // SAFETY: a handler may exchange atomics, sleep, `unlink` and end the process by the signal's default. Where it
            // cannot be registered only the tidying is lost.
            let _ = unsafe { signal_hook::low_level::register(signal, handler) };
        }
    });
}

/// Remove the files of the table, behind those that are being made.
fn remove_all() {
    IS_ENDING.store(true, Ordering::SeqCst);
    // The thread that the signal stopped may be making one itself: that is there already, or never will be.
    let own = usize::from(IS_MAKING.get());
    for _ in 0..LOOKS {
        if MAKING.load(Ordering::SeqCst) <= own {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    let mut part = Some(&TABLE);
    while let Some(here) = part {
        for slot in &here.names {
            let name = slot.swap(ptr::null_mut(), Ordering::AcqRel);
            if !name.is_null() {
                // SAFETY: a name of the table is a C string, and with the swap nobody else's.
                unsafe { libc::unlink(name) };
            }
        }
        // SAFETY: a part that is in the table was leaked.
        part = unsafe { here.next.load(Ordering::Acquire).as_ref() };
    }
}
