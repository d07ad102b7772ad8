//! The `oriole` command.

/// A compiler allocates much and briefly: an eighth of the time of `oriole nvptx` went to the C library's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    oriole_cli::commands::main()
}
