//! `--junit` and `--json`.

use super::{Bench, summary};
use crate::scratch::error_text;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

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

/// A case as a reader of XML has it.
#[derive(Debug, Default)]
struct Case {
    name: String,
    /// `failure` or `error`, with message and text.
    problem: Option<(String, String, String)>,
    system_out: String,
}

/// The counts of the root, names of suites and cases.
fn read(xml: &str) -> (String, Vec<String>, Vec<Case>) {
    let (mut reader, mut inside) = (quick_xml::Reader::from_str(xml), Vec::new());
    let (mut counts, mut suites, mut cases) = (String::new(), Vec::new(), Vec::<Case>::new());
    let attribute = |tag: &BytesStart<'_>, name: &str| {
        let found = tag.try_get_attribute(name).expect("attributes");
        found
            .map(|value| value.normalized_value(XmlVersion::Implicit1_0).expect("text").into_owned())
            .unwrap_or_default()
    };
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error}: {xml}")) {
            Event::Start(tag) => {
                let name = tag.name().0.to_owned();
                match name.as_str() {
                    "testsuites" => {
                        counts = ["tests", "failures", "errors"].map(|name| attribute(&tag, name)).join(" ");
                    }
                    "testsuite" => suites.push(attribute(&tag, "name")),
                    "testcase" => cases.push(Case { name: attribute(&tag, "name"), ..Case::default() }),
                    "failure" | "error" => {
                        let case = cases.last_mut().expect("inside of a case");
                        case.problem = Some((name.clone(), attribute(&tag, "message"), String::new()));
                    }
                    _ => {}
                }
                inside.push(name);
            }
            Event::End(_) => drop(inside.pop()),
            Event::Text(text) => add(&mut cases, &inside, &text),
            Event::GeneralRef(name) => {
                add(
                    &mut cases,
                    &inside,
                    quick_xml::escape::resolve_predefined_entity(&name).expect("one of XML's own"),
                );
            }
            Event::Eof => return (counts, suites, cases),
            _ => {}
        }
    }
}

/// Text belongs to the element that it is in.
fn add(cases: &mut [Case], inside: &[String], text: &str) {
    let (Some(case), Some(element)) = (cases.last_mut(), inside.last()) else { return };
    match (element.as_str(), &mut case.problem) {
        ("failure" | "error", Some((.., whole))) => whole.push_str(text),
        ("system-out", _) => case.system_out.push_str(text),
        _ => {}
    }
}

#[test]
fn junit_is_read_by_an_xml_reader() {
    let bench = Bench::of("hello.ptx", LAUNCHES);
    assert_eq!(summary(&bench.says("--junit report.xml", 1)), "3 launches: 1 passed, 1 failed, 1 error");
    let xml = String::from_utf8(bench.0.read("report.xml")).expect("UTF-8");
    let (counts, suites, cases) = read(&xml);
    assert_eq!((counts.as_str(), suites), ("3 1 1", vec!["m.toml".to_owned()]));
    let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["says <hello> & \"goes\" [-O3]", "says ]]> something else [-O3]", "is nobody [-O3]"]);
    let [good, differs, nobody] = cases.as_slice() else { panic!("{xml}") };
    assert_eq!((&good.problem, good.system_out.as_str()), (&None, "hello\n"));
    let (kind, _, block) = differs.problem.as_ref().expect("it fails");
    assert!(kind == "failure" && block.contains("\"<&>\\u{1}\\n\""), "{block}");
    let (kind, message, _) = nobody.problem.as_ref().expect("it fails");
    assert!(kind == "error" && message.contains("no kernel 'nobody'"), "{message}");
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
