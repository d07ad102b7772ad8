//! `oriole completions`.

use super::args::Cli;
use super::batch_args::CompletionsArgs;
use super::failure::Failure;
use super::files;
use clap::CommandFactory;
use std::path::Path;

/// Print the script.
pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "oriole", &mut script);
    files::write(Path::new("-"), &script)
}
