//! How a command fails: the exit status and what is said.

use super::diagnostics::{Record, Severity};
use crate::console;
use oriole_device::Fault;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// A command's failure, by exit status (docs/cli.md).
#[derive(Debug)]
pub(crate) enum Failure {
    /// Exit status 1: the input was rejected or could not be compiled.
    Rejected(String),
    /// The same, with the places: what is said, and the same for programs.
    Diagnosed(String, Vec<Record>),
    /// Exit status 2: wrong usage.
    Usage(String),
    /// Exit status 3: a kernel faulted while running.
    Fault(String),
}

impl Failure {
    /// Exit status 1 with `message` after the name of the file at fault.
    pub(crate) fn file(path: &Path, message: impl std::fmt::Display) -> Self {
        Failure::Rejected(format!("error: {}: {message}", path.display()))
    }

    /// What is said.
    pub(crate) fn message(&self) -> &str {
        let (Failure::Rejected(message)
        | Failure::Diagnosed(message, _)
        | Failure::Usage(message)
        | Failure::Fault(message)) = self;
        message.trim_end()
    }

    /// What is said, without the word that it begins with.
    pub(crate) fn reason(&self) -> &str {
        let message = self.message();
        message.strip_prefix("error: ").unwrap_or(message)
    }

    /// What is said, for programs. `input` is the file that messages without a place begin with.
    pub(crate) fn records(&self, input: Option<&Path>) -> Vec<Record> {
        if let Failure::Diagnosed(_, records) = self {
            return records.clone();
        }
        let message = self.reason();
        let behind = input.and_then(|path| message.strip_prefix(&format!("{}: ", path.display())));
        vec![Record::new(input.filter(|_| behind.is_some()), Severity::Error, behind.unwrap_or(message))]
    }

    /// Say it on standard error and give the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        let status = match self {
            Failure::Rejected(_) | Failure::Diagnosed(..) => 1,
            Failure::Usage(_) => 2,
            Failure::Fault(_) => 3,
        };
        console::say(self.message());
        ExitCode::from(status)
    }
}

/// Exit status 2 with an error.
pub(crate) fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("error: {error}"))
}

/// Exit status 1 with an error.
pub(crate) fn rejected(error: impl std::fmt::Display) -> Failure {
    Failure::Rejected(format!("error: {error}"))
}

/// Exit status 3: a kernel's fault, after what it had printed.
pub(crate) fn stopped(fault: &Fault) -> Failure {
    let _ = std::io::stdout().write_all(&fault.printed);
    Failure::Fault(format!("fault: {fault}"))
}
