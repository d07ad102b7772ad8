//! The command line.

mod arch;
mod args;
mod asm;
mod batch;
mod batch_args;
mod bisect;
mod bounds;
mod cache;
mod cache_command;
mod check;
mod colour;
mod comparison;
mod compile;
mod completions;
mod cuda_source;
mod demo;
mod diagnostics;
mod diff;
mod disasm;
mod disasm_json;
mod disasm_lines;
mod elements;
mod expect;
mod failure;
mod fatbin;
mod files;
mod fuzz;
mod fuzz_args;
mod gpu;
mod images;
mod interpret;
mod isa;
mod launch;
mod man;
mod memcheck;
mod merge;
mod nvptx;
mod octets;
mod outputs;
mod phases;
mod progress;
mod ptx;
mod ptxas;
mod run;
mod run_args;
mod schedule;
mod schedule_args;
mod shard;
mod side_by_side;
mod simulate;
mod spellings;
mod still_running;
mod system;
mod targets;
mod test;
mod test_args;
mod timing;
mod tune;
mod tune_args;
mod unfinished;

use args::{Cli, Command};
use clap::{CommandFactory, FromArgMatches};
pub(crate) use diagnostics::Severity;
use failure::Failure;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// The name under which the program stands in for NVIDIA's.
const PTXAS: &str = "ptxas";

/// Run the command that the process's arguments name.
pub fn main() -> ExitCode {
    system::outlive_the_limit_of_file_sizes();
    let mut words = std::env::args_os();
    let own_name = words.next().unwrap_or_default();
    if Path::new(&own_name).file_stem().is_some_and(|name| name == PTXAS) {
        return ptxas::run(words);
    }
    let cli = match parsed(std::iter::once(own_name).chain(words)) {
        Ok(cli) => cli,
        Err(failure) => return failure.report(),
    };
    colour::choose(cli.global.color);
    let done = match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Compile(args) => compile::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Disasm(args) => disasm::run(&args),
        Command::Asm(args) => asm::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Schedule(args) => schedule::run(&args),
        Command::Fatbin(args) => fatbin::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Ptx(args) => ptx::run(&args),
        Command::Ptxas(args) => return ptxas::run(args.words),
        Command::Nvptx(args) => nvptx::run(&args),
        Command::Bisect(args) => bisect::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Phases(args) => phases::run(&args),
        Command::Isa(args) => isa::run(&args),
        Command::Cache(args) => cache_command::run(&args),
        Command::Targets(args) => targets::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// The process's arguments. What clap says of them goes by their `--color`.
fn parsed(words: impl Iterator<Item = OsString>) -> Result<Cli, Failure> {
    let words = spellings::translated(words)?;
    let mut grammar = Cli::command().color(colour::of_arguments(words.iter().cloned()));
    let matches = grammar.try_get_matches_from_mut(&words);
    let cli = matches.and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches));
    Ok(cli.unwrap_or_else(|error| spellings::advise(error, &words).exit()))
}
