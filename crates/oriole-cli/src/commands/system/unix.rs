//! Linux, macOS and other systems of that kind.

use libc::{c_int, sigaction, sighandler_t};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ffi::OsString;
use std::fs::{Metadata, OpenOptions};
use std::io::Error;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The mode of a new file before the process's umask.
const NEW_MODE: u32 = 0o666;

/// The signals that end a process which does nothing about them.
pub(crate) const ENDING: [c_int; 3] = [SIGHUP, SIGINT, SIGTERM];

/// A write beyond `ulimit -f` is an error from now on, as on a full disk; by default its signal ends the process. Programs that
/// this one starts have the default again: a handler, unlike a signal that is ignored, does not outlive `exec`.
pub(crate) fn outlive_the_limit_of_file_sizes() {
    extern "C" fn nothing(_: c_int) {}
    // SAFETY: the handler does nothing, which it may at any time.
    unsafe { libc::signal(libc::SIGXFSZ, nothing as extern "C" fn(c_int) as sighandler_t) };
}

/// Whether the process was started with the signal ignored, as `nohup` does.
pub(crate) fn is_ignored(signal: c_int) -> bool {
    let mut action = MaybeUninit::<sigaction>::zeroed();
    // SAFETY: without a new action the call only writes the present one, into a place of its type.
    let status = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: zeros are an action, and what the call wrote is one.
    status == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// The name that these bytes are.
pub(crate) fn name(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}

/// How a file is made that must not be there yet: readable and writable by all, less the process's umask.
pub(crate) fn new_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(NEW_MODE);
    options
}

/// The options, so that a link is an error and a pipe is not waited for.
pub(crate) fn without_following(mut options: OpenOptions) -> OpenOptions {
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options
}

/// What makes two names the same file: device and inode.
pub(crate) type File = (u64, u64);

/// The file at a path, of which `there` is known.
pub(crate) fn file(_: &Path, there: &Metadata) -> Option<File> {
    Some((there.dev(), there.ino()))
}

/// What changes whenever a file is written or another has its name: device, inode, size, and the times of the last change of
/// its bytes and of its inode. The last one is the system's alone.
pub(crate) fn state(file: &Metadata) -> String {
    let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()];
    format!("{} {} {} {times:?}", file.dev(), file.ino(), file.size())
}

/// Let two files change names, in one step. To rename one over another would have `ext4` write its bytes to the disk
/// there and then: a fifteenth of an empty module. An error where one is not there, or the file system cannot do it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn exchange(one: &Path, other: &Path) -> Result<(), Error> {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    let [one, other] = [one, other].map(|path| CString::new(path.as_os_str().as_bytes()));
    let (one, other) = (one?, other?);
    // SAFETY: both are C strings, which live until the call returns.
    let status =
        unsafe { libc::renameat2(libc::AT_FDCWD, one.as_ptr(), libc::AT_FDCWD, other.as_ptr(), libc::RENAME_EXCHANGE) };
    if status == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

/// No such step.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn exchange(_: &Path, _: &Path) -> Result<(), Error> {
    Err(std::io::ErrorKind::Unsupported.into())
}
