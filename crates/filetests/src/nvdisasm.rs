//! NVIDIA's disassembler as a judge of the instructions in a cubin.

use oriole_cubin::{Cubin, SectionKind};
use oriole_isa::{Arch, code, decode};
use oriole_prerequisites::nvdisasm;
use std::collections::BTreeMap;
use std::path::Path;

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
    let name = cubin.target.to_string().replace("sm_", "SM");
    let read = nvdisasm::listing(tool, &name, bytes).map_err(|error| error.to_string())?;
    read.map(BTreeMap::from_iter).map_err(|complaint| format!("nvdisasm: {}", complaint.trim()))
}
