//! Output files: each appears whole or not at all, and those of one call all or none.
//!
//! Bytes go to a temporary file beside the output, which gets the output's name when all are written. Some outputs can only be
//! written in place: devices and pipes, descriptors of this process (`/dev/stdout`), a file that is mounted alone, a file in a
//! folder where no other can be made. There a failure halfway leaves what was written.

use super::failure::Failure;
use super::files::{self, behind_links, folder_of, is_stream};
use super::system;
use super::unfinished::{Listed, Unfinished};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The outputs of a call: what is added is written, and has its name when all have been added.
#[derive(Default)]
pub(crate) struct Outputs {
    files: Vec<(PathBuf, Output)>,
    /// For standard output.
    printed: Vec<u8>,
}

impl Outputs {
    /// Write an output, `-` for standard output. Nobody sees it yet.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn add(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        if is_stream(path) {
            self.printed.extend_from_slice(bytes);
            return Ok(());
        }
        let output = Output::new(path, bytes).map_err(|error| unwritable(path, error))?;
        self.files.push((path.to_owned(), output));
        Ok(())
    }

    /// Write to standard output, behind what is there for it.
    pub(crate) fn print(&mut self, text: &str) {
        self.printed.extend_from_slice(text.as_bytes());
    }

    /// Let all have their names.
    ///
    /// # Errors
    /// The first that cannot have it.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        for (path, output) in self.files {
            output.finish().map_err(|error| unwritable(&path, error))?;
        }
        files::print_bytes(&self.printed)
    }
}

/// Write a single output.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if is_stream(path) {
        return files::print_bytes(bytes);
    }
    let mut outputs = Outputs::default();
    outputs.add(path, bytes)?;
    outputs.finish()
}

fn unwritable(path: &Path, why: Error) -> Failure {
    Failure::file(path, format!("cannot be written: {why}"))
}

/// Bytes on their way to a file.
enum Output {
    /// They are in a temporary file, which becomes this one.
    Beside { temporary: Temporary, target: PathBuf, is_there: bool },
    /// The file takes them where it is.
    InPlace { place: InPlace, bytes: Vec<u8> },
}

impl Output {
    fn new(path: &Path, bytes: &[u8]) -> Result<Output, Error> {
        let existing = std::fs::metadata(path).ok();
        if is_descriptor(path) || existing.as_ref().is_some_and(|there| !there.is_file()) {
            return Ok(Output::InPlace { place: InPlace::open(path)?, bytes: bytes.to_vec() });
        }
        if existing.is_some() {
            // To replace by renaming would go round a file's own write protection.
            OpenOptions::new().write(true).open(path)?;
        }
        let target = behind_links(path)?;
        let Ok(temporary) = Temporary::beside(&target) else {
            return Ok(Output::InPlace { place: InPlace::open(path)?, bytes: bytes.to_vec() });
        };
        let temporary = temporary.with(bytes, existing.as_ref())?;
        Ok(Output::Beside { temporary, target, is_there: existing.is_some() })
    }

    fn finish(self) -> Result<(), Error> {
        match self {
            Output::Beside { temporary, target, is_there } => temporary.become_file(&target, is_there),
            Output::InPlace { place, bytes } => place.write(&bytes),
        }
    }
}

/// Whether a path names a descriptor of a process (`/dev/stdout`, `/proc/self/fd/1`): whoever opened the file waits for the
/// bytes in that very file.
fn is_descriptor(path: &Path) -> bool {
    let holds_descriptors = |folder: PathBuf| folder.starts_with("/proc") && folder.ends_with("fd");
    let mut path = path.to_owned();
    for _ in 0..files::MOST_LINKS {
        if folder_of(&path).canonicalize().is_ok_and(holds_descriptors) {
            return true;
        }
        match std::fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => return false,
        }
    }
    false
}

/// A file that is written where it is. One that was made for it goes again if it is not.
struct InPlace {
    file: File,
    made: Option<Made>,
}

/// A new file that goes unless it is kept.
struct Made {
    path: PathBuf,
    is_kept: bool,
    _listed: Listed,
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.is_kept {
            // It was ours alone; nothing else can be done where it cannot go.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl InPlace {
    fn open(path: &Path) -> Result<InPlace, Error> {
        let listed = Listed::new(path);
        match listed.make(|| system::new_file().open(path)) {
            Ok(file) => {
                let made = Made { path: path.to_owned(), is_kept: false, _listed: listed };
                Ok(InPlace { file, made: Some(made) })
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                drop(listed);
                Ok(InPlace { file: OpenOptions::new().write(true).open(path)?, made: None })
            }
            Err(error) => Err(error),
        }
    }

    fn write(mut self, bytes: &[u8]) -> Result<(), Error> {
        empty(&self.file)?;
        self.file.write_all(bytes)?;
        if let Some(made) = &mut self.made {
            made.is_kept = true;
        }
        Ok(())
    }
}

/// Take out what is in a file; devices and pipes hold nothing.
fn empty(file: &File) -> Result<(), Error> {
    if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) }
}

/// A file that becomes an output or goes.
struct Temporary(Unfinished);

impl Temporary {
    fn beside(path: &Path) -> Result<Temporary, Error> {
        Unfinished::in_folder(folder_of(path), &tempfile::Builder::new()).map(Temporary)
    }

    /// With these bytes, and the mode of the file that it takes the place of.
    fn with(mut self, bytes: &[u8], existing: Option<&Metadata>) -> Result<Temporary, Error> {
        // The file's own errors: those of the wrapper name the temporary file.
        self.0.file.as_file_mut().write_all(bytes)?;
        if let Some(there) = existing {
            self.0.file.as_file().set_permissions(there.permissions())?;
        }
        Ok(self)
    }

    /// The file has this path from now on; one that is there goes, or takes the bytes if it cannot go.
    fn become_file(self, path: &Path, is_there: bool) -> Result<(), Error> {
        self.0.finish(|file| {
            if is_there && system::exchange(file.path(), path).is_ok() {
                // What was there has the temporary's name. The output is there, whether that goes or not.
                let _ = file.close();
                return Ok(());
            }
            file.persist(path).map(drop).or_else(|failed| copy(failed.file, path, failed.error))
        })
    }
}

/// Copy a temporary file's bytes into the file at `path`, which renaming could not replace, as `why` says.
fn copy(mut from: tempfile::NamedTempFile, path: &Path, why: Error) -> Result<(), Error> {
    let Ok(mut to) = OpenOptions::new().write(true).open(path) else { return Err(why) };
    let mut bytes = Vec::new();
    from.as_file_mut().seek(SeekFrom::Start(0))?;
    from.as_file_mut().read_to_end(&mut bytes)?;
    empty(&to)?;
    to.write_all(&bytes)
}
