//! The grammar of `oriole fuzz`.

use super::shard::Shard;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct FuzzArgs {
    /// Chooses the programs; the same seed gives the same ones.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Number of the first program.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) first: u64,
    /// How many programs.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub(crate) count: u64,
    /// Targets, in turn [default: sm_90; of mutants all that the files are for].
    #[arg(long, value_name = "TARGET,…")]
    pub(crate) arch: Option<String>,
    /// What kind of programs.
    #[arg(long, value_enum, default_value_t = FuzzKind::All)]
    pub(crate) kind: FuzzKind,
    /// Of N slices of the programs only the I-th, for a job on another machine; `oriole merge` puts the reports together.
    #[arg(long, value_name = "I/N", conflicts_with_all = ["show", "run"])]
    pub(crate) shard: Option<Shard>,
    /// Only this optimisation level of our code [default: 0, 3, and in turn 1, 2, few registers, one phase left out].
    #[arg(short = 'O', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub(crate) opt_level: Option<u8>,
    /// Of the level of -O, leave out one optional phase after the other, in turn.
    #[arg(long, requires = "opt_level")]
    pub(crate) phases_in_turn: bool,
    /// Compile each program also with a random register budget of these.
    #[arg(long, value_name = "LEAST-MOST", value_parser = parse_budgets)]
    pub(crate) registers: Option<(u32, u32)>,
    /// Statements of the larger programs.
    #[arg(long, default_value_t = 40, value_name = "N")]
    pub(crate) statements: usize,
    /// Compare with the code of this ptxas too.
    #[arg(long, value_name = "FILE")]
    pub(crate) ptxas: Option<PathBuf>,
    /// Optimisation levels of ptxas. Above 0 it is wrong at times: what only it differs on is listed apart.
    #[arg(long, value_name = "LEVEL,…", default_value = "0", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..=3))]
    pub(crate) ptxas_level: Vec<u8>,
    /// Have our cubins read by this nvdisasm, several programs in each.
    #[arg(long, value_name = "FILE")]
    pub(crate) nvdisasm: Option<PathBuf>,
    /// Leave a side out.
    #[arg(long, value_enum, value_name = "SIDE")]
    pub(crate) without: Vec<FuzzWithout>,
    /// Write a file for each finding into this folder.
    #[arg(long, default_value = "fuzz-findings", value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Write what was found as JSON; `-` for standard output, which has nothing else then.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["show", "run"])]
    pub(crate) json: Option<PathBuf>,
    /// Host threads.
    #[arg(long, value_name = "N", visible_alias = "threads")]
    pub(crate) jobs: Option<usize>,
    /// Print a program instead of running any.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) show: Option<u64>,
    /// What mutants are made of: files of PTX, with a launch in their head (`tests/programs/README.md`) or without; lines of JSON with
    /// forms of the corpus.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) of: Vec<PathBuf>,
    /// Run these programs on all sides instead of random ones (`tests/programs/README.md`).
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) run: Vec<PathBuf>,
}

/// Register budgets, the least and the most: `24-64`.
fn parse_budgets(text: &str) -> Result<(u32, u32), String> {
    let budgets = text.split_once('-').and_then(|(least, most)| Some((least.parse().ok()?, most.parse().ok()?)));
    budgets.filter(|(least, most)| least <= most).ok_or_else(|| format!("'{text}' is not LEAST-MOST, such as 24-64"))
}

/// What kinds of programs are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FuzzKind {
    /// Kernels of well-typed instructions in structured control flow.
    Kernels,
    /// Whole programs.
    Whole,
    /// Warp operations under member masks that differ between lanes, worked out on the host too.
    Masks,
    /// All, in turn.
    #[default]
    All,
    /// Files of --of with statements deleted, doubled, exchanged, retyped, rewired.
    Mutants,
    /// Files of --of with each field at its edges.
    Edges,
    /// Files of --of with instructions under guards.
    Guards,
}

/// Sides that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FuzzWithout {
    /// The PTX interpreter.
    Interpreter,
    /// Oriole's compiler.
    Oriole,
}
