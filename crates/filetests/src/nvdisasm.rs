//! NVIDIA's disassembler as a judge of the instructions in a cubin.

use oriole_cubin::{Cubin, SectionKind};
use oriole_isa::{Arch, code, decode};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Both read the same instructions in each section of code; nothing is said where nvdisasm is not installed, but in the
/// summary of what could not run.
pub(crate) fn compare(cubin: &Cubin, arch: Arch) -> Result<(), String> {
    let Some(tool) = oriole_prerequisites::tool("nvdisasm") else { return Ok(()) };
    for section in cubin.sections.iter().filter(|section| section.kind == SectionKind::Text) {
        let theirs = listing(&tool, cubin, &section.data)?;
        for (address, word) in code::words(&section.data, arch) {
            let inst = decode(word, arch, address).map_err(|error| format!("{address:#x}: {error}"))?;
            let ours = inst.display(arch).to_string();
            let their = theirs.get(&address).map_or("nothing", String::as_str);
            if ours != their {
                return Err(format!("{}, {address:#x}: '{ours}' is '{their}' for nvdisasm", section.name));
            }
        }
    }
    Ok(())
}

/// The instructions that nvdisasm reads, by address.
fn listing(tool: &Path, cubin: &Cubin, bytes: &[u8]) -> Result<BTreeMap<u64, String>, String> {
    let file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    std::fs::write(file.path(), bytes).map_err(|error| error.to_string())?;
    let name = cubin.target.to_string().replace("sm_", "SM");
    let done = Command::new(tool).args(["--binary", &name]).arg(file.path()).output().map_err(|e| e.to_string())?;
    if !done.status.success() {
        return Err(format!("nvdisasm: {}", String::from_utf8_lossy(&done.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&done.stdout).lines().filter_map(instruction).collect())
}

/// Address and instruction of a line `/*0010*/  TEXT ;`.
fn instruction(line: &str) -> Option<(u64, String)> {
    let (address, text) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let text = text.split_once(';').map_or(text, |(text, _)| text);
    let text = text.split_once(" (*").map_or(text, |(text, _)| text);
    Some((address, text.trim().to_owned()))
}
