//! The `oriole` command.

/// A compiler allocates much and briefly: an eighth of the time of `oriole nvptx` went to the C library's allocator.
/// Version 2 touches less memory than 3: an eighth of the time of the kernel corpus is clearing pages.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    oriole_cli::commands::main()
}
