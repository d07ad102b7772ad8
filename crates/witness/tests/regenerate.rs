//! The tables are what the scripts make.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Modules that the scripts need beyond Python's own (`tools/witness/requirements.txt`).
const MODULES: [&str; 1] = ["mpmath"];

/// The files of a folder of tables, by chapter and name.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    for chapter in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable").path()) {
        // What stands beside the chapters is written by hand.
        if !chapter.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(&chapter).expect("a folder").map(|entry| entry.expect("readable").path()) {
            let name = file.strip_prefix(folder).expect("it is in there").to_owned();
            files.insert(name, std::fs::read_to_string(&file).expect("text"));
        }
    }
    files
}

#[test]
fn the_scripts_make_the_committed_tables() {
    let Some(python) = oriole_prerequisites::python(&MODULES) else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let made = tempfile::tempdir().expect("a folder");
    let output = Command::new(python).arg(root.join("tools/witness/generate.py")).arg(made.path()).output();
    let output = output.expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (made, committed) = (files(made.path()), files(&root.join("tests/witness")));
    let names = |files: &BTreeMap<PathBuf, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&made), names(&committed));
    for (name, text) in &made {
        let differs = text.lines().zip(committed[name].lines()).position(|(made, committed)| made != committed);
        assert!(*text == committed[name], "{} is not what the script makes, line {differs:?}", name.display());
    }
}
