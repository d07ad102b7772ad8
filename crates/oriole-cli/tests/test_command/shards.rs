//! `--shard`, and `oriole merge`: what shards say together is what one run says, but for the times.

use super::{Bench, summary};
use crate::scratch::error_text;
use serde_json::Value;

/// Of two manifests: launches that pass, fail in each way, fault and print.
fn bench() -> Bench {
    let launch = |name: &str, program: &str, more: &str| {
        format!("[[launch]]\nname = '{name}'\nprogram = '{program}'\nblock = 1\n{more}\n")
    };
    let saxpy = |name: &str, expected: f32| {
        let args = format!(
            "entry = 'saxpy'\nargs = ['f32:2', {{ in = [1, 0.1], type = 'f32[2]' }}, {{ inout = [1, 2], type = 'f32[2]', expect = [{expected}, 2] }}, 'u32:1']"
        );
        launch(name, "saxpy", &args)
    };
    let hello = |name: &str, more: &str| launch(name, "hello", &format!("entry = 'hello'\n{more}"));
    let first = [
        hello("says hello", "prints = \"hello\\n\""),
        saxpy("is right", 3.0),
        saxpy("is wrong", 0.1),
        hello("says <&> ]]> else", "prints = \"<&>\\u0001\\n\""),
        hello("has no fault", "fault = 'trap'"),
    ];
    let second = [
        launch("is nobody", "hello", "entry = 'nobody'\nprints = ''"),
        launch(
            "never ends",
            "endless",
            "entry = 'endless'\nmax_instructions = 1000\nargs = [{ scratch = 'u32[1]' }]\nstrict = true",
        ),
        saxpy("is wrong in both", 1e-7),
    ];
    let programs = "saxpy = 'saxpy.ptx'\nhello = 'hello.ptx'\nendless = 'endless.ptx'";
    let bench = Bench::new(programs, &first.concat());
    bench.0.write("second.toml", format!("[defaults]\nlevels = [0, 3]\n[programs]\n{programs}\n{}", second.concat()));
    bench
}

/// A JSON report without its times.
fn timeless(report: &[u8]) -> Value {
    let mut report: Value = serde_json::from_slice(report).expect("JSON");
    report["seconds"] = Value::Null;
    let launches = report["launches"].as_array_mut().expect("a list");
    launches.iter_mut().for_each(|launch| launch["seconds"] = Value::Null);
    report
}

/// The lines of JUnit without what stands behind `time`.
fn timeless_lines(xml: &[u8]) -> String {
    let text = String::from_utf8(xml.to_vec()).expect("UTF-8");
    let (mut kept, mut rest) = (String::new(), text.as_str());
    while let Some((before, behind)) = rest.split_once(" time=\"") {
        kept.push_str(before);
        rest = behind.split_once('"').expect("an end").1;
    }
    kept + rest
}

#[test]
fn merged_reports_are_those_of_one_run() {
    let bench = bench();
    let whole = bench.test("second.toml --json whole.json --junit whole.xml", 3);
    let (json, xml) = (timeless(&bench.0.read("whole.json")), timeless_lines(&bench.0.read("whole.xml")));
    assert_eq!(json["launches"].as_array().map(Vec::len), Some(11));
    for count in [1, 2, 3, 11, 13] {
        let mut statuses = Vec::new();
        for number in 1..=count {
            let output =
                bench.0.run(&format!("test m.toml second.toml --shard {number}/{count} --json {number}.json -q"));
            statuses.extend(output.status.code());
        }
        // In any order.
        let names: Vec<String> = (1..=count).rev().map(|number| format!("{number}.json")).collect();
        let merged = bench.0.run(&format!("merge {} --json all.json --junit all.xml", names.join(" ")));
        assert_eq!(merged.status.code(), statuses.into_iter().max(), "{}", error_text(&merged));
        assert_eq!(timeless(&bench.0.read("all.json")), json, "{count} shards");
        assert_eq!(timeless_lines(&bench.0.read("all.xml")), xml, "{count} shards");
        let blocks = |output: &std::process::Output| {
            let said = error_text(output);
            let (blocks, _) = said.rsplit_once(", ").expect("the time is last");
            blocks.to_owned()
        };
        assert_eq!(blocks(&merged), blocks(&whole));
    }
}

#[test]
fn shards_are_a_part_of_the_list() {
    let bench = bench();
    let list = |options: &str| String::from_utf8(bench.test(options, 0).stdout).expect("UTF-8");
    let parts: String = (1..=3).map(|number| list(&format!("--list --filter s --shard {number}/3"))).collect();
    assert_eq!(parts, list("--list --filter s"));
    assert_eq!(list("--list --shard 1/6"), "");
    assert_eq!(summary(&bench.says("--shard 1/6", 0)), "0 launches: 0 passed");
}

#[test]
fn what_is_no_whole_run_is_refused() {
    let bench = bench();
    for wrong in ["0/2", "3/2", "1/0", "1", "x/2", "2"] {
        assert!(bench.says(&format!("--shard {wrong}"), 2).contains("--shard"), "{wrong}");
    }
    bench.test("--shard 1/2 --json 1.json -q", 0);
    bench.test("--shard 2/2 --json 2.json -q", 1);
    bench.test("--shard 2/2 --filter says --json other.json -q", 1);
    bench.test("--json whole.json", 1);
    bench.0.write("broken.json", "{");
    let refused = [
        ("1.json", "the report of shard 2/2 is missing"),
        ("1.json 1.json 2.json", "two reports of shard 1/2"),
        ("1.json other.json", "not of the same run"),
        ("whole.json", "whole.json: not the report of a shard"),
        ("broken.json", "broken.json: not the report of a shard"),
        ("nowhere.json", "nowhere.json: cannot be read"),
    ];
    for (reports, message) in refused {
        let said = bench.0.says(&format!("merge {reports} --json out.json"), 1);
        assert!(said.contains(message) && !bench.0.path("out.json").exists(), "{reports}: {said}");
    }
    assert!(bench.0.says("merge 1.json 2.json --json 1.json", 2).contains("is an input"));
    bench.0.says("merge", 2);
}
