//! What has become of a case.

use super::build::Kind;
use super::plan::Case;
use crate::commands::comparison::Difference;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What has become of a case.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) name: String,
    /// The manifest, and the launch's line in it.
    pub(super) manifest: String,
    pub(super) line: usize,
    pub(super) program: String,
    pub(super) entry: String,
    pub(super) engine: String,
    /// The target of what ran, where it came so far.
    pub(super) target: Option<String>,
    /// The optimisation level of what was compiled.
    pub(super) level: Option<u8>,
    pub(super) status: Status,
    pub(super) seconds: f64,
    /// Warp instructions of a kernel that came to its end.
    pub(super) instructions: Option<u64>,
    pub(super) problems: Vec<Problem>,
    pub(super) printed: String,
}

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Passed,
    /// Something is not as expected.
    Failed,
    /// The kernel faulted and should not, or the checks of memory have found errors.
    Faulted,
    /// The program could not be compiled, or the launch is impossible.
    Error,
}

impl Status {
    /// Its name.
    pub(super) fn word(self) -> &'static str {
        match self {
            Status::Passed => "passed",
            Status::Failed => "failed",
            Status::Faulted => "faulted",
            Status::Error => "error",
        }
    }
}

/// What is wrong with a case.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum Problem {
    /// It did not come to a launch.
    Refused { message: String },
    /// The kernel stopped.
    Fault { fault: String, expected: Option<String>, message: String },
    /// The kernel should have stopped.
    NoFault { expected: String },
    /// The checks of memory have found errors.
    Findings { message: String, report: serde_json::Value },
    /// A buffer is not what it should be.
    Differs { argument: usize, difference: Difference },
    /// The kernel printed something else.
    Printed { expected: String, got: String },
}

impl Problem {
    fn status(&self) -> Status {
        match self {
            Problem::Refused { .. } => Status::Error,
            Problem::Fault { .. } | Problem::Findings { .. } => Status::Faulted,
            Problem::NoFault { .. } | Problem::Differs { .. } | Problem::Printed { .. } => Status::Failed,
        }
    }
}

impl Outcome {
    /// Of a case that has not run yet, in that line of its manifest.
    pub(super) fn of(case: &Case, line: usize) -> Outcome {
        Outcome {
            name: case.name.clone(),
            manifest: case.manifest.display().to_string(),
            line,
            program: case.program.path.display().to_string(),
            entry: case.run.entry.clone(),
            engine: case.run.engine.name().to_owned(),
            target: case.program.target.clone(),
            level: (case.program.kind == Kind::Compiled).then_some(case.program.level),
            status: Status::Passed,
            seconds: 0.0,
            instructions: None,
            problems: Vec::new(),
            printed: String::new(),
        }
    }

    /// Note what is wrong. The status is that of the first.
    pub(super) fn add(&mut self, problem: Problem) {
        if self.status == Status::Passed {
            self.status = problem.status();
        }
        self.problems.push(problem);
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Refused { message } => f.write_str(message),
            Problem::Fault { expected: None, message, .. } => write!(f, "fault: {message}"),
            Problem::Fault { expected: Some(expected), message, .. } => {
                write!(f, "fault, but not {expected} as expected: {message}")
            }
            Problem::NoFault { expected } => write!(f, "the kernel came to its end; expected was the fault {expected}"),
            Problem::Findings { message, .. } => f.write_str(message),
            Problem::Differs { argument, difference } => write!(f, "argument {argument}, {difference}"),
            Problem::Printed { expected, got } => {
                write!(f, "printed:\n  {}\nexpected:\n  {}", quoted(got), quoted(expected))
            }
        }
    }
}

/// Text line by line, so that blanks and ends can be seen.
fn quoted(text: &str) -> String {
    let lines: Vec<String> = text.split_inclusive('\n').map(|line| format!("{line:?}")).collect();
    if lines.is_empty() { "nothing".to_owned() } else { lines.join("\n  ") }
}
