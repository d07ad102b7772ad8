//! Link settings of the command.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A program that may lie anywhere is relocated whenever it starts: 40,000 addresses on 270 pages, more work than
    // an empty module is. So the command has a fixed place.
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
