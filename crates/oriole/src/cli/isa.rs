//! `oriole isa`.

use super::args::{IsaArgs, IsaCommand};
use super::failure::Failure;
use super::parse_arch;
use oriole_isa::{Arch, Opcode, special_registers};

/// Show a part of the instruction-set data.
pub(crate) fn run(args: &IsaArgs) -> Result<(), Failure> {
    match &args.what {
        IsaCommand::List { arch } => list(parse_arch(arch)?),
        IsaCommand::Show { mnemonic, arch } => show(mnemonic, arch.as_deref().map(parse_arch).transpose()?)?,
        IsaCommand::SpecialRegisters { arch } => registers(arch.as_deref().map(parse_arch).transpose()?),
    }
    Ok(())
}

fn list(arch: Arch) {
    for opcode in Opcode::ALL.into_iter().filter(|o| o.exists_on(arch)) {
        let info = opcode.info();
        println!("{:12} {:12} {}", opcode.name(), info.family, info.pipe);
    }
}

fn show(mnemonic: &str, arch: Option<Arch>) -> Result<(), Failure> {
    let name = mnemonic.to_ascii_uppercase();
    let found = Opcode::from_name(&name).or_else(|| Opcode::ALL.into_iter().find(|o| o.rot13_name() == name));
    let Some(opcode) = found else {
        return Err(Failure::Rejected(format!("error: no instruction '{mnemonic}'; 'oriole isa list --arch …' names them")));
    };
    // Without a target the newest one that has the instruction is shown.
    let newest = || Arch::ALL.into_iter().rev().find(|a| opcode.exists_on(*a));
    match arch.or_else(newest) {
        Some(arch) => print!("{}", opcode.manual(arch)),
        None => println!("{mnemonic}: on none of the targets"),
    }
    Ok(())
}

fn registers(arch: Option<Arch>) {
    println!("{:>3} {:24} {:22} {:>4} {:8} {:5} targets", "no", "name", "PTX", "bits", "scope", "CS2R");
    for register in special_registers::all().iter().filter(|r| arch.is_none_or(|a| r.exists_on(a))) {
        let cs2r = if register.coupled { "yes" } else { "no" };
        let targets: Vec<&str> = Arch::ALL.into_iter().filter(|a| register.exists_on(*a)).map(Arch::name).collect();
        println!(
            "{:>3} {:24} {:22} {:>4} {:8} {cs2r:5} {}",
            register.number,
            register.name,
            register.ptx.unwrap_or(""),
            register.bits,
            format!("{:?}", register.scope).to_lowercase(),
            targets.join(" ")
        );
    }
}
