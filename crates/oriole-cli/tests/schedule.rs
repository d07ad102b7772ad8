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
