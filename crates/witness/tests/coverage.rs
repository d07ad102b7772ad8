//! Every instruction of the grammar has a table, or `tests/witness/without.txt` says why not.

use oriole_witness::{Table, tables};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The names of all instructions: what stands after `instr` in `crates/ptx/spec`.
fn instructions() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(repository("crates/ptx/spec")).expect("the grammar is there") {
        let text = std::fs::read_to_string(entry.expect("readable").path()).expect("text");
        let heads = text.lines().filter_map(|line| line.strip_prefix("instr "));
        let of_head =
            |head: &str| head.split('"').next().unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        names.extend(heads.flat_map(|head| -> Vec<String> { of_head(head) }));
    }
    names
}

/// The instruction that a statement's first word is: the longest name that it begins with.
fn named<'a>(word: &str, instructions: &'a BTreeSet<String>) -> Option<&'a str> {
    let ends = word.match_indices('.').map(|(at, _)| at).chain([word.len()]);
    ends.filter_map(|end| instructions.get(&word[..end])).max_by_key(|name| name.len()).map(String::as_str)
}

/// The instructions that stand in the code of a table, of those whose section it gives: others only serve them.
fn shown<'a>(table: &Table, instructions: &'a BTreeSet<String>) -> BTreeSet<&'a str> {
    let forms = table.forms.iter().flat_map(|form| form.code.iter().map(move |code| (&form.section, code)));
    let programs = table.programs.iter().map(|program| (&program.section, &program.code));
    let mut shown = BTreeSet::new();
    for (section, code) in forms.chain(programs) {
        let subjects: BTreeSet<&str> =
            section.split([' ', ',']).map(|word| word.split('.').next().unwrap_or_default()).collect();
        let words = code.split(|c: char| c.is_whitespace() || ";{}".contains(c));
        let names = words.filter_map(|word| named(word, instructions));
        shown.extend(names.filter(|name| subjects.contains(name.split('.').next().unwrap_or_default())));
    }
    shown
}

/// Instructions without a table, and why.
fn without() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(repository("tests/witness/without.txt")).expect("the list is committed");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut reasons = BTreeMap::new();
    for line in lines {
        let (names, reason) = line.split_once(": ").unwrap_or_else(|| panic!("`{line}` is not NAMES: REASON"));
        reasons.extend(names.split_whitespace().map(|name| (name.to_owned(), reason.to_owned())));
    }
    reasons
}

#[test]
fn every_instruction_has_a_table_or_a_reason() {
    let (instructions, without) = (instructions(), without());
    let tables = tables().expect("the tables are committed");
    let shown: BTreeSet<&str> = tables.iter().flat_map(|table| shown(table, &instructions)).collect();
    assert!(instructions.len() > 200, "{} instructions: the grammar is somewhere else now", instructions.len());
    let is_missing = |name: &&String| !shown.contains(name.as_str()) && !without.contains_key(*name);
    let missing: Vec<&String> = instructions.iter().filter(is_missing).collect();
    let stale: Vec<&String> =
        without.keys().filter(|name| shown.contains(name.as_str()) || !instructions.contains(*name)).collect();
    assert!(missing.is_empty(), "neither a table nor a reason: {missing:?}");
    assert!(stale.is_empty(), "a reason for what has a table, or is no instruction: {stale:?}");
}
