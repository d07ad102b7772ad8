//! `--color`: said once for the process, asked wherever a diagnostic is rendered.

use anstream::{AutoStream, ColorChoice};

/// Go by this from now on.
pub(super) fn choose(choice: clap::ColorChoice) {
    let choice = match choice {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Whether what goes to standard error has colours: as `--color` says, or else by `NO_COLOR`, `CLICOLOR_FORCE`, `TERM` and
/// whether it is a terminal.
pub(super) fn on_stderr() -> bool {
    AutoStream::choice(&std::io::stderr()) != ColorChoice::Never
}

/// `--color` where clap has not read the arguments yet: its own messages go by it.
pub(super) fn of_arguments(arguments: impl Iterator<Item = std::ffi::OsString>) -> clap::ColorChoice {
    let mut arguments = arguments.skip(1).take_while(|argument| argument != "--");
    let mut choice = clap::ColorChoice::Auto;
    while let Some(argument) = arguments.next() {
        let word = match argument.to_str() {
            Some("--color") => arguments.next().and_then(|word| word.into_string().ok()),
            Some(other) => other.strip_prefix("--color=").map(str::to_owned),
            None => None,
        };
        if let Some(said) = word.and_then(|word| word.parse().ok()) {
            choice = said;
        }
    }
    choice
}
