//! The files of a cache folder. What has none of these names is not the cache's and is left alone.

use crate::commands::system;
use crate::commands::unfinished::Unfinished;
use crate::temporary;
use blake3::Hash;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::path::Path;

/// A result: `oriole-KEY.entry`.
const ENTRY: &str = ".entry";
/// The hash of a compiler: `oriole-STAMP.compiler`.
const COMPILER: &str = ".compiler";
/// A file that is being written, and what a process that was killed has left: `oriole-XXXXXX.part`.
const PART: &str = ".part";
const PREFIX: &str = "oriole-";
/// How many bytes there are, and the lock of who counts them.
pub(super) const COUNT: &str = "oriole.count";

/// What a file of the folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Entry,
    Compiler,
    Part,
    Count,
}

/// What a name says, if it is one of the cache's.
pub(super) fn kind(name: &str) -> Option<Kind> {
    if name == COUNT {
        return Some(Kind::Count);
    }
    let rest = name.strip_prefix(PREFIX)?;
    let is_hash = |hex: &str| Hash::from_hex(hex).is_ok();
    if rest.strip_suffix(PART).is_some_and(|random| random.bytes().all(|b| b.is_ascii_alphanumeric())) {
        Some(Kind::Part)
    } else if rest.strip_suffix(ENTRY).is_some_and(is_hash) {
        Some(Kind::Entry)
    } else {
        rest.strip_suffix(COMPILER).is_some_and(is_hash).then_some(Kind::Compiler)
    }
}

/// The name of a result.
pub(super) fn entry(key: &Hash) -> String {
    format!("{PREFIX}{}{ENTRY}", key.to_hex())
}

/// The name of a compiler's hash.
pub(super) fn compiler(stamp: &Hash) -> String {
    format!("{PREFIX}{}{COMPILER}", stamp.to_hex())
}

/// A new file that goes again unless it gets another name. All whom the process's umask lets can read it: a folder may serve
/// several users.
pub(super) fn unfinished(folder: &Path) -> Result<Unfinished, Error> {
    Unfinished::in_folder(folder, tempfile::Builder::new().prefix(PREFIX).suffix(PART)).map_err(temporary::cause)
}

/// Open a file of the cache. What is no file, and a link, is not the cache's: it goes, and nobody waits for its bytes or
/// writes to what it leads to.
pub(super) fn open(path: &Path, options: &OpenOptions) -> Result<File, Error> {
    let options = || system::without_following(options.clone()).open(path);
    let is_ours = |file: &File| file.metadata().is_ok_and(|there| there.is_file());
    match options() {
        Ok(file) if is_ours(&file) => Ok(file),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(error),
        _ => {
            let there = std::fs::symlink_metadata(path)?;
            if !there.is_file() {
                std::fs::remove_file(path)?;
            }
            options()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_names() {
        let hash = blake3::hash(b"");
        assert_eq!(kind(&entry(&hash)), Some(Kind::Entry));
        assert_eq!(kind(&compiler(&hash)), Some(Kind::Compiler));
        assert_eq!(kind(COUNT), Some(Kind::Count));
        assert_eq!(kind("oriole-a1B2c3.part"), Some(Kind::Part));
        for name in ["k.cubin", "oriole", "oriole-.entry", "oriole-12.entry", "oriole-a b.part", "my-oriole-a.part"] {
            assert_eq!(kind(name), None, "{name}");
        }
    }
}
