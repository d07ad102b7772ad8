//! `oriole merge`: the report of a whole run, from those of its shards.

use super::failure::{Failure, usage};
use super::shard::{Part, Work, in_order};
use super::{files, fuzz, test, tune};
use clap::Args;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Behind the options in its help.
pub(crate) const EXAMPLES: &str = "Examples:
  oriole test kernels.toml --shard 1/2 --json 1.json        # on one machine
  oriole test kernels.toml --shard 2/2 --json 2.json        # on another
  oriole merge 1.json 2.json --junit report.xml

What is said and the exit status are those of the command that made the reports. docs/machines.md says more.";

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The JSON of each shard of one run, in any order.
    #[arg(required = true, value_name = "REPORT.json")]
    pub(crate) reports: Vec<PathBuf>,
    /// Write the report of the whole run; `-` for standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write it as JUnit's XML: of `oriole test` alone.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Say nothing but failures: no summary where all is well.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// The field that the report of a shard has, and that of a whole run has not.
#[derive(Deserialize)]
struct Head {
    shard: Option<Part>,
}

/// Put reports together.
pub(crate) fn run(args: &MergeArgs) -> Result<(), Failure> {
    let outputs = || [&args.json, &args.junit].into_iter().filter_map(|path| path.as_deref());
    files::have_folders(outputs())?;
    files::keep_apart(args.reports.iter().map(PathBuf::as_path), outputs())?;
    let mut reports = Vec::new();
    for path in &args.reports {
        let value: Value = parsed(path, serde_json::from_slice(&files::read(path)?))?;
        let Head { shard } = parsed(path, Head::deserialize(&value))?;
        let part = shard.ok_or_else(|| Failure::file(path, "not the report of a shard"))?;
        reports.push((part, (path.as_path(), value)));
    }
    // There is one at least.
    let command = reports.first().map_or(Work::Test, |(part, _)| part.command);
    if args.junit.is_some() && command != Work::Test {
        return Err(usage("--junit: only `oriole test` has launches that pass or fail"));
    }
    let reports = in_order(reports)?;
    match command {
        Work::Test => test::merge(all(reports)?, args),
        Work::Fuzz => fuzz::merge(all(reports)?, args),
        Work::Tune => tune::merge(all(reports)?, args),
    }
}

fn all<R: DeserializeOwned>(reports: Vec<(&Path, Value)>) -> Result<Vec<R>, Failure> {
    reports.into_iter().map(|(path, value)| parsed(path, serde_json::from_value(value))).collect()
}

fn parsed<T>(path: &Path, result: Result<T, serde_json::Error>) -> Result<T, Failure> {
    result.map_err(|error| Failure::file(path, format!("not the report of a shard: {error}")))
}
