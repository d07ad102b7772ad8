//! NVIDIA's disassembler, started on raw code.

use std::io;
use std::path::Path;
use std::process::Command;

/// What nvdisasm makes of raw code for a target by its name for it (`SM90a`): byte address and text of each instruction,
/// or what it complains of.
///
/// # Errors
/// The code cannot be written to a temporary file, or the program cannot be started.
pub fn listing(tool: &Path, target: &str, code: &[u8]) -> io::Result<Result<Vec<(u64, String)>, String>> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), code)?;
    let output = Command::new(tool).args(["--binary", target]).arg(file.path()).output()?;
    if !output.status.success() {
        return Ok(Err(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(instruction).collect()))
}

/// Address and instruction of a line `/*0010*/  TEXT ;`.
fn instruction(line: &str) -> Option<(u64, String)> {
    let (address, text) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let text = text.split_once(';').map_or(text, |(text, _)| text);
    let text = text.split_once(" (*").map_or(text, |(text, _)| text);
    Some((address, text.trim().to_owned()))
}
