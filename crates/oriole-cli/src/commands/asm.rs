//! `oriole asm`.

use super::args::AsmArgs;
use super::failure::Failure;
use super::files;
use crate::commands::arch::parse_arch;
use oriole_assembly::parse_control;
use oriole_isa::{Arch, Control, encode, parse};
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

/// Assemble each line, as [`Line`] reads it; a line that is no instruction answers `??? REASON`.
fn words(text: &str, arch: Arch) -> Result<(), Failure> {
    let mut out = String::new();
    for line in text.lines() {
        let answer = assemble(line, arch).map_or_else(|reason| format!("??? {reason}"), |word| format!("{word:032x}"));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{answer}");
    }
    files::print(&out)
}

fn assemble(line: &str, arch: Arch) -> Result<u128, String> {
    let line = Line::read(line)?;
    let mut inst = parse(line.text, arch, &|_| None).map_err(|e| e.to_string())?;
    inst.control = line.control.unwrap_or(inst.control);
    encode(&inst, arch, line.address).map_err(|e| e.to_string())
}

/// A line `TEXT [@ADDRESS]`, or one of a listing by nvdisasm or `oriole disasm`:
/// `/*ADDRESS*/ [CONTROL] TEXT ; [/* WORD */]`.
struct Line<'a> {
    address: u64,
    control: Option<Control>,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Result<Line<'a>, String> {
        let (ahead, rest) = split_comment(line.trim())?;
        let rest = rest.split_once("/*").map_or(rest, |(text, _)| text).trim();
        let (text, behind) = split_address(rest)?;
        let (control, text) = match text.split_once(char::is_whitespace) {
            Some((first, text)) if parse_control(first).is_some() => (parse_control(first), text),
            _ => (None, text),
        };
        Ok(Line { address: behind.or(ahead).unwrap_or(0), control, text })
    }
}

/// The address in the comment that begins a listing's line, and what follows.
fn split_comment(line: &str) -> Result<(Option<u64>, &str), String> {
    let Some((digits, rest)) = line.strip_prefix("/*").and_then(|line| line.split_once("*/")) else {
        return Ok((None, line));
    };
    Ok((Some(address(digits)?), rest))
}

/// The instruction's text and its address, where ` @ADDRESS` ends the line. A guard stands first
/// on its line, so an `@` after a blank that is not at the start is the address.
fn split_address(text: &str) -> Result<(&str, Option<u64>), String> {
    let Some(at) = text.rfind(" @") else { return Ok((text, None)) };
    let is_guard = text[at + 2..].trim_start_matches('!').starts_with(['P', 'U']);
    if is_guard { Ok((text, None)) } else { Ok((text[..at].trim_end(), Some(address(&text[at + 2..])?))) }
}

fn address(digits: &str) -> Result<u64, String> {
    let digits = digits.trim();
    u64::from_str_radix(digits.trim_start_matches("0x"), 16).map_err(|_| format!("'{digits}' is no address"))
}
