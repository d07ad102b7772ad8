//! The `oriole` command.

#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: oriole_allocator::SizeClasses = oriole_allocator::SizeClasses;

fn main() -> std::process::ExitCode {
    oriole_cli::commands::main()
}
