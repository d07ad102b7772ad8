//! What is said of outcomes: for people, and as JSON.

use super::outcome::{Outcome, Problem, Status};
use crate::commands::failure::{Failure, rejected};
use crate::commands::shard::Part;
use serde::{Deserialize, Serialize};

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
