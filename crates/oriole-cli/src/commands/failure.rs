//! How a command fails: the exit status and what is said.

use std::process::ExitCode;

/// A command's failure, by exit status (`../shared/design/cli.md`).
#[derive(Debug)]
pub(crate) enum Failure {
    /// Exit status 1: the input was rejected or could not be compiled.
    Rejected(String),
    /// Exit status 2: wrong usage.
    Usage(String),
    /// Exit status 3: a kernel faulted while running.
    Fault(String),
}

impl Failure {
    /// Exit status 1 with `message` after the name of the file at fault.
    pub(crate) fn file(path: &std::path::Path, message: impl std::fmt::Display) -> Self {
        Failure::Rejected(format!("error: {}: {message}", path.display()))
    }

    /// Say it on standard error and give the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        let (status, message) = match self {
            Failure::Rejected(message) => (1, message),
            Failure::Usage(message) => (2, message),
            Failure::Fault(message) => (3, message),
        };
        eprintln!("{}", message.trim_end());
        ExitCode::from(status)
    }
}
