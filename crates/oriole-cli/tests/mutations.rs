//! `tools/mutations`: what the tests are tried with still finds its place in the compiler.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A text that is replaced in a file.
#[derive(serde::Deserialize)]
struct Mutation {
    what: String,
    file: String,
    from: String,
    to: String,
}

/// The text of each mutation stands in its file once, so that `tools/mutate_compiler.py` breaks what it says.
#[test]
fn mutations_find_their_places() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut tried = 0;
    for entry in fs::read_dir(root.join("tools/mutations")).expect("the folder is there") {
        let text = fs::read_to_string(entry.expect("the folder can be read").path()).expect("the file can be read");
        let file: BTreeMap<String, Vec<Mutation>> = toml::from_str(&text).expect("the file is TOML");
        for Mutation { what, file, from, to } in file.into_values().flatten() {
            let code = fs::read_to_string(root.join(&file)).unwrap_or_default();
            assert_eq!(code.matches(&from).count(), 1, "{what}: {file} has other than one of: {from}");
            assert_ne!(from, to, "{what}");
            tried += 1;
        }
    }
    assert!(tried > 100, "only {tried} mutations");
}
