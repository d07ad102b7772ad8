//! Bounds of what a command may take of the host: those of its options, or else those of the environment.

use super::batch_args::parse_bytes;
use super::failure::{Failure, usage};
use super::run_args::parse_seconds;
use oriole_codegen::{Limits, Session};
use std::time::Duration;

/// Where the bound of memory is looked for that no option gives.
const MEMORY: &str = "ORIOLE_MEMORY";
/// The same of the time of a launch.
const TIMEOUT: &str = "ORIOLE_TIMEOUT";

/// Bytes that one compilation or launch may take.
pub(crate) fn memory(given: Option<u64>) -> Result<Option<u64>, Failure> {
    or_environment(given, MEMORY, parse_bytes)
}

/// How long a launch may take.
pub(crate) fn timeout(given: Option<Duration>) -> Result<Option<Duration>, Failure> {
    or_environment(given, TIMEOUT, parse_seconds)
}

/// A compilation that begins now and may take so much memory.
pub(crate) fn session(bytes: Option<u64>) -> Result<Session<'static>, Failure> {
    Ok(Session::new(None, None, Limits { memory: memory(bytes)?, ..Limits::default() }))
}

/// An empty variable is as none.
fn or_environment<T>(
    given: Option<T>,
    variable: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Failure> {
    let found = if given.is_some() { None } else { std::env::var_os(variable).filter(|value| !value.is_empty()) };
    let Some(value) = found else { return Ok(given) };
    parse(&value.to_string_lossy()).map(Some).map_err(|reason| usage(format!("{variable}: {reason}")))
}
