//! The grammar of `oriole run`.

use super::batch_args::parse_bytes;
use super::images::ImageArgs;
use clap::{Args, ValueEnum};
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// What executes a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Engine {
    /// The SASS simulator.
    #[default]
    Sim,
    /// The PTX interpreter.
    Ptx,
    /// The CUDA driver and an NVIDIA GPU.
    Gpu,
}

/// What becomes of registers that are read too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strict {
    /// A fault.
    Faults,
    /// They have their old values, and memory that copies have not come to its old contents.
    Values,
}

/// What becomes of threads that wait for others of their warp which wait elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AbsentLanes {
    /// They wait for ever.
    Wait,
    /// They go on without them.
    Skip,
}

impl Engine {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Engine::Sim => "sim",
            Engine::Ptx => "ptx",
            Engine::Gpu => "gpu",
        }
    }
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RunArgs {
    /// PTX, a cubin, or a file that holds some.
    pub(crate) input: PathBuf,
    /// Kernel to run.
    #[arg(long)]
    pub(crate) entry: String,
    /// Target, such as sm_90; the file's by default. Of a file with several images the chip for which one is picked as a driver does.
    #[arg(long)]
    pub(crate) arch: Option<String>,
    /// Which image.
    #[command(flatten)]
    pub(crate) image: ImageArgs,
    /// Grid size in blocks: X[,Y[,Z]].
    #[arg(long, default_value = "1", value_parser = parse_dim3, allow_negative_numbers = true)]
    pub(crate) grid: [u32; 3],
    /// Block size in threads: X[,Y[,Z]]; one thread by default.
    #[arg(long, value_parser = parse_dim3, allow_negative_numbers = true)]
    pub(crate) block: Option<[u32; 3]>,
    /// Cluster size in blocks: X[,Y[,Z]]; no clusters by default.
    #[arg(long, value_parser = parse_dim3, allow_negative_numbers = true)]
    pub(crate) cluster: Option<[u32; 3]>,
    /// Dynamic shared memory in bytes.
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    pub(crate) shared: u32,
    /// What executes the kernel.
    #[arg(long, value_enum, default_value_t = Engine::Sim)]
    pub(crate) engine: Engine,
    /// Fault where a register is read too early; `values`: give it its old value instead, as the hardware would.
    #[arg(long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "faults")]
    pub(crate) strict: Option<Strict>,
    /// Estimate the time on a device with the cycle model; the report goes to standard error.
    #[arg(long)]
    pub(crate) timing: bool,
    /// Like --timing, with a table of all instructions.
    #[arg(long)]
    pub(crate) timing_detail: bool,
    /// Write the report of the cycle model as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) timing_file: Option<PathBuf>,
    /// Time a chip of so many multiprocessors, with caches and bandwidth in proportion.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) timing_sms: Option<u32>,
    /// Time a launch whose code, constants and buffers the second-level cache already holds, as far as they fit.
    #[arg(long)]
    pub(crate) timing_warm: bool,
    /// Check memory and synchronisation: race, init, bounds, sync, or all of these; global-init: reads of out: buffers that nobody
    /// has written; separated by commas. Exit status 3 if anything is found.
    #[arg(long, value_name = "KINDS")]
    pub(crate) check: Option<String>,
    /// What a warp synchronisation does whose mask names threads that wait elsewhere, when nothing else can run: wait for ever, or
    /// go on without them, as hardware evidently does.
    #[arg(long, value_name = "WHAT")]
    pub(crate) absent_lanes: Option<AbsentLanes>,
    /// Write what the checks of memory have found as JSON.
    #[arg(long, value_name = "FILE", requires = "check")]
    pub(crate) check_report: Option<PathBuf>,
    /// Fault when a block has executed this many instructions, each counted once for the threads of a warp that
    /// execute it together; waiting costs none.
    #[arg(long, value_name = "N")]
    pub(crate) max_instructions: Option<u64>,
    /// Fault when the launch takes longer than this many seconds; $ORIOLE_TIMEOUT by default.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Most bytes of the host's memory that compiling, and that the launch may take, such as 500M or 2G; $ORIOLE_MEMORY by
    /// default.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) memory: Option<u64>,
    /// Write run statistics as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) stats: Option<PathBuf>,
    /// Host threads; no result depends on it but those of blocks that race.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Run the blocks in one order, on one host thread: blocks that race leave the same each time.
    #[arg(long)]
    pub(crate) deterministic: bool,
    /// Fill a module variable with a file's bytes: NAME=PATH.
    #[arg(long, value_name = "NAME=PATH")]
    pub(crate) global: Vec<String>,
    /// Bind a texture, surface or sampler to a module variable: NAME=tex:…, NAME=surf:…, NAME=sampler:….
    #[arg(long, value_name = "NAME=OBJECT")]
    pub(crate) bind: Vec<String>,
    /// Compare the buffer of argument N, counted from 0, with a file: N=PATH[:TYPE][,rtol=R][,atol=A][,nan=equal|differ];
    /// exit status 1 where they differ.
    #[arg(long, value_name = "N=PATH")]
    pub(crate) expect: Vec<String>,
    /// Say nothing but errors and what is asked for: not what ran.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Kernel parameters in order: u32:7 f32:1.5 in:PATH out:PATH:SIZE inout:PATH:OUT zero:SIZE bytes:HEX[@OFF=BUFFER];
    /// a SIZE is bytes or an array such as f32[64,32], a PATH that ends in .npy is NumPy's: in:a.npy[:TYPE];
    /// tex:SHAPE:SIZE:FORMAT[:OPTIONS]:BUFFER surf:…
    /// tensormap:TYPE:DIMS:STRIDES:BOX[:OPTION]…=BUFFER.
    #[arg(value_name = "ARG")]
    pub(crate) args: Vec<String>,
}

impl RunArgs {
    /// Whether the cycle model is asked.
    pub(crate) fn wants_timing(&self) -> bool {
        self.timing || self.timing_detail || self.timing_file.is_some()
    }
}

/// A number of seconds above zero.
pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    duration(text.parse().map_err(|_| format!("'{text}' is not a number"))?)
}

/// So many seconds, above zero.
pub(crate) fn duration(seconds: f64) -> Result<Duration, String> {
    let duration = Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?;
    if duration.is_zero() { Err("a timeout must be above zero".to_owned()) } else { Ok(duration) }
}

/// `X[,Y[,Z]]`, each at least 1.
fn parse_dim3(text: &str) -> Result<[u32; 3], String> {
    let mut dims = [1u32; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err(format!("'{text}' has {} dimensions; at most 3 are possible", parts.len()));
    }
    for (dim, part) in dims.iter_mut().zip(&parts) {
        *dim = dimension(part.trim())?;
    }
    Ok(dims)
}

/// One dimension of a grid, block or cluster. How large which of them may be the launch says.
fn dimension(text: &str) -> Result<u32, String> {
    use std::num::IntErrorKind::{PosOverflow, Zero};
    match text.parse::<std::num::NonZeroU32>() {
        Ok(dimension) => Ok(dimension.get()),
        Err(error) if *error.kind() == PosOverflow => {
            Err(format!("{text} is too large: a dimension of a grid is at most {}", i32::MAX))
        }
        Err(error) if *error.kind() == Zero || text.starts_with('-') => {
            Err("a dimension must be at least 1".to_owned())
        }
        Err(_) => Err(format!("'{text}' is not a number")),
    }
}
