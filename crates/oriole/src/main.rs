//! The `oriole` command.

mod cli;
mod driver;

fn main() -> std::process::ExitCode {
    cli::main()
}
