//! Folders and files that go again: what is said of them never has their names, which nobody has given.

use std::io::Error;
use tempfile::TempDir;

/// A folder that goes when it is dropped.
pub(crate) fn folder() -> Result<TempDir, String> {
    let system = std::env::temp_dir();
    let why = |error| format!("{}: no temporary folder can be made in it: {}", system.display(), cause(error));
    tempfile::tempdir().map_err(why)
}

/// The system's reason without the name of the temporary file.
pub(crate) fn cause(error: Error) -> Error {
    let source = error.get_ref().and_then(|inner| inner.source()).and_then(|source| source.downcast_ref::<Error>());
    match source.and_then(Error::raw_os_error) {
        Some(code) => Error::from_raw_os_error(code),
        None => {
            // An error that hides its number says it in front of the name.
            let text = error.to_string();
            Error::new(error.kind(), text.split_once(" at path ").map_or(text.as_str(), |(why, _)| why))
        }
    }
}
