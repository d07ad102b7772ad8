//! `oriole disasm`.

use super::args::DisasmArgs;
use super::disasm_lines::Annotator;
use super::failure::{Failure, usage};
use super::images::{self, Wish};
use super::{compile, disasm_json, fatbin, files};
use crate::commands::arch::parse_arch;
use oriole_assembly::{control_text, read_functions};
use oriole_cubin::LineKind;
use oriole_isa::{Arch, decode};
use std::fmt::Write;
use std::path::Path;

/// Show a cubin's code, or answer lines of hexadecimal words.
pub(crate) fn run(args: &DisasmArgs) -> Result<(), Failure> {
    let bytes = files::read(&args.input)?;
    if args.hex && args.image.image.is_some() {
        return Err(usage("--image: words are no images"));
    }
    if args.list {
        return fatbin::list(&args.input, &bytes, false);
    }
    if let Some(folder) = &args.extract {
        return fatbin::extract(&args.input, &bytes, &args.image, folder);
    }
    files::print(&if args.hex { hex_lines(args, &bytes)? } else { code(args, bytes)? })
}

/// The code of the file, or of the images that are taken out of it.
fn code(args: &DisasmArgs, bytes: Vec<u8>) -> Result<String, Failure> {
    let wish = Wish::of_code(&args.input, args.arch.as_deref(), &args.image, &args.entry);
    let taken = images::taken(&wish, bytes)?;
    if taken.len() > 1 && (args.all || args.json) {
        return Err(images::several(&wish, &taken));
    }
    let is_one = taken.len() == 1;
    let mut out = String::new();
    for taken in taken {
        let (path, cubin) = compile::cubin_of(taken)?;
        if !is_one {
            let _ = writeln!(out, "// {}", path.display());
        }
        out += &if args.all { whole(&path, &cubin)? } else { listing(args, &path, &cubin)? };
    }
    Ok(out)
}

/// A cubin as text with everything in it.
fn whole(path: &Path, bytes: &[u8]) -> Result<String, Failure> {
    files::is_elf(path, bytes)?;
    oriole_assembly::disassemble(bytes).map_err(|error| Failure::file(path, error))
}

fn hex_lines(args: &DisasmArgs, bytes: &[u8]) -> Result<String, Failure> {
    let Some(arch) = &args.arch else {
        return Err(Failure::Usage("error: --hex needs --arch: the words do not say their target".to_owned()));
    };
    let arch = parse_arch(arch)?;
    let mut out = String::new();
    for line in String::from_utf8_lossy(bytes).lines() {
        let answer = hex_line(line, arch, args.control).unwrap_or_else(|reason| format!("??? {reason}"));
        let _ = writeln!(out, "{answer}");
    }
    Ok(out)
}

fn hex_line(line: &str, arch: Arch, control: bool) -> Result<String, String> {
    let mut parts = line.split_whitespace();
    let (word, address) = (parts.next().unwrap_or(""), parts.next().unwrap_or("0"));
    let number = |text: &str| {
        u128::from_str_radix(text.trim_start_matches("0x"), 16).map_err(|_| format!("'{text}' is not hexadecimal"))
    };
    let address = u64::try_from(number(address)?).map_err(|_| format!("address '{address}' is out of range"))?;
    let inst = decode(number(word)?, arch, address).map_err(|e| e.to_string())?;
    let text = inst.display(arch).to_string();
    Ok(if control { format!("{} {text}", control_text(inst.control)) } else { text })
}

/// The code of the functions: for people, or for programs.
fn listing(args: &DisasmArgs, path: &Path, bytes: &[u8]) -> Result<String, Failure> {
    let rejected = |error: &dyn std::fmt::Display| Failure::file(path, error);
    let cubin = files::cubin(path, bytes)?;
    let functions = read_functions(&cubin, &args.entry).map_err(|error| rejected(&error))?;
    let table = args.lines.map(|of| of.table(path, &cubin)).transpose()?;
    if args.json {
        // Lines that were not asked for are a gift: a damaged table of them is no error.
        let lines = table.or_else(|| cubin.line_table(LineKind::Source).ok()).unwrap_or_default();
        return Ok(format!("{:#}\n", disasm_json::document(&cubin, &functions, &lines)));
    }
    let mut lines = table.as_ref().map(|table| Annotator::new(&cubin, table, args.source));
    let mut out = format!("\t.target\t{}\n", cubin.target);
    for function in &functions {
        lines.iter_mut().for_each(Annotator::begin);
        out += &function.text(args.control, |inst| {
            lines.as_mut().map_or_else(String::new, |lines| lines.above(function.section, inst.address))
        });
    }
    Ok(out)
}
