//! Several searches, on one machine and on more.

use super::{LAUNCH, chains, compiled, scratch, tuned};
use crate::scratch::{Scratch, error_text, text};
use serde_json::Value;

const SEARCHES: &str = "--trials 130 --seed 3 --searches 3";

fn timeless(mut report: Value) -> Value {
    report["seconds"] = Value::Null;
    report
}

fn list(report: &Value, name: &str) -> Vec<Value> {
    report[name].as_array().expect("a list").clone()
}

/// `oriole merge` of these; its report, and what it prints without the first line, which has the time.
fn merged(scratch: &Scratch, reports: &str) -> (Value, String) {
    let output = scratch.run(&format!("merge {reports} --json all.json"));
    assert!(output.status.success(), "{}", error_text(&output));
    let printed = text(&output).split_once('\n').expect("a table").1.to_owned();
    (timeless(serde_json::from_slice(&scratch.read("all.json")).expect("JSON")), printed)
}

#[test]
fn searches_of_shards_are_those_of_one_machine() {
    let scratch = scratch(&chains([""; 2]));
    let whole = scratch.run(&format!("tune k.ptx --report whole.json -o whole.cubin {SEARCHES} -- {LAUNCH}"));
    let table = text(&whole).split_once('\n').expect("a table").1.to_owned();
    let whole = timeless(serde_json::from_slice(&scratch.read("whole.json")).expect("JSON"));
    assert_eq!((&whole["searches"], &whole["candidates"]), (&3.into(), &(3 * 130).into()));
    for count in [1, 2, 4] {
        let mut cubins = Vec::new();
        for number in 1..=count {
            let report = tuned(&scratch, &format!("{SEARCHES} --shard {number}/{count} -o out"));
            scratch.write(&format!("{number}.json"), report.to_string());
            cubins.push(scratch.read("out"));
        }
        let names: Vec<String> = (1..=count).map(|number| format!("{number}.json")).collect();
        assert_eq!(merged(&scratch, &names.join(" ")), (whole.clone(), table.clone()), "{count} shards");
        assert!(cubins.contains(&scratch.read("whole.cubin")));
    }
    assert!(compiled(&scratch, &whole["best"]["options"]) == scratch.read("whole.cubin"));
    // Each search is what it is alone, and the best is the best of them.
    let alone: Vec<Value> =
        (3..6).map(|seed| tuned(&scratch, &format!("--trials 130 --seed {seed} -o alone.cubin"))).collect();
    for name in ["improvements", "refused"] {
        assert_eq!(list(&whole, name), alone.iter().flat_map(|report| list(report, name)).collect::<Vec<_>>());
    }
    let least = alone.iter().filter_map(|report| report["best"]["cycles"].as_u64()).min();
    assert_eq!(whole["best"]["cycles"].as_u64(), least);
}

#[test]
fn wrong_usage_of_shards_is_named() {
    let scratch = scratch(&chains([""; 2]));
    for (words, message) in [
        ("--searches 2", "--trials"),
        ("--shard 1/2", "--trials"),
        ("--searches 0 --trials 1", "--searches"),
        ("--shard 3/2 --trials 1", "there is no shard 3 of 2"),
        ("--shard 1/2 --trials 1 --engine gpu", "what the GPUs of different machines measure cannot be compared"),
    ] {
        let said = scratch.says(&format!("tune k.ptx {words} -- {LAUNCH}"), 2);
        assert!(said.contains(message), "{words}: {said}");
    }
    tuned(&scratch, "--trials 1 --shard 1/1 -o out");
    assert!(scratch.says("merge report.json --junit x.xml", 2).contains("--junit"));
}
