//! The reader of LLVM assembly.

use std::path::{Path, PathBuf};

use oriole_nvptx::text::{parse, print};

/// The `.ll` files of the corpus; none where it is not there.
fn corpus() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/kernels/ll");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ll"));
    paths.sort();
    paths
}

#[test]
fn all_files_of_the_corpus_are_read() {
    for path in corpus() {
        let text = std::fs::read_to_string(&path).expect("the file is there");
        let name = path.display().to_string();
        if let Err(error) = parse(&text, &name) {
            panic!("{}", error.render(&text));
        }
    }
}

#[test]
fn what_is_printed_reads_back_as_the_same() {
    for path in corpus() {
        let text = std::fs::read_to_string(&path).expect("the file is there");
        let first = print(&parse(&text, "first").expect("read before"));
        let again =
            parse(&first, "printed").unwrap_or_else(|error| panic!("{}: {}", path.display(), error.render(&first)));
        assert!(print(&again) == first, "{} prints differently the second time", path.display());
    }
}
