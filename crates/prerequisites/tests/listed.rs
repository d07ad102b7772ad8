//! Crates have one test program each (`tests/all.rs`): a file that it does not name would never run.

use std::path::{Path, PathBuf};

/// What is in a folder, if it is there.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.expect("it can be read").path()).collect()
}

/// The name of the module that a file or folder of tests is; `None` for data.
fn module(path: &Path) -> Option<&str> {
    let is_module = match path.is_dir() {
        true => path.join("main.rs").is_file() || path.join("mod.rs").is_file(),
        false => path.extension().is_some_and(|extension| extension == "rs"),
    };
    path.file_stem().filter(|_| is_module)?.to_str()
}

#[test]
fn every_file_of_tests_runs() {
    let mut programs = 0;
    for folder in entries(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")) {
        let Ok(program) = std::fs::read_to_string(folder.join("tests/all.rs")) else { continue };
        programs += 1;
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a crate");
        for path in entries(&folder.join("tests")) {
            let Some(name) = module(&path).filter(|name| *name != "all") else { continue };
            let is_listed = program.lines().any(|line| line == format!("mod {name};"));
            let is_own = manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
            assert!(is_listed || is_own, "{} runs nowhere: {} does not name it", path.display(), folder.display());
        }
    }
    assert!(programs >= 10, "{programs} programs: they are somewhere else now");
}
