//! The committed manual is what the command writes.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries.map(|e| e.expect("an entry").file_name().into_string().expect("UTF-8")).collect()
}

#[test]
fn the_manual_is_current() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_str().expect("a UTF-8 path");
    let done =
        Command::new(env!("CARGO_BIN_EXE_oriole")).args(["isa", "manual", path]).status().expect("oriole starts");
    assert!(done.success());
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/isa/manual");
    assert_eq!(names(&committed), names(folder.path()), "run: oriole isa manual docs/isa/manual");
    for name in names(&committed) {
        let read = |folder: &Path| std::fs::read_to_string(folder.join(&name)).expect("text");
        assert!(
            read(&committed) == read(folder.path()),
            "{name} is out of date; run: oriole isa manual docs/isa/manual"
        );
    }
}
