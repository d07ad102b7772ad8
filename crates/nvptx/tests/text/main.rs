//! The reader and printer of LLVM assembly.

mod corpus;
mod dialects;
mod errors;
mod forms;
mod llvm;

use std::path::{Path, PathBuf};

use oriole_nvptx::ir::Module;

/// The `.ll` files of a folder, in order; none where it is not there.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ll"));
    paths.sort();
    paths
}

/// The files beside these tests.
fn own() -> Vec<PathBuf> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ll"))
}

/// The kernels that clang and Triton made; none where they are not there.
fn kernels() -> Vec<PathBuf> {
    oriole_prerequisites::shared("kernels/ll").map_or_else(Vec::new, |folder| files(&folder))
}

/// The module in a text that is right.
fn module(text: &str) -> Module {
    oriole_nvptx::text::parse(text, "test.ll").unwrap_or_else(|error| panic!("{}", error.render(text)))
}
