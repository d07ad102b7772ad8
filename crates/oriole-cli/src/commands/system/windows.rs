//! Windows.

use libc::c_int;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::OsString;
use std::fs::{Metadata, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// `FILE_FLAG_OPEN_REPARSE_POINT`: a link itself is opened.
const THE_LINK_ITSELF: u32 = 0x0020_0000;

/// The signals that end a process which does nothing about them.
pub(crate) const ENDING: [c_int; 2] = [SIGINT, SIGTERM];

/// There is no such limit.
pub(crate) fn outlive_the_limit_of_file_sizes() {}

/// No process is started with signals ignored.
pub(crate) fn is_ignored(_: c_int) -> bool {
    false
}

/// The name that these bytes are, as far as they are UTF-8.
pub(crate) fn name(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// How a file is made that must not be there yet.
pub(crate) fn new_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    options
}

/// The options, so that what a link leads to is not opened.
pub(crate) fn without_following(mut options: OpenOptions) -> OpenOptions {
    options.custom_flags(THE_LINK_ITSELF);
    options
}

/// What makes two names the same file: where they lead to. Two hard links are two files here.
pub(crate) type File = PathBuf;

/// The file at a path, of which `there` is known.
pub(crate) fn file(path: &Path, _: &Metadata) -> Option<File> {
    path.canonicalize().ok()
}

/// What changes whenever a file is written or another has its name: its size, and when it was made and last written.
pub(crate) fn state(file: &Metadata) -> String {
    format!("{} {} {}", file.file_size(), file.creation_time(), file.last_write_time())
}

/// No such step.
pub(crate) fn exchange(_: &Path, _: &Path) -> Result<(), Error> {
    Err(ErrorKind::Unsupported.into())
}
