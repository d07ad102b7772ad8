//! Oriole and the ptxas that is found, side by side.

use std::path::Path;
use std::process::Command;

/// The compilers that there are, ours first and with its checks on, about to compile `input` for `arch`, the target that
/// it names itself.
pub(crate) fn compilers(arch: &str, input: &Path, output: &Path, options: &[&str]) -> Vec<Command> {
    let mut oriole = Command::new(env!("CARGO_BIN_EXE_oriole"));
    oriole.args(["compile", "--verify"]);
    let ptxas = oriole_prerequisites::tool("ptxas").map(|tool| {
        let mut ptxas = Command::new(tool);
        ptxas.arg(format!("-arch={arch}"));
        ptxas
    });
    let mut commands: Vec<Command> = std::iter::once(oriole).chain(ptxas).collect();
    for command in &mut commands {
        command.arg(input).args(options).arg("-o").arg(output);
    }
    commands
}

/// What a compiler says; whether it has succeeded.
pub(crate) fn said(command: &mut Command) -> (bool, String) {
    let output = command.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    (output.status.success(), text)
}
