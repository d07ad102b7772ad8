//! `docs/phases.md` says what the tables of the program say.

use oriole_codegen::passes;
use oriole_opt::slots::SLOTS;
use std::path::Path;
use std::process::Command;

const START: &str = "<!-- oriole phases --markdown -->\n";
const END: &str = "<!-- end -->\n";

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/phases.md");
    std::fs::read_to_string(path).expect("the page")
}

#[test]
fn the_page_has_the_table_of_slots() {
    let output = Command::new(env!("CARGO_BIN_EXE_oriole")).args(["phases", "--markdown"]).output();
    let output = output.expect("oriole starts");
    let printed = String::from_utf8(output.stdout).expect("text");
    let page = page();
    let (_, rest) = page.split_once(START).expect("the first mark");
    let (table, _) = rest.split_once(END).expect("the second mark");
    assert!(table == printed, "docs/phases.md is not what `oriole phases --markdown` prints");
    let rows = |name: &str| table.lines().filter(|line| line.contains(&format!("| {name} |"))).count();
    for slot in SLOTS {
        assert_eq!(rows(slot.name), 1, "{}", slot.name);
    }
    let numbered = table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| slot")).count();
    assert_eq!(numbered, SLOTS.len());
}

/// The measured table has a line for each pass, in the order in which they run.
#[test]
fn every_pass_is_measured() {
    let page = page();
    let (_, measured) = page.split_once("## What each pass changes").expect("the chapter");
    let names = measured.lines().filter(|line| line.starts_with("| ") && line.matches('|').count() == 6);
    let names: Vec<&str> = names.filter_map(|line| line.split('|').nth(1)).map(str::trim).skip(1).collect();
    assert_eq!(names, passes().map(|pass| pass.name).collect::<Vec<_>>());
}
