//! The command line.

mod arch;
mod args;
mod asm;
mod bisect;
mod check;
mod compile;
mod demo;
mod diff;
mod disasm;
mod failure;
mod files;
mod fuzz;
mod gpu;
mod interpret;
mod isa;
mod launch;
mod memcheck;
mod nvptx;
mod phases;
mod ptx;
mod ptxas;
mod run;
mod timing;
mod unfinished;

use args::{Cli, Command};
use clap::Parser;
use std::path::Path;
use std::process::ExitCode;

/// The name under which the program stands in for NVIDIA's.
const PTXAS: &str = "ptxas";

/// Run the command that the process's arguments name.
pub fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let own_name = words.next().unwrap_or_default();
    if Path::new(&own_name).file_stem().is_some_and(|name| name == PTXAS) {
        return ptxas::run(words);
    }
    let done = match Cli::parse().command {
        Command::Demo(args) => demo::run(&args),
        Command::Compile(args) => compile::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Disasm(args) => disasm::run(&args),
        Command::Asm(args) => asm::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Ptx(args) => ptx::run(&args),
        Command::Ptxas(args) => return ptxas::run(args.words),
        Command::Nvptx(args) => nvptx::run(&args),
        Command::Bisect(args) => bisect::run(&args),
        Command::Phases(args) => phases::run(&args),
        Command::Isa(args) => isa::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
