//! What is wrong with an input, for programs: one JSON object for each error, warning or remark.

use super::failure::Failure;
use oriole_ptx::diag::{Diagnostic, SourceMap};
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// There is no result.
    Error,
    /// There is one, which may not be what was meant.
    Warning,
    /// Worth knowing.
    Info,
}

impl Severity {
    /// Its word in front of a message.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}

/// One thing that is said, with its place where it has one.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Record {
    /// The file as it was named.
    pub(crate) file: Option<String>,
    /// Counted from 1.
    pub(crate) line: Option<usize>,
    /// Counted from 1, in characters.
    pub(crate) column: Option<usize>,
    /// How bad it is.
    pub(crate) severity: Severity,
    /// What it is, in one line.
    pub(crate) message: String,
    /// What else is known of it, and what to do.
    pub(crate) notes: Vec<String>,
}

impl Record {
    /// Without a line.
    pub(crate) fn new(file: Option<&Path>, severity: Severity, message: impl Into<String>) -> Record {
        let file = file.map(|path| path.display().to_string());
        Record { file, line: None, column: None, severity, message: message.into(), notes: Vec::new() }
    }

    /// Of an error in PTX.
    pub(crate) fn of_ptx(map: &SourceMap<'_>, path: &Path, diagnostic: &Diagnostic) -> Record {
        let (line, column) = map.line_column(diagnostic.span.start);
        let place = |(span, text): &(oriole_ptx::ast::Span, String)| {
            let (line, column) = map.line_column(span.start);
            format!("{line}:{column}: {text}")
        };
        let label = (!diagnostic.label.is_empty()).then(|| diagnostic.label.clone());
        let related = diagnostic.related.as_ref().map(place);
        let rule = diagnostic.rule.map(|rule| format!("rule: {}", rule.as_str()));
        let help = diagnostic.help.as_ref().map(|help| format!("help: {help}"));
        Record {
            line: Some(line),
            column: Some(column),
            notes: [label, related, rule, help].into_iter().flatten().collect(),
            ..Record::new(Some(path), Severity::Error, diagnostic.message.clone())
        }
    }

    /// `FILE:LINE:COLUMN`, as far as it is known.
    pub(crate) fn place(&self) -> String {
        let mut place = self.file.clone().unwrap_or_default();
        for number in [self.line, self.column].into_iter().flatten() {
            // Writing to a `String` cannot fail.
            let _ = write!(place, ":{number}");
        }
        place
    }
}

/// A line of JSON for each.
pub(crate) fn lines(records: &[Record]) -> String {
    // Strings and numbers are JSON always.
    records.iter().filter_map(|record| serde_json::to_string(record).ok()).map(|line| line + "\n").collect()
}

/// The failure with the same exit status that says it in JSON. `input` is the file that messages begin with.
pub(crate) fn as_json(failure: &Failure, input: Option<&Path>) -> Failure {
    let text = lines(&failure.records(input));
    match failure {
        Failure::Usage(_) => Failure::Usage(text),
        Failure::Fault(_) => Failure::Fault(text),
        Failure::Rejected(_) | Failure::Diagnosed(..) => Failure::Rejected(text),
    }
}
