//! Link settings of the command.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    // A program that may lie anywhere is relocated whenever it starts: 40,000 addresses on 270 pages, more work than
    // an empty module is. So the command has a fixed place.
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        if has_unwinder() {
            println!("cargo::rustc-link-lib=gcc_eh");
        }
    }
}

/// Whether the compiler that links has the unwinder (which prints backtraces) as an archive. Else it comes from
/// `libgcc_s.so`, which asks the processor for its features as it is loaded: on a virtual machine, where each such
/// question goes to the host, a tenth of an empty module.
fn has_unwinder() -> bool {
    const ARCHIVE: &str = "libgcc_eh.a";
    let linker = env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    // The answer is the name alone where there is no such file.
    let answer = Command::new(linker).arg(format!("-print-file-name={ARCHIVE}")).output();
    answer.is_ok_and(|answer| {
        let path = String::from_utf8_lossy(&answer.stdout);
        path.trim() != ARCHIVE && Path::new(path.trim()).is_file()
    })
}
