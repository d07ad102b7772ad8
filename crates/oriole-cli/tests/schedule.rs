//! `oriole schedule` and `compile --schedule`: what they say of a bundled kernel fits what its control words say.

use crate::scratch::{Scratch, text};
use std::path::Path;

/// A folder with `k.cubin`, and its code with control words.
fn compiled() -> (Scratch, String) {
    let scratch = Scratch::with_three();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kernels/ptx/sort.sm_80.ptx");
    std::fs::copy(source, scratch.path("k.ptx")).expect("a bundled kernel");
    scratch.says("compile k.ptx -o k.cubin --schedule s.json", 0);
    let listing = text(&scratch.run("disasm k.cubin --control"));
    (scratch, listing)
}

/// Address, stall count and whether it waits, of each instruction in a listing such as
/// `/*00a0*/ B0--34-:R-:W-:Y:S01 IMAD …`.
fn controls(listing: &str) -> Vec<(u64, u64, bool)> {
    let line = |line: &str| {
        let (address, rest) = line.trim().strip_prefix("/*")?.split_once("*/ ")?;
        let (control, _) = rest.split_once(' ')?;
        let stall = control.rsplit_once(":S")?.1.parse().ok()?;
        Some((u64::from_str_radix(address, 16).ok()?, stall, !control.starts_with("B------")))
    };
    listing.lines().filter_map(line).collect()
}

#[test]
fn cycles_are_those_of_the_control_words() {
    let (scratch, listing) = compiled();
    let controls = controls(&listing);
    let timelines: serde_json::Value = serde_json::from_slice(&scratch.read("s.json")).expect("JSON");
    let mut seen = 0;
    for block in
        timelines.as_array().into_iter().flatten().flat_map(|one| one["blocks"].as_array().into_iter().flatten())
    {
        let issues = block["instructions"].as_array().expect("instructions");
        for pair in issues.windows(2) {
            let number = |issue: &serde_json::Value, what: &str| issue[what].as_u64().expect("a number");
            let passed = number(&pair[1], "cycle") - number(&pair[0], "cycle");
            // Addresses begin anew in each section: one of those there must have such control words. What stands behind the code, with
            // a stall count of 0, is left out.
            let stalls = controls
                .windows(2)
                .filter(|two| two[0].0 == number(&pair[0], "address") && two[1].0 == number(&pair[1], "address"));
            assert!(
                stalls.into_iter().any(|two| two[0].1 == 0 || passed == two[0].1 || passed > two[0].1 && two[1].2),
                "{pair:?}"
            );
            seen += 1;
        }
    }
    assert!(seen > 200, "{seen} pairs");
}

#[test]
fn forms_and_explanations() {
    let (scratch, _) = compiled();
    let table = text(&scratch.run("schedule k.cubin --entry bitonic_global"));
    assert!(table.starts_with("bitonic_global, block at 0x0000: ") && table.contains("waits for"), "{table}");
    let waiting = table.lines().find(|line| line.contains(": result of LDG")).expect("a load is waited for");
    let address = waiting.split_whitespace().find(|word| word.starts_with("0x")).expect("an address");
    let said = text(&scratch.run(&format!("schedule k.cubin --entry bitonic_global --explain {address}")));
    assert!(said.contains("scoreboard") && said.contains("  needs LDG"), "{said}");
    scratch.says("schedule k.cubin -o s.svg", 0);
    let svg = String::from_utf8(scratch.read("s.svg")).expect("text");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.matches("<title>").count() > 200);
    let json = text(&scratch.run("schedule k.cubin --form json"));
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
}

#[test]
fn what_is_refused() {
    let (scratch, _) = compiled();
    assert!(scratch.says("schedule k.cubin --entry nobody", 1).contains("nobody"));
    assert!(scratch.says("schedule k.ptx", 1).contains("k.ptx"));
    assert!(scratch.says("schedule k.cubin --explain 0xfffff0", 1).contains("no instruction is at 0xfffff0"));
    scratch.says("schedule k.cubin --explain here", 2);
    scratch.says("schedule k.cubin --explain 0 --form svg", 2);
}

/// Numbers of the documents.
fn number(of: &serde_json::Value, what: &str) -> u64 {
    of[what].as_u64().unwrap_or_else(|| panic!("no number {what} in {of}"))
}

/// The same instruction in text and in JSON, found by its text, its address, and its function's name with either; `compile` says the
/// same as `schedule`.
#[test]
fn why_an_instruction_stands_where_it_stands() {
    let (scratch, _) = compiled();
    let asked = |what: &str| text(&scratch.run(&format!("schedule k.cubin --explain-schedule={what}")));
    let found = asked("bitonic_global:fsetp");
    let place = found.split_once(": ").map(|(place, _)| place).expect("function and address");
    assert!(place.starts_with("bitonic_global:0x"), "{found}");
    for part in
        ["\n --> block at 0x", "= control: stall count", "= held back: until cycle", ": this binds", "= waits for it: "]
    {
        assert!(found.contains(part), "{part}: {found}");
    }
    assert!(found.contains(&asked(place)) && asked(place).starts_with(place), "{found}");
    let compiled = text(&scratch.run(&format!("compile k.ptx -o k2.cubin --explain-schedule={place}")));
    assert_eq!(compiled, asked(place));
    let json = text(&scratch.run(&format!("schedule k.cubin --form json --explain-schedule={place}")));
    let blocks: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let one = &blocks[0]["instructions"][0];
    assert_eq!(format!("bitonic_global:{:#06x}", number(one, "address")), place);
    let binding = &one["follows"][0];
    assert_eq!(number(binding, "from"), number(one, "earliest"));
    assert!(number(one, "cycle") >= number(one, "earliest") && found.contains(one["text"].as_str().expect("text")));
}

/// All instructions of a module: cycles are those of the timelines, dependences name instructions of the block, and whoever is
/// not as early as it could be has somebody ahead or waits for a slot.
#[test]
fn explanations_fit_the_timelines() {
    let (scratch, _) = compiled();
    let timelines: serde_json::Value = serde_json::from_slice(&scratch.read("s.json")).expect("JSON");
    let cycles: std::collections::HashMap<(String, u64), u64> = timelines
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|one| {
            let issues =
                one["blocks"].as_array().into_iter().flatten().flat_map(|block| block["instructions"].as_array());
            issues
                .flatten()
                .map(|issue| ((one["function"].to_string(), number(issue, "address")), number(issue, "cycle")))
        })
        .collect();
    let json = text(&scratch.run("schedule k.cubin --form json --explain-schedule=R"));
    let blocks: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let (mut seen, mut passed) = (0, 0);
    for block in blocks.as_array().into_iter().flatten() {
        for one in block["instructions"].as_array().into_iter().flatten() {
            assert_eq!(
                cycles.get(&(block["function"].to_string(), number(one, "address"))),
                Some(&number(one, "cycle"))
            );
            assert!(
                number(one, "cycle") + number(one, "height") + number(one, "slack") == number(block, "cycles"),
                "{one}"
            );
            let ahead = one["passed"].as_array().expect("a list");
            assert!(ahead.iter().all(|other| other["reason"] != "other-order"), "{one}");
            (seen, passed) = (seen + 1, passed + ahead.len());
        }
    }
    assert!(seen > 150 && passed > 20, "{seen} instructions, {passed} ahead of others");
}

#[test]
fn the_longest_way_of_the_hottest_block() {
    let (scratch, _) = compiled();
    let said = text(&scratch.run("schedule k.cubin --entry bitonic_global --explain-schedule"));
    assert!(said.starts_with("bitonic_global: the hottest block is the one at 0x"), "{said}");
    let json = text(&scratch.run("schedule k.cubin --entry bitonic_global --explain-schedule -o - --form json"));
    let blocks: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let way = blocks[0]["instructions"].as_array().expect("a way");
    assert!(way.iter().all(|one| one["critical"] == true), "{json}");
    for pair in way.windows(2) {
        let next = number(&pair[1], "address");
        let follows = pair[0]["followed_by"].as_array().into_iter().flatten();
        assert!(follows.into_iter().any(|one| number(one, "address") == next), "{pair:?}");
    }
}

#[test]
fn what_cannot_be_explained() {
    let (scratch, _) = compiled();
    let asked = |what: &str, status: i32| scratch.says(&format!("schedule k.cubin --explain-schedule={what}"), status);
    assert!(asked("nobody:0x10", 1).contains("no function 'nobody'; there are: bitonic_"));
    let outside = asked("bitonic_global:0xfffff0", 1);
    assert!(outside.contains("no instruction is at 0xfffff0; bitonic_global has 0x0000 to 0x"), "{outside}");
    assert!(asked("0x8", 1).contains("no instruction is at 0x0008"));
    let text = asked("HMMA", 1);
    assert!(text.contains("no instruction has 'HMMA' in its text; there are: ") && text.contains("EXIT"), "{text}");
    assert!(asked("0xhere", 2).contains("is no address"));
    assert!(asked(":0x10", 2).contains("no function ahead of the colon"));
    assert!(scratch.says("schedule k.cubin --explain-schedule=0x10 --form svg", 2).contains("no drawing"));
    scratch.says("schedule k.cubin --explain-schedule --explain 0x10", 2);
    assert!(scratch.says("compile k.ptx -o - --explain-schedule", 2).contains("standard output cannot take both"));
    scratch.says("compile k.ptx --out-dir d --explain-schedule", 2);
}
