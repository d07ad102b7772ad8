//! `oriole isa`.

use super::args::{IsaArgs, IsaCommand};
use super::failure::Failure;
use super::files;
use crate::commands::arch::parse_arch;
use oriole_isa::{Arch, Opcode, special_registers};
use oriole_ori::published::{self, opcodes};
use std::fmt::Write;
use std::path::Path;

/// Show a part of the instruction-set data.
pub(crate) fn run(args: &IsaArgs) -> Result<(), Failure> {
    let text = match &args.what {
        IsaCommand::Manual { folder } => return manual(folder),
        IsaCommand::List { arch } => list(parse_arch(arch)?),
        IsaCommand::Show { mnemonic, arch } => show(mnemonic, arch.as_deref().map(parse_arch).transpose()?)?,
        IsaCommand::Published => published::page(),
        IsaCommand::SpecialRegisters { arch } => registers(arch.as_deref().map(parse_arch).transpose()?),
    };
    files::print(&text)
}

fn manual(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|e| Failure::file(folder, e))?;
    for (name, text) in oriole_isa::manual::book() {
        files::write(&folder.join(name), text.as_bytes())?;
    }
    Ok(())
}

fn list(arch: Arch) -> String {
    let opcodes = Opcode::ALL.into_iter().filter(|o| o.exists_on(arch));
    opcodes.map(|o| format!("{:12} {:12} {}\n", o.name(), o.info().family.name(), o.info().pipe.name())).collect()
}

fn show(mnemonic: &str, arch: Option<Arch>) -> Result<String, Failure> {
    let name = mnemonic.to_ascii_uppercase();
    let found = opcodes::spelled(&name);
    let Some(opcode) = found else {
        return Err(Failure::Rejected(format!(
            "error: no instruction '{mnemonic}'; 'oriole isa list --arch …' names them"
        )));
    };
    // Without a target the newest one that has the instruction is shown.
    let newest = || Arch::ALL.into_iter().rev().find(|a| opcode.exists_on(*a));
    Ok(match arch.or_else(newest) {
        Some(arch) => opcode.manual(arch),
        None => format!("{mnemonic}: on none of the targets\n"),
    })
}

fn registers(arch: Option<Arch>) -> String {
    let mut out = format!(
        "{:>3} {:31} {:22} {:8} {:9} {:26} {:16} fields; meaning\n",
        "no", "name", "PTX", "scope", "read by", "shaders", "targets"
    );
    for register in special_registers::all().iter().filter(|r| arch.is_none_or(|a| r.exists_on(a))) {
        let [number, name, ptx, scope, _, shaders, targets, fields, meaning] = register.columns();
        let read_by = if register.coupled { "S2R CS2R" } else { "S2R" };
        let _ = writeln!(
            out,
            "{number:>3} {name:31} {ptx:22} {scope:8} {read_by:9} {shaders:26} {targets:16} {fields}; {meaning}"
        );
    }
    out.push_str("\nNumbers without a register, bits without a field, and CS2R of what it does not read give 0.\n");
    out
}
