//! `oriole disasm`.

use super::args::DisasmArgs;
use super::failure::Failure;
use super::{files, parse_arch};
use oriole::assembly::{branch_targets, control_text};
use oriole_cubin::{Cubin, Function};
use oriole_isa::{Arch, Inst, code, decode};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Show a cubin's code, or answer lines of hexadecimal words.
pub(crate) fn run(args: &DisasmArgs) -> Result<(), Failure> {
    let bytes = files::read(&args.input)?;
    let out = match (args.hex, args.all) {
        (true, _) => hex_lines(args, &bytes)?,
        (_, true) => oriole::assembly::disassemble(&bytes).map_err(|e| Failure::file(&args.input, e))?,
        _ => listing(args, &bytes)?,
    };
    files::write(Path::new("-"), out.as_bytes())
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

fn listing(args: &DisasmArgs, bytes: &[u8]) -> Result<String, Failure> {
    let cubin = Cubin::parse(bytes).map_err(|e| Failure::file(&args.input, e))?;
    let name = cubin.target.to_string();
    let arch: Arch = name.parse().map_err(|e| Failure::file(&args.input, e))?;
    let functions: Vec<&Function> = cubin.functions.iter().filter(|f| wanted(f, &args.entry)).collect();
    if let Some(missing) = args.entry.iter().find(|name| !cubin.functions.iter().any(|f| f.name == **name)) {
        return Err(Failure::file(&args.input, format!("no function '{missing}'")));
    }
    let mut out = format!("\t.target\t{name}\n");
    for function in functions {
        show_function(&cubin, function, arch, args.control, &mut out);
    }
    Ok(out)
}

/// All kernels of a cubin, nvdisasm style.
pub(crate) fn listing_of(cubin: &Cubin, arch: Arch, control: bool) -> String {
    let mut out = String::new();
    for function in cubin.functions.iter().filter(|f| wanted(f, &[])) {
        show_function(cubin, function, arch, control, &mut out);
    }
    out
}

/// Functions inside a kernel's section are shown as part of the kernel.
fn wanted(function: &Function, names: &[String]) -> bool {
    if names.is_empty() { function.offset == 0 } else { names.contains(&function.name) }
}

fn show_function(cubin: &Cubin, function: &Function, arch: Arch, control: bool, out: &mut String) {
    let start = function.offset;
    let words = code::words(cubin.code(function), arch).into_iter().map(|(pc, word)| (start + pc, word));
    let insts: Vec<(u64, Result<Inst, String>)> =
        words.map(|(pc, word)| (pc, decode(word, arch, pc).map_err(|e| format!("??? {word:032x} {e}")))).collect();
    let labels = labels(&insts, cubin, function);
    let _ = writeln!(out, "\n\t.section\t.text.{}\n{}:", function.name, function.name);
    for (pc, inst) in &insts {
        if let Some(label) = labels.get(pc).filter(|_| *pc != start) {
            let _ = writeln!(out, "{label}:");
        }
        let text = match inst {
            Ok(inst) => {
                let name = |target: i64| u64::try_from(target).ok().and_then(|t| labels.get(&t).cloned());
                inst.display(arch).labels(&name).to_string()
            }
            Err(reason) => reason.clone(),
        };
        let bits = inst.as_ref().map_or_else(|_| String::new(), |i| control_text(i.control));
        let bits = if control { format!("{bits} ") } else { String::new() };
        let _ = writeln!(out, "        /*{pc:04x}*/ {bits}{text} ;");
    }
}

/// Names of the addresses that are branched to, and of functions.
fn labels(insts: &[(u64, Result<Inst, String>)], cubin: &Cubin, shown: &Function) -> BTreeMap<u64, String> {
    let mut labels: BTreeMap<u64, String> = BTreeMap::new();
    for function in cubin.functions.iter().filter(|f| f.section == shown.section) {
        labels.insert(function.offset, function.name.clone());
    }
    let targets = branch_targets(insts.iter().filter_map(|(_, inst)| inst.as_ref().ok()));
    for target in targets {
        let next = format!(".L_x_{}", labels.len());
        labels.entry(target).or_insert(next);
    }
    labels
}
