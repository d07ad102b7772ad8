//! The files of `tests/data/fatbin`, which nvcc 13.0, nvcc 12.4 and libnvfatbin 12.9 have made.

use std::path::PathBuf;

/// Their folder.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fatbin")
}

/// All of them, sorted.
pub(crate) fn files() -> Vec<PathBuf> {
    let is_one = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("host") || [".fatbin", ".o", ".a"].iter().any(|end| name.ends_with(end))
    };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).filter(is_one).collect();
    files.sort();
    files
}

pub(crate) fn read(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}
