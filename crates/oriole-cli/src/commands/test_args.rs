//! The grammar of `oriole test`.

use super::shard::Shard;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[derive(Debug, Default, Args)]
pub(crate) struct TestArgs {
    /// What to run and what to expect, as TOML.
    #[arg(required = true, value_name = "MANIFEST.toml")]
    pub(crate) manifests: Vec<PathBuf>,
    /// Only launches with this in their name, as --list prints it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Of N slices of these launches only the I-th, for a job on another machine; `oriole merge` puts the reports together.
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// Print the names of the launches and run none.
    #[arg(long, conflicts_with_all = ["junit", "json"])]
    pub(crate) list: bool,
    /// Launches at a time; as many as there are processors by default.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Compile for these targets, whatever the manifest says.
    #[arg(long, value_name = "TARGET,…", value_delimiter = ',')]
    pub(crate) targets: Vec<String>,
    /// Compile at these optimisation levels, whatever the manifest says.
    #[arg(long, value_name = "LEVEL,…", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..=3))]
    pub(crate) levels: Vec<u8>,
    /// Fault where a register is read too early, in every launch on the simulator.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Check memory and synchronisation in every launch on the simulator, as `oriole run --check`.
    #[arg(long, value_name = "KINDS")]
    pub(crate) check: Option<String>,
    /// Write what has become of each launch as JUnit's XML.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the same as JSON; `-` for standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Say nothing but failures: no progress, no summary where all is well.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
