//! What has become of one input, and of all as JSON.

use crate::commands::args::CompileArgs;
use crate::commands::batch_args::DiagnosticsForm;
use crate::commands::diagnostics::{self, Record, Severity};
use crate::commands::failure::{Failure, rejected};
use crate::product::{Kernel, Said};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// What has become of an input.
pub(super) struct Outcome {
    pub(super) input: PathBuf,
    /// Where its cubin is, if there is one.
    pub(super) output: PathBuf,
    pub(super) result: Result<Done, Failure>,
    pub(super) time: Duration,
}

/// A cubin that was written.
pub(super) struct Done {
    pub(super) bytes: usize,
    pub(super) said: Said,
    /// It was in the cache.
    pub(super) cached: bool,
}

impl Outcome {
    /// Errors, or else warnings and remarks.
    pub(super) fn records(&self) -> Vec<Record> {
        match &self.result {
            Ok(done) => {
                let record = |(severity, text): &(Severity, String)| Record::new(Some(&self.input), *severity, text);
                done.said.notes.iter().map(record).collect()
            }
            Err(failure) => failure.records(Some(&self.input)),
        }
    }
}

/// An input in the JSON array of `--json`.
#[derive(Serialize)]
struct Row<'a> {
    input: String,
    output: Option<String>,
    status: &'static str,
    cached: bool,
    bytes: Option<usize>,
    kernels: &'a [Kernel],
    seconds: f64,
    diagnostics: Vec<Record>,
}

/// All outcomes as a JSON array, in the order of the inputs.
pub(super) fn json<'a>(outcomes: &'a [Outcome]) -> Result<String, Failure> {
    let row = |outcome: &'a Outcome| -> Row<'a> {
        let done = outcome.result.as_ref().ok();
        Row {
            input: outcome.input.display().to_string(),
            output: done.map(|_| outcome.output.display().to_string()),
            status: if done.is_some() { "ok" } else { "failed" },
            cached: done.is_some_and(|done| done.cached),
            bytes: done.map(|done| done.bytes),
            kernels: done.map_or(&[], |done| &done.said.kernels),
            seconds: outcome.time.as_secs_f64(),
            diagnostics: outcome.records(),
        }
    };
    let rows: Vec<Row<'a>> = outcomes.iter().map(row).collect();
    serde_json::to_string_pretty(&rows).map(|text| text + "\n").map_err(rejected)
}

/// A line for a file that failed, and its diagnostics; of others warnings, remarks, and the lines of `-v`.
pub(super) fn said(args: &CompileArgs, outcome: &Outcome) -> String {
    let input = outcome.input.display();
    match (&outcome.result, args.batch.diagnostics) {
        (Err(_), DiagnosticsForm::Json) => diagnostics::lines(&outcome.records()),
        (Err(failure), DiagnosticsForm::Text) => {
            let place = outcome.records().first().map(Record::place).filter(|place| !place.is_empty());
            let place = place.unwrap_or_else(|| input.to_string());
            format!("failed: {place}\n{}\n", failure.message())
        }
        (Ok(_), _) if args.batch.quiet => String::new(),
        (Ok(done), form) => {
            let mut text = match form {
                DiagnosticsForm::Json => diagnostics::lines(&outcome.records()),
                DiagnosticsForm::Text => {
                    let line =
                        |(severity, note): &(Severity, String)| format!("{}: {input}: {note}\n", severity.word());
                    done.said.notes.iter().map(line).collect()
                }
            };
            if args.verbose {
                text.push_str(&format!("{input}:\n{}", done.said.verbose.print(Some(outcome.time))));
            }
            text
        }
    }
}
