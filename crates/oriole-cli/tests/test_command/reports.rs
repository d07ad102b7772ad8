//! `--junit` and `--json`.

use super::{Bench, summary};
use crate::scratch::error_text;
use quick_junit::{NonSuccessKind, Report, TestCaseStatus};

/// Three launches: one is right, one prints something else, one cannot be; their names have what XML treats specially.
const LAUNCHES: &str = "[[launch]]
name = 'says <hello> & \"goes\"'
entry = 'hello'
block = 1
prints = \"hello\\n\"
[[launch]]
name = 'says ]]> something else'
entry = 'hello'
block = 1
prints = \"<&>\\u0001\\n\"
[[launch]]
name = 'is nobody'
entry = 'nobody'
block = 1
prints = ''
";

#[test]
fn junit_is_read_by_an_xml_reader() {
    let bench = Bench::of("hello.ptx", LAUNCHES);
    assert_eq!(summary(&bench.says("--junit report.xml", 1)), "3 launches: 1 passed, 1 failed, 1 error");
    let xml = String::from_utf8(bench.0.read("report.xml")).expect("UTF-8");
    let report = Report::deserialize_from_str(&xml).expect("JUnit");
    assert_eq!((report.tests, report.failures, report.errors), (3, 1, 1));
    let [suite] = report.test_suites.as_slice() else { panic!("{xml}") };
    assert_eq!(suite.name.as_str(), "m.toml");
    let names: Vec<&str> = suite.test_cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["says <hello> & \"goes\" [-O3]", "says ]]> something else [-O3]", "is nobody [-O3]"]);
    let [good, differs, nobody] = suite.test_cases.as_slice() else { panic!("{xml}") };
    assert!(matches!(good.status, TestCaseStatus::Success { .. }) && good.time.is_some());
    assert_eq!(good.system_out.as_ref().map(|text| text.as_str()), Some("hello"));
    let failure = |status: &TestCaseStatus| match status {
        TestCaseStatus::NonSuccess { kind, message, description, .. } => (
            *kind,
            message.as_ref().expect("a message").to_string(),
            description.as_ref().expect("a block").to_string(),
        ),
        other => panic!("{other:?}"),
    };
    let (kind, _, block) = failure(&differs.status);
    assert!(kind == NonSuccessKind::Failure && block.contains("\"<&>\\u{1}\\n\""), "{block}");
    let (kind, message, _) = failure(&nobody.status);
    assert!(kind == NonSuccessKind::Error && message.contains("no kernel 'nobody'"), "{message}");
}

/// JSON alone is on standard output, and both say the same.
#[test]
fn json_has_what_is_said() {
    let bench = Bench::of("hello.ptx", LAUNCHES);
    let output = bench.test("--json report.json --jobs 2", 1);
    assert!(output.stdout.is_empty());
    let report: serde_json::Value = serde_json::from_slice(&bench.0.read("report.json")).expect("JSON");
    assert_eq!((&report["passed"], &report["failed"]), (&1.into(), &2.into()));
    let statuses: Vec<_> = report["launches"].as_array().expect("a list").iter().map(|l| &l["status"]).collect();
    assert_eq!(statuses, ["passed", "failed", "error"]);
    let first = &report["launches"][0];
    assert_eq!((&first["line"], &first["printed"], &first["engine"]), (&3.into(), &"hello\n".into(), &"sim".into()));
    assert!(first["instructions"].as_u64().is_some_and(|count| count > 0));
    let kinds: Vec<_> = (1..3).map(|at| &report["launches"][at]["problems"][0]["kind"]).collect();
    assert_eq!(kinds, ["printed", "refused"]);
    // The blocks come in the order of the launches, whatever runs first.
    let said = error_text(&output);
    let at = |text: &str| said.find(text).expect("a block");
    assert!(at("failed: says ]]>") < at("error: is nobody"), "{said}");
}

/// A report may not be a manifest, nor both reports one file.
#[test]
fn outputs_are_kept_apart() {
    let bench = Bench::of("hello.ptx", LAUNCHES);
    assert!(bench.says("--json m.toml", 2).contains("is an input"));
    assert!(bench.says("--json x --junit x", 2).contains("two outputs"));
    assert!(bench.says("--list --json x", 2).contains("cannot be used with"));
}
