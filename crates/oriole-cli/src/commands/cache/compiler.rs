//! Which compiler this is: the hash of the running program's bytes. No two builds have the same.

use super::names;
use crate::commands::system;
use blake3::{Hash, Hasher};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, Read, Write};
use std::path::Path;

/// The running program as a file, even where another has its name by now.
const RUNNING: &str = "/proc/self/exe";

/// The hash of the program. To read a whole program takes longer than to compile a small kernel, so that the hash is kept
/// in `folder`, under what the system knows of the file: device, inode, size, and the times of the last change of its
/// bytes and of its inode. The last one is the system's alone; whoever writes a file or puts another in its place changes it.
///
/// # Errors
/// The program cannot be read.
pub(super) fn identity(folder: &Path) -> Result<Hash, Error> {
    let program = File::open(RUNNING).or_else(|_| File::open(std::env::current_exe()?))?;
    let known_as = stamp(&program.metadata()?);
    let note = folder.join(names::compiler(&known_as));
    let mut bytes = Vec::new();
    let kept = names::open(&note, OpenOptions::new().read(true)).and_then(|mut file| file.read_to_end(&mut bytes));
    if let Some(hash) = kept.ok().and_then(|_| read(&bytes, &known_as)) {
        return Ok(hash);
    }
    let mut hasher = Hasher::new();
    hasher.update_reader(program)?;
    let hash = hasher.finalize();
    // Without the note the next process reads the program again.
    let _ = write(&note, folder, &known_as, &hash);
    Ok(hash)
}

fn stamp(file: &Metadata) -> Hash {
    blake3::hash(system::state(file).as_bytes())
}

/// The hash in a note, if the note is whole and about this file.
fn read(bytes: &[u8], known_as: &Hash) -> Option<Hash> {
    let (hash, check) = bytes.split_first_chunk::<{ blake3::OUT_LEN }>()?;
    let hash = Hash::from_bytes(*hash);
    (check == seal(known_as, &hash).as_bytes()).then_some(hash)
}

fn write(note: &Path, folder: &Path, known_as: &Hash, hash: &Hash) -> Result<(), Error> {
    let mut unfinished = names::unfinished(folder)?;
    unfinished.file.write_all(hash.as_bytes())?;
    unfinished.file.write_all(seal(known_as, hash).as_bytes())?;
    unfinished.finish(|file| file.persist(note)).map(drop).map_err(|error| error.error)
}

fn seal(known_as: &Hash, hash: &Hash) -> Hash {
    let mut hasher = Hasher::new();
    hasher.update(known_as.as_bytes()).update(hash.as_bytes());
    hasher.finalize()
}
