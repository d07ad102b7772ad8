//! The `oriole` command.

#[global_allocator]
static ALLOCATOR: oriole_allocator::SizeClasses = oriole_allocator::SizeClasses;

/// A compiler is short-lived and frees most of what it takes: the C library's allocator is told to give nothing back
/// to the system and to take large blocks where the small ones are. Without this each growth of a large vector is
/// memory to be mapped and cleared anew: 3 % of the time of the kernel corpus, 12 % of the least compile's.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn keep_memory() {
    // The most that the C library takes.
    const MAPPED_FROM: libc::c_int = 32 << 20;
    const AT_ONCE: libc::c_int = 256 << 10;
    let options =
        [(libc::M_MMAP_THRESHOLD, MAPPED_FROM), (libc::M_TRIM_THRESHOLD, libc::c_int::MAX), (libc::M_TOP_PAD, AT_ONCE)];
    for (option, value) in options {
        // SAFETY: `mallopt` sets numbers of the allocator, may be called at any time, and refuses by returning 0 what
        // it does not take; no other thread runs yet.
        unsafe { libc::mallopt(option, value) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn keep_memory() {}

fn main() -> std::process::ExitCode {
    keep_memory();
    oriole_cli::commands::main()
}
