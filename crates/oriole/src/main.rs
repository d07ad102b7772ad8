//! The `oriole` command.

mod cli;
mod driver;

/// A compiler allocates much and briefly: an eighth of the time of `oriole nvptx` went to the C library's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::main()
}
