//! `oriole asm`.

use super::args::AsmArgs;
use super::failure::Failure;
use super::files;
use crate::commands::arch::parse_arch;
use oriole_isa::{Arch, encode, parse};
use std::fmt::Write;

/// Assemble a whole cubin, or single lines.
pub(crate) fn run(args: &AsmArgs) -> Result<(), Failure> {
    files::keep_apart([args.input.as_path()], args.output.as_deref())?;
    let bytes = files::read(&args.input)?;
    let text = String::from_utf8_lossy(&bytes);
    match (&args.output, &args.arch) {
        (Some(_), _) if bytes.is_empty() => Err(Failure::file(&args.input, "the file is empty")),
        (Some(output), _) => {
            let cubin = oriole_assembly::assemble(&text).map_err(|e| Failure::file(&args.input, e))?;
            files::write(output, &cubin)
        }
        (None, arch) => words(&text, parse_arch(arch.as_deref().unwrap_or_default())?),
    }
}

/// Assemble each line `TEXT [@ADDRESS]`; a line that is no instruction answers `??? REASON`.
fn words(text: &str, arch: Arch) -> Result<(), Failure> {
    let mut out = String::new();
    for line in text.lines() {
        let answer = assemble(line, arch).map_or_else(|reason| format!("??? {reason}"), |word| format!("{word:032x}"));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{answer}");
    }
    files::write(std::path::Path::new("-"), out.as_bytes())
}

fn assemble(line: &str, arch: Arch) -> Result<u128, String> {
    let (text, address) = split_address(line)?;
    let inst = parse(text, arch, &|_| None).map_err(|e| e.to_string())?;
    encode(&inst, arch, address).map_err(|e| e.to_string())
}

/// The instruction's text and its address, 0 unless ` @ADDRESS` ends the line. A guard stands first
/// on its line, so an `@` after a blank that is not at the start is the address.
fn split_address(line: &str) -> Result<(&str, u64), String> {
    let line = line.trim();
    let Some(at) = line.rfind(" @") else { return Ok((line, 0)) };
    let digits = line[at + 2..].trim().trim_start_matches("0x");
    let address = u64::from_str_radix(digits, 16).map_err(|_| format!("'{}' is no address", &line[at + 1..]))?;
    Ok((line[..at].trim_end(), address))
}
