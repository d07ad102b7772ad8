//! Every cubin that a test makes is read by nvdisasm, where `ORIOLE_ORACLE` names the folder with it.
#![allow(dead_code, reason = "a test makes its cubins by the command or by the library")]

use oriole_cli::nvdisasm::Nvdisasm;
use std::ffi::OsStr;
use std::process::{Command, Output};

/// The cubin is one that nvdisasm reads.
pub(crate) fn cubin(bytes: &[u8]) {
    if let Some(tool) = oriole_prerequisites::tool("nvdisasm").map(Nvdisasm::at) {
        tool.read(bytes).unwrap_or_else(|why| panic!("{why}"));
    }
}

/// Runs a command; what `oriole compile … -o FILE …` has written is read back.
pub(crate) fn run(command: &mut Command) -> Output {
    let done = command.output().expect("it starts");
    let words: Vec<&OsStr> = command.get_args().collect();
    let output = words.iter().position(|word| *word == "-o").and_then(|at| words.get(at + 1));
    if let Some(path) = output.filter(|path| done.status.success() && words[0] == "compile" && **path != "-") {
        let folder = command.get_current_dir().unwrap_or(".".as_ref());
        cubin(&std::fs::read(folder.join(path)).expect("the cubin was written"));
    }
    done
}
