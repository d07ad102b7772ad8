//! Input and output files: `-` is a standard stream, and an output appears whole or not at all.

use super::failure::Failure;
use super::unfinished::Listed;
use oriole_cubin::Cubin;
use std::ffi::CString;
use std::io::{Error, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The first bytes of an ELF file.
pub(crate) const ELF_MAGIC: &[u8] = b"\x7fELF";
/// What `-` is as an input and as an output.
const STDIN: &str = "/dev/stdin";
const STDOUT: &str = "/dev/stdout";
/// Most links from a name to a file; Linux follows as many.
const MOST_LINKS: usize = 40;

/// All bytes of a file, or of standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    if is_stream(path) {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map_err(|e| Failure::file(path, e))?;
        return Ok(bytes);
    }
    std::fs::read(path).map_err(|error| unreadable(path, &error))
}

/// A file that cannot be read.
pub(crate) fn unreadable(path: &Path, why: &Error) -> Failure {
    Failure::file(path, format!("cannot be read: {why}"))
}

/// The cubin in a file's bytes.
pub(crate) fn cubin(path: &Path, bytes: &[u8]) -> Result<Cubin, Failure> {
    is_elf(path, bytes)?;
    Cubin::parse(bytes).map_err(|error| Failure::file(path, error))
}

/// Refuse what is no cubin by its first bytes.
pub(crate) fn is_elf(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let why = match bytes {
        [] => "the file is empty",
        [..] if bytes.starts_with(ELF_MAGIC) => return Ok(()),
        [..] => "not a cubin: it does not begin as an ELF file",
    };
    Err(Failure::file(path, why))
}

/// Make a folder, with those that it is in, where it is not there yet.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, format!("cannot be made: {error}")))
}

/// Refuse outputs that are a file which is read, or which another output is, by whatever name.
/// A command asks before its work begins.
pub(crate) fn keep_apart<'a>(
    inputs: impl IntoIterator<Item = &'a Path>,
    outputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), Failure> {
    let inputs: Vec<Identity> = inputs.into_iter().filter_map(|path| Identity::of(path, STDIN)).collect();
    let mut taken: Vec<Identity> = Vec::new();
    for path in outputs {
        let Some(identity) = Identity::of(path, STDOUT) else { continue };
        if inputs.contains(&identity) {
            return Err(Failure::Usage(format!("error: {}: the output is an input file", path.display())));
        }
        if taken.contains(&identity) {
            return Err(Failure::Usage(format!("error: {}: two outputs are this file", path.display())));
        }
        taken.push(identity);
    }
    Ok(())
}

/// What makes two names the same file.
#[derive(PartialEq, Eq)]
enum Identity {
    /// Device and inode of a file that is there.
    There(u64, u64),
    /// The path that a file will have.
    ToCome(PathBuf),
}

impl Identity {
    /// None for what can be written again and again: streams that are no files, and devices.
    fn of(path: &Path, stream: &str) -> Option<Identity> {
        let path = if is_stream(path) { Path::new(stream) } else { path };
        match std::fs::metadata(path) {
            Ok(there) => there.is_file().then(|| Identity::There(there.dev(), there.ino())),
            Err(_) => {
                let path = behind_links(path).ok()?;
                let folder = folder_of(&path).canonicalize().ok()?;
                Some(Identity::ToCome(folder.join(path.file_name()?)))
            }
        }
    }
}

/// Write a file through a temporary one beside it, or standard output for `-`. Where there is a file already,
/// links to it stay and the new one gets its mode.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if is_stream(path) {
        return match std::io::stdout().write_all(bytes) {
            // The reader has seen enough (`| head`).
            Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
            done => done.map_err(|e| Failure::file(path, e)),
        };
    }
    write_file(path, bytes).map_err(|e| Failure::file(path, format!("cannot be written: {e}")))
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let existing = std::fs::metadata(path).ok();
    if let Some(there) = &existing {
        // Replacing by renaming would go round a file's own write protection. For a folder this is an error.
        let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
        if !there.is_file() {
            // A device such as /dev/null cannot be replaced by renaming.
            return file.write_all(bytes);
        }
    }
    let target = behind_links(path)?;
    let mut temporary = Temporary::beside(&target)?;
    // The file's own errors: those of the wrapper name the temporary file.
    temporary.file.as_file_mut().write_all(bytes)?;
    if let Some(there) = &existing {
        temporary.file.as_file().set_permissions(there.permissions())?;
    }
    temporary.become_file(&target, existing.is_some())
}

fn is_stream(path: &Path) -> bool {
    path == Path::new("-")
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The path that symbolic links lead to, whether there is a file or not.
fn behind_links(path: &Path) -> Result<PathBuf, Error> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&path) {
            // A link's relative target starts at the link's folder.
            Ok(target) => path = folder_of(&path).join(target),
            // No link.
            Err(_) => return Ok(path),
        }
    }
    Err(Error::new(ErrorKind::InvalidInput, "too many symbolic links"))
}

/// A file that becomes an output or goes: also when a signal ends the process.
struct Temporary {
    file: tempfile::NamedTempFile,
    listed: Listed,
}

impl Temporary {
    fn beside(path: &Path) -> Result<Temporary, Error> {
        let mut listed = Listed::default();
        // What a newly created file gets: readable and writable by all, less the process's umask.
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o666);
        let file = tempfile::Builder::new().make_in(folder_of(path), |name| {
            listed = Listed::new(name);
            options.open(name)
        })?;
        let (file, name) = file.into_parts();
        Ok(Temporary { file: tempfile::NamedTempFile::from_parts(file, name), listed })
    }

    /// The file has this path from now on; one that is there goes.
    fn become_file(self, path: &Path, is_there: bool) -> Result<(), Error> {
        let done = if is_there && exchange(self.file.path(), path).is_ok() {
            // What was there has the temporary's name.
            self.file.close()
        } else {
            self.file.persist(path).map(drop).map_err(|e| e.error)
        };
        drop(self.listed);
        done
    }
}

/// Let two files change names, in one step. To rename one over another would have `ext4` write its bytes to the disk
/// there and then: a fifteenth of an empty module. An error where one is not there, or the file system cannot do it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn exchange(one: &Path, other: &Path) -> Result<(), Error> {
    let [one, other] = [one, other].map(|path| CString::new(path.as_os_str().as_bytes()));
    let (one, other) = (one?, other?);
    // SAFETY: both are C strings, which live until the call returns.
    let status =
        unsafe { libc::renameat2(libc::AT_FDCWD, one.as_ptr(), libc::AT_FDCWD, other.as_ptr(), libc::RENAME_EXCHANGE) };
    if status == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn exchange(_: &Path, _: &Path) -> Result<(), Error> {
    Err(ErrorKind::Unsupported.into())
}
