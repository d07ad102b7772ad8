//! A folder of files.

use crate::file::{Tested, Wrong, check};
use std::path::{Path, PathBuf};

/// Whether the environment asks for the files to be written: `BLESS=1`.
pub fn bless() -> bool {
    std::env::var("BLESS").is_ok_and(|value| value != "0" && !value.is_empty())
}

/// Runs all files of a folder and of those in it; with `bless` writes what comes out into them.
///
/// # Errors
/// What is wrong: with files, with cases, with what comes out.
pub fn run(folder: &Path, bless: bool) -> Result<Vec<Tested>, Vec<Wrong>> {
    let mut paths = Vec::new();
    let unreadable = |error: std::io::Error| Wrong { file: folder.to_owned(), line: 1, what: error.to_string() };
    files(folder, &mut paths).map_err(|error| vec![unreadable(error)])?;
    let (mut tested, mut wrong) = (Vec::new(), Vec::new());
    for path in paths {
        match check(&path, bless) {
            Ok((file, faults)) => {
                wrong.extend(faults);
                tested.push(file);
            }
            Err(fault) => wrong.push(fault),
        }
    }
    if wrong.is_empty() { Ok(tested) } else { Err(wrong) }
}

/// The files of a folder and of those in it, in order.
fn files(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() { files(&path, found)? } else { found.push(path) }
    }
    Ok(())
}
