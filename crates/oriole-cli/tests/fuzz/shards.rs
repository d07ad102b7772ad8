//! `oriole fuzz --shard` and `oriole merge`: what shards find together is what one campaign finds.

use crate::scratch::{Scratch, error_text};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The report without what two runs differ in.
fn timeless(scratch: &Scratch, name: &str) -> Value {
    let mut report: Value = serde_json::from_slice(&scratch.read(name)).expect("JSON");
    report["seconds"] = Value::Null;
    report
}

/// The campaign whole, and in shards that are merged, with that exit status.
fn is_the_same_in_shards(scratch: &Scratch, campaign: &str, status: i32) -> Value {
    let fuzz = |more: &str| {
        let output = scratch.run(&format!("fuzz {campaign} --jobs 2 {more}"));
        (output.status.code(), error_text(&output))
    };
    let (code, said) = fuzz("--json whole.json --out whole");
    assert_eq!(code, Some(status), "{said}");
    let whole = timeless(scratch, "whole.json");
    for count in [1, 2, 5] {
        let mut statuses = Vec::new();
        for number in 1..=count {
            statuses.push(fuzz(&format!("--json {number}.json --out parts{count} --shard {number}/{count}")).0);
        }
        assert_eq!(statuses.into_iter().max(), Some(Some(status)));
        let names: Vec<String> = (1..=count).map(|number| format!("{number}.json")).collect();
        let said = scratch.says(&format!("merge {} --json all.json", names.join(" ")), status);
        assert_eq!(timeless(scratch, "all.json"), whole, "{count} shards: {said}");
        let files = |folder: &str| {
            let entries = std::fs::read_dir(scratch.path(folder)).into_iter().flatten().flatten();
            let mut files: Vec<_> =
                entries.map(|entry| (entry.file_name(), std::fs::read(entry.path()).ok())).collect();
            files.retain(|(name, _)| name.to_string_lossy().ends_with(".ptx"));
            files.sort();
            files
        };
        assert_eq!(files(&format!("parts{count}")), files("whole"));
    }
    whole
}

/// A ptxas that does not take programs 5 and 40: both are findings.
#[test]
fn random_programs() {
    let scratch = Scratch::new();
    let ours = env!("CARGO_BIN_EXE_oriole");
    let script = format!(
        "#!/bin/sh\nfor word; do case $word in *.ptx) grep -qE 'entry k(5|40)\\(' $word && exit 1;; esac; done\nexec {ours} ptxas \"$@\"\n"
    );
    scratch.write("ptxas", script);
    std::fs::set_permissions(scratch.path("ptxas"), std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let campaign = "--count 50 --seed 9 --kind kernels --statements 6 --arch sm_80 -O 0 --ptxas ./ptxas";
    let whole = is_the_same_in_shards(&scratch, campaign, 1);
    let numbers: Vec<_> = whole["findings"].as_array().expect("a list").iter().map(|found| &found["number"]).collect();
    assert_eq!(numbers, [5, 40]);
    assert_eq!((&whole["count"], &whole["first"]), (&50.into(), &0.into()));
}

#[test]
fn mutants_and_guards() {
    let scratch = Scratch::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let program = data.join("programs/carry_32.ptx");
    let whole = is_the_same_in_shards(&scratch, &format!("--kind mutants --count 12 --of {}", program.display()), 0);
    assert!(whole["mutants"]["compiled"].as_u64() > Some(0), "{whole}");
    let forms = std::fs::read_to_string(data.join("data/forms/selection.jsonl")).expect("it is committed");
    let some: Vec<&str> = forms.lines().step_by(12).collect();
    scratch.write("some.jsonl", some.join("\n"));
    let campaign = format!("--kind guards --count {} -O 3 --of some.jsonl", some.len());
    let whole = is_the_same_in_shards(&scratch, &campaign, 0);
    assert!(whole["guards"]["compared"].as_u64() > Some(0), "{whole}");
}

#[test]
fn wrong_usage_of_shards_is_named() {
    let scratch = Scratch::new();
    for words in ["--shard 0/1", "--shard 2/1", "--shard 1/2 --show 3", "--json x --run a.ptx"] {
        scratch.says(&format!("fuzz {words}"), 2);
    }
    // Standard output has the report and nothing else.
    let output = scratch.run("fuzz --count 2 --json - --shard 1/1");
    serde_json::from_slice::<Value>(&output.stdout).expect("JSON");
    assert!(error_text(&output).contains("2 programs, 0 findings"));
}
