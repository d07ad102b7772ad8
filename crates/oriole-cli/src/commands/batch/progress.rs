//! What is said while a batch runs: a bar on a terminal, and each file's errors and warnings as soon as those of all files
//! before it have been said.

use super::outcome::Outcome;
use crate::commands::args::CompileArgs;
use crate::commands::batch_args::DiagnosticsForm;
use crate::commands::diagnostics;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};

const BAR: &str = "{bar:32} {pos}/{len} files, {msg} failed, {elapsed}";

/// The outcomes so far.
pub(super) struct Progress<'a> {
    args: &'a CompileArgs,
    bar: ProgressBar,
    ready: Mutex<Ready>,
}

struct Ready {
    outcomes: Vec<Option<Outcome>>,
    /// How many have been said.
    said: usize,
    failed: usize,
}

impl<'a> Progress<'a> {
    /// Of so many files.
    pub(super) fn new(args: &'a CompileArgs, files: usize) -> Self {
        let is_drawn = !args.batch.quiet && std::io::stderr().is_terminal();
        let target = if is_drawn { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(files as u64), target);
        if let Ok(style) = ProgressStyle::with_template(BAR) {
            bar.set_style(style);
        }
        bar.set_message("0");
        let outcomes = std::iter::repeat_with(|| None).take(files).collect();
        Progress { args, bar, ready: Mutex::new(Ready { outcomes, said: 0, failed: 0 }) }
    }

    /// A file is ready.
    pub(super) fn ready(&self, number: usize, outcome: Outcome) {
        // Nothing below leaves the outcomes half changed.
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready.failed += usize::from(outcome.result.is_err());
        ready.outcomes[number] = Some(outcome);
        while let Some(Some(next)) = ready.outcomes.get(ready.said) {
            let text = said(self.args, next);
            if !text.is_empty() {
                self.bar.suspend(|| eprint!("{text}"));
            }
            ready.said += 1;
        }
        self.bar.set_message(ready.failed.to_string());
        self.bar.inc(1);
    }

    /// All outcomes, in the order of the inputs.
    pub(super) fn finish(self) -> Vec<Outcome> {
        self.bar.finish_and_clear();
        let ready = self.ready.into_inner().unwrap_or_else(PoisonError::into_inner);
        ready.outcomes.into_iter().flatten().collect()
    }
}

/// A line for a file that failed, and its diagnostics; of others warnings, remarks, and the lines of `-v`.
fn said(args: &CompileArgs, outcome: &Outcome) -> String {
    let input = outcome.input.display();
    match (&outcome.result, args.batch.diagnostics) {
        (Err(_), DiagnosticsForm::Json) => diagnostics::lines(&outcome.records()),
        (Err(failure), DiagnosticsForm::Text) => {
            let place = outcome.records().first().map(diagnostics::Record::place).filter(|place| !place.is_empty());
            let place = place.unwrap_or_else(|| input.to_string());
            format!("failed: {place}\n{}\n", failure.message())
        }
        (Ok(_), _) if args.batch.quiet => String::new(),
        (Ok(done), form) => {
            let mut text = match form {
                DiagnosticsForm::Json => diagnostics::lines(&outcome.records()),
                DiagnosticsForm::Text => {
                    let line = |(severity, note): &(diagnostics::Severity, String)| {
                        format!("{}: {input}: {note}\n", severity.word())
                    };
                    done.said.notes.iter().map(line).collect()
                }
            };
            if args.verbose {
                text.push_str(&format!("{input}:\n{}", done.said.verbose.text(outcome.time)));
            }
            text
        }
    }
}
