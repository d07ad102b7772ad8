//! The words of `oriole tune`.

use super::args::IrArgs;
use super::run_args::{Engine, duration};
use super::shard::Shard;
use clap::Args;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

/// Behind the options in its help.
pub(crate) const EXAMPLES: &str = "Examples:
  oriole tune k.ptx --arch sm_90 -o k.cubin -- --entry k --grid 64 --block 256 in:a.bin out:c.bin:65536
  oriole tune k.ptx --trials 200 --report tuned.json -o k.cubin --manifest kernels.toml --filter large

Code counts if the launches leave what they leave with plain -O3, bit for bit, on the strict simulator too, and `oriole check`
finds nothing. docs/tuning.md says more.";

/// Arguments of `oriole tune`.
#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// PTX, or LLVM assembly or bitcode.
    pub(crate) input: PathBuf,
    /// Where the best code goes; that of plain -O3 where nothing better was found.
    #[arg(short, long, value_name = "OUT.cubin")]
    pub(crate) output: Option<PathBuf>,
    /// Target, such as sm_90; the module's .target by default.
    #[arg(long)]
    pub(crate) arch: Option<String>,
    /// Seconds for the search; 60 by default, without an end where there are --trials.
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) seconds: Option<Duration>,
    /// End when so many candidates have been tried: the same ones each time, whatever --jobs is.
    #[arg(long, value_name = "N")]
    pub(crate) trials: Option<NonZeroU64>,
    /// Chooses the candidates; the same seed gives the same ones.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Search so often, with --seed and the seeds that follow it, each time until --trials, and take the best of all.
    #[arg(long, value_name = "N", requires = "trials", default_value = "1")]
    pub(crate) searches: NonZeroU64,
    /// Of N slices of the --searches only the I-th, for a job on another machine; `oriole merge` puts the reports together.
    #[arg(long, value_name = "I/N", requires = "trials")]
    pub(crate) shard: Option<Shard>,
    /// Candidates at a time; as many as there are processors by default.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// What measures candidates: the cycle model of the simulator (sim), or a GPU through the CUDA driver (gpu).
    #[arg(long, value_enum, default_value_t = Engine::Sim)]
    pub(crate) engine: Engine,
    /// Write what was found on the way as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Print nothing but errors: no progress, no table.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Take the launches of this program from a manifest of `oriole test`; with plain -O3 they have to pass.
    #[arg(long, value_name = "MANIFEST.toml", conflicts_with_all = ["launch", "IrArgs"])]
    pub(crate) manifest: Option<PathBuf>,
    /// Only launches of the manifest with this in their name, as `oriole test --list` prints it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// What to make of LLVM IR.
    #[command(flatten)]
    pub(crate) ir: IrArgs,
    /// A launch, as `oriole run` takes it behind its input: --entry NAME, options, kernel parameters.
    #[arg(last = true, value_name = "LAUNCH")]
    pub(crate) launch: Vec<String>,
}

/// A number of seconds above zero.
fn seconds(text: &str) -> Result<Duration, String> {
    duration(text.parse().map_err(|_| format!("'{text}' is not a number"))?)
}
