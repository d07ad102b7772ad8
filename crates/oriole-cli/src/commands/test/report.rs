//! What is said of outcomes: for people, as JUnit's XML, as JSON.

use super::outcome::{Outcome, Problem, Status};
use crate::commands::failure::{Failure, rejected};
use crate::commands::shard::Part;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The block of a case in which something is wrong.
pub(super) fn block(outcome: &Outcome) -> String {
    if outcome.status == Status::Passed {
        return String::new();
    }
    let Outcome { name, manifest, line, status, .. } = outcome;
    let mut text = format!("{}: {name} ({manifest}:{line})\n", status.word());
    for problem in &outcome.problems {
        text.push_str(&indented(&problem.to_string()));
    }
    let is_shown = outcome.problems.iter().any(|problem| matches!(problem, Problem::Printed { .. }));
    if !outcome.printed.is_empty() && !is_shown {
        text.push_str("  it printed:\n");
        text.push_str(&indented(&indented(&outcome.printed)));
    }
    text
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// `12 launches: 10 passed, 1 failed, 1 faulted, 0.42 s`.
pub(super) fn summary(outcomes: &[Outcome], seconds: f64) -> String {
    let statuses = [Status::Passed, Status::Failed, Status::Faulted, Status::Error];
    let count = |status| outcomes.iter().filter(|outcome| outcome.status == status).count();
    let counts = statuses.map(|status| (status, count(status)));
    let said = counts.iter().filter(|(status, count)| *count > 0 || *status == Status::Passed);
    let said: Vec<String> = said.map(|(status, count)| format!("{count} {}", status.word())).collect();
    let noun = if outcomes.len() == 1 { "launch" } else { "launches" };
    format!("{} {noun}: {}, {seconds:.2} s", outcomes.len(), said.join(", "))
}

/// All of it as JUnit's XML: a suite for each manifest.
pub(super) fn junit(outcomes: &[Outcome]) -> Result<String, Failure> {
    let mut report = Report::new("oriole test");
    for of_manifest in outcomes.chunk_by(|one, next| one.manifest == next.manifest) {
        let Some(first) = of_manifest.first() else { continue };
        let mut suite = TestSuite::new(first.manifest.as_str());
        suite.add_test_cases(of_manifest.iter().map(test_case));
        report.add_test_suite(suite);
    }
    report.to_string().map_err(rejected)
}

fn test_case(outcome: &Outcome) -> TestCase {
    let kind = if outcome.status == Status::Error { NonSuccessKind::Error } else { NonSuccessKind::Failure };
    let status = match outcome.problems.first() {
        None => TestCaseStatus::success(),
        Some(first) => {
            let mut status = TestCaseStatus::non_success(kind);
            let first = first.to_string();
            status.set_message(first.lines().next().unwrap_or_default().to_owned());
            status.set_type(outcome.status.word());
            status.set_description(block(outcome));
            status
        }
    };
    let mut case = TestCase::new(outcome.name.as_str(), status);
    case.set_classname(format!("{}:{}", outcome.program, outcome.entry));
    case.set_time(Duration::try_from_secs_f64(outcome.seconds).unwrap_or_default());
    if !outcome.printed.is_empty() {
        case.set_system_out(outcome.printed.as_str());
    }
    case
}

/// The object of `--json`.
#[derive(Serialize)]
struct Whole<'a> {
    /// Which part it is of what other machines do.
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<&'a Part>,
    passed: usize,
    /// Everything else.
    failed: usize,
    seconds: f64,
    launches: &'a [Outcome],
}

/// What `oriole merge` takes of it: the rest follows.
#[derive(Deserialize)]
pub(in crate::commands) struct OfShard {
    pub(super) seconds: f64,
    pub(super) launches: Vec<Outcome>,
}

/// All of it as JSON.
pub(super) fn json(shard: Option<&Part>, outcomes: &[Outcome], seconds: f64) -> Result<String, Failure> {
    let passed = outcomes.iter().filter(|outcome| outcome.status == Status::Passed).count();
    let whole = Whole { shard, passed, failed: outcomes.len() - passed, seconds, launches: outcomes };
    serde_json::to_string_pretty(&whole).map(|text| text + "\n").map_err(rejected)
}
