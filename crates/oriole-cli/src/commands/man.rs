//! `oriole man`.

use super::args::Cli;
use super::batch_args::ManArgs;
use super::failure::Failure;
use super::files;
use clap::{Command, CommandFactory};

/// Write `oriole.1`, and `oriole-COMMAND.1` for each command and each of its own.
pub(crate) fn run(args: &ManArgs) -> Result<(), Failure> {
    let folder = &args.folder;
    files::make_folder(folder)?;
    let mut grammar = Cli::command();
    // Names such as `oriole-isa-show`, and the grammar of each command.
    grammar.build();
    write(&grammar, args)
}

fn write(grammar: &Command, args: &ManArgs) -> Result<(), Failure> {
    let page = clap_mangen::Man::new(grammar.clone());
    let path = args.folder.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text).map_err(|error| Failure::file(&path, error))?;
    files::write(&path, &text)?;
    grammar
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
        .try_for_each(|command| write(command, args))
}
