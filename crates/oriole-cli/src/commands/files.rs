//! Input files, names of files, and standard output: `-` is a standard stream.

use super::failure::{Failure, rejected};
use super::nvptx;
pub(crate) use super::outputs::{Outputs, write};
use super::system;
use oriole_cubin::Cubin;
use oriole_device::{MOST_OF_A_STREAM, read_file, read_stream};
use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The first bytes of an ELF file.
pub(crate) const ELF_MAGIC: &[u8] = b"\x7fELF";
/// What `-` is as an input and as an output.
const STDIN: &str = "/dev/stdin";
const STDOUT: &str = "/dev/stdout";
/// Most links from a name to a file; Linux follows as many.
pub(super) const MOST_LINKS: usize = 40;

/// All bytes of a file, or of standard input for `-`. What has no size is read up to a bound.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    if is_stream(path) {
        return read_stream(std::io::stdin(), MOST_OF_A_STREAM).map_err(|error| Failure::file(path, error));
    }
    read_file(path, u64::MAX).map_err(|error| unreadable(path, &error))
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
        [] => "the file is empty".to_owned(),
        [..] if bytes.starts_with(ELF_MAGIC) => return Ok(()),
        [..] => {
            let language = if nvptx::is_llvm(path, bytes) { Some("LLVM IR") } else { is_ptx(bytes).then_some("PTX") };
            let compiled = |language| {
                let file = path.display();
                format!("{language}, not a cubin; `oriole compile {file} -o k.cubin` makes a cubin of it")
            };
            language.map_or_else(|| "not a cubin: it does not begin as an ELF file".to_owned(), compiled)
        }
    };
    Err(Failure::file(path, why))
}

/// Whether the bytes are those of PTX: a line of them says which version.
pub(super) fn is_ptx(bytes: &[u8]) -> bool {
    bytes.split(|byte| *byte == b'\n').any(|line| line.trim_ascii_start().starts_with(b".version"))
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

/// Refuse outputs whose folder is not there: before work that takes long.
pub(crate) fn have_folders<'a>(outputs: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
    for path in outputs.into_iter().filter(|path| !is_stream(path)) {
        let there = behind_links(path).and_then(|path| std::fs::metadata(folder_of(&path)));
        if let Err(error) = there
            && error.kind() == ErrorKind::NotFound
        {
            return Err(Failure::file(path, format!("cannot be written: {error}")));
        }
    }
    Ok(())
}

/// What makes two names the same file.
#[derive(PartialEq, Eq)]
enum Identity {
    /// A file that is there.
    There(system::File),
    /// The path that a file will have.
    ToCome(PathBuf),
}

impl Identity {
    /// None for what can be written again and again: streams that are no files, and devices.
    fn of(path: &Path, stream: &str) -> Option<Identity> {
        let path = if is_stream(path) { Path::new(stream) } else { path };
        match std::fs::metadata(path) {
            Ok(there) if there.is_file() => system::file(path, &there).map(Identity::There),
            Ok(_) => None,
            Err(_) => {
                let path = behind_links(path).ok()?;
                let folder = folder_of(&path).canonicalize().ok()?;
                Some(Identity::ToCome(folder.join(path.file_name()?)))
            }
        }
    }
}

/// Write to standard output.
///
/// # Errors
/// It cannot be written, but for a reader that has seen enough (`| head`).
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// The same of bytes.
pub(super) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    // What stands behind the last line end would wait for the end of the process, where nobody hears of an error.
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(rejected(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

pub(super) fn is_stream(path: &Path) -> bool {
    path == Path::new("-")
}

pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The path that symbolic links lead to, whether there is a file or not.
pub(super) fn behind_links(path: &Path) -> Result<PathBuf, Error> {
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
