//! Makes the lists of PTX names and the grammar's tables from the text files in `spec/` (notation:
//! `docs/ptx-grammar.md`).

#[path = "build/mod.rs"]
mod build;

use std::path::Path;
use std::{env, fs, process};

/// The files that the others use, which are read first.
const SHARED: [&str; 2] = ["words.grammar", "sets.grammar"];

fn main() {
    if let Err(message) = run() {
        eprintln!("{message}");
        process::exit(1);
    }
}

fn run() -> Result<(), String> {
    println!("cargo::rerun-if-changed=spec");
    let spec = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("spec");
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(&spec).map_err(|error| failed(&spec, error))? {
        paths.push(entry.map_err(|error| failed(&spec, error))?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "grammar"));
    let shared = |path: &Path| SHARED.iter().position(|name| path.ends_with(name)).unwrap_or(SHARED.len());
    paths.sort_by_key(|path| (shared(path), path.clone()));
    let mut files = Vec::new();
    for path in paths {
        files.push((path.display().to_string(), fs::read_to_string(&path).map_err(|error| failed(&path, error))?));
    }
    let made = build::make(&files)?;
    let out = variable("OUT_DIR")?;
    for (name, text) in [("names.rs", made.names), ("tables.rs", made.tables)] {
        let path = Path::new(&out).join(name);
        fs::write(&path, text).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|error| format!("{name}: {error}"))
}
