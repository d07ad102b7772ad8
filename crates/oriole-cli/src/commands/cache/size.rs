//! How large a cache is, and what goes when it is too large.
//!
//! To look at every file after each result would take longer than to compile. So a file holds the number of bytes, and each
//! process adds what it has put there. A process that is killed in between leaves the number wrong by one result, as does
//! one that puts a result where there is one: every [`STORES_PER_LOOK`] results, and whenever the number says that there is
//! too much, all files are looked at and the number is right again.

use super::names::{self, Kind};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Error, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Results after which the number is not believed.
const STORES_PER_LOOK: u64 = 1024;
/// How much of the most bytes stays when what is old goes: in tenths, so that not every further result makes it go again.
const KEPT_TENTHS: u64 = 9;
/// Age at which an unfinished file is nobody's.
const LEFT_BEHIND: Duration = Duration::from_secs(60 * 60);
/// By how much clocks of machines that share a folder may differ.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(60 * 60);
/// Age at which a compiler's hash may go: it is found out again where it is needed.
const OLD_COMPILER: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How long the lock is waited for. A process that has it may have been stopped, and a wrong number is no harm.
const LOCK_TRIES: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// Count a result of so many bytes, and keep the folder within `most_bytes`. Nothing that fails here harms a reader.
pub(super) fn added(folder: &Path, bytes: u64, most_bytes: u64) {
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
    let Ok(mut file) = names::open(&folder.join(names::COUNT), &options) else { return };
    if !locked(&file) {
        return;
    }
    let counted =
        read(&mut file).map(|count| Count { bytes: count.bytes.saturating_add(bytes), stores: count.stores + 1 });
    let count = match counted {
        Some(count) if count.bytes <= most_bytes && count.stores < STORES_PER_LOOK => count,
        _ => Count { bytes: shrink(folder, most_bytes), stores: 0 },
    };
    // A number that was not written is found out by a look at the files later.
    let _ = file.rewind().and_then(|()| file.write_all(&count.encode()));
}

fn locked(file: &File) -> bool {
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return true,
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            // A file system without locks: two numbers at a time are wrong for a while.
            Err(TryLockError::Error(_)) => return true,
        }
    }
    false
}

/// What the file of the number holds.
struct Count {
    bytes: u64,
    stores: u64,
}

impl Count {
    fn encode(&self) -> [u8; 16] {
        let mut out = [0; 16];
        out[..8].copy_from_slice(&self.bytes.to_le_bytes());
        out[8..].copy_from_slice(&self.stores.to_le_bytes());
        out
    }
}

/// `None` where there is no number yet.
fn read(file: &mut File) -> Option<Count> {
    let (mut bytes, mut stores) = ([0; 8], [0; 8]);
    file.read_exact(&mut bytes).and_then(|()| file.read_exact(&mut stores)).ok()?;
    let [bytes, stores] = [bytes, stores].map(u64::from_le_bytes);
    (stores < STORES_PER_LOOK).then_some(Count { bytes, stores })
}

/// Remove what was not used for longest if there is too much, and what killed processes have left. How many bytes stay.
fn shrink(folder: &Path, most_bytes: u64) -> u64 {
    let mut entries: Vec<Found> = Vec::new();
    let now = SystemTime::now();
    for file in found(folder).into_iter().flatten() {
        // A file of the future was made when the clock was ahead: it is older than all others.
        let is_of_the_future = file.used > now + CLOCK_DIFFERENCE;
        let file = if is_of_the_future { Found { used: SystemTime::UNIX_EPOCH, ..file } } else { file };
        let age = now.duration_since(file.used).unwrap_or_default();
        match file.kind {
            Kind::Entry => entries.push(file),
            Kind::Part if age > LEFT_BEHIND => drop(std::fs::remove_file(&file.path)),
            Kind::Compiler if age > OLD_COMPILER => drop(std::fs::remove_file(&file.path)),
            Kind::Part | Kind::Compiler | Kind::Count => {}
        }
    }
    let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
    if bytes <= most_bytes {
        return bytes;
    }
    entries.sort_by_key(|entry| entry.used);
    let kept = most_bytes / 10 * KEPT_TENTHS;
    for entry in entries {
        if bytes <= kept {
            break;
        }
        // Who reads it at this time has it open and reads on.
        if std::fs::remove_file(&entry.path).is_ok() {
            bytes -= entry.bytes;
        }
    }
    bytes
}

/// A file of the cache.
struct Found {
    path: PathBuf,
    kind: Kind,
    bytes: u64,
    used: SystemTime,
}

/// The files of the cache in a folder. One that goes at this time is not there.
fn found(folder: &Path) -> Result<impl Iterator<Item = Found>, Error> {
    Ok(std::fs::read_dir(folder)?.filter_map(|item| {
        let item = item.ok()?;
        let kind = names::kind(item.file_name().to_str()?)?;
        // Of a link the link itself: what it leads to is not the cache's.
        let there = item.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let used = there.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Some(Found { path: item.path(), kind, bytes: there.len(), used })
    }))
}

/// How much is in a cache.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Results.
    pub(crate) entries: usize,
    /// Their bytes.
    pub(crate) bytes: u64,
}

/// How much is in the folder.
///
/// # Errors
/// It cannot be read.
pub(crate) fn contents(folder: &Path) -> Result<Contents, Error> {
    let entries = found(folder)?.filter(|file| file.kind == Kind::Entry);
    Ok(entries.fold(Contents::default(), |sum, file| Contents {
        entries: sum.entries + 1,
        bytes: sum.bytes.saturating_add(file.bytes),
    }))
}

/// Remove all files of the cache; how many results with how many bytes these were.
///
/// # Errors
/// The folder cannot be read, or a file cannot be removed.
pub(crate) fn clear(folder: &Path) -> Result<Contents, Error> {
    let mut gone = Contents::default();
    for file in found(folder)? {
        match std::fs::remove_file(&file.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        if file.kind == Kind::Entry {
            gone = Contents { entries: gone.entries + 1, bytes: gone.bytes.saturating_add(file.bytes) };
        }
    }
    Ok(gone)
}
