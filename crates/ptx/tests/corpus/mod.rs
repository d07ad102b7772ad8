//! The shared kernels and instruction forms, beside the repository.

use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &str, extension: &str) -> Vec<(String, String)> {
    let Some(folder) = oriole_prerequisites::shared(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == extension));
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

/// The real kernels: file name and text.
pub(crate) fn kernels() -> Vec<(String, String)> {
    files("kernels/ptx", "ptx")
}

/// The forms that ptxas accepts, as modules for their first target: id and text.
pub(crate) fn forms() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (_, lines) in files("ptx_forms/forms", "jsonl") {
        for line in lines.lines() {
            let form: serde_json::Value = serde_json::from_str(line).unwrap();
            let target = form["targets"][0].as_str().unwrap();
            let text = form["ptx"].as_str().unwrap().replace("@TARGET@", target);
            found.push((form["id"].as_str().unwrap().to_owned(), text));
        }
    }
    found
}
