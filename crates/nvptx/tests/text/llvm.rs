//! LLVM 19 as judge, where it is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use oriole_nvptx::text::{parse, print_for};

use super::{kernels, own};

/// The version that is asked.
const VERSION: u32 = 19;

fn tool(name: &str) -> Option<PathBuf> {
    oriole_prerequisites::program(&format!("/usr/bin/{name}-{VERSION}"))
}

/// Runs a tool; what it says when it fails.
fn run(tool: &Path, arguments: &[&Path]) -> Result<(), String> {
    let output = Command::new(tool).args(arguments).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(said) }
}

/// The text with what came after LLVM 19 taken out or put as it was then.
fn older(text: &str) -> String {
    let mut text = text.replace("icmp samesign", "icmp").replace("captures(none)", "nocapture");
    for word in ["start", "end"] {
        let name = format!("@llvm.lifetime.{word}.p0(");
        text = text.replace(&format!("declare void {name}ptr"), &format!("declare void {name}i64, ptr"));
        text = text.replace(&format!("call void {name}ptr"), &format!("call void {name}i64 -1, ptr"));
    }
    // Their operands are metadata, which are dropped, and with them the call.
    let dropped = |line: &&str| !line.contains("call void @llvm.experimental.noalias.scope.decl");
    text.lines().filter(dropped).collect::<Vec<_>>().join("\n")
}

#[test]
fn llvm_takes_what_is_printed_and_finds_no_difference() {
    let (Some(opt), Some(diff)) = (tool("opt"), tool("llvm-diff")) else { return };
    let folder = std::env::temp_dir().join(format!("oriole-text-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let (before, after) = (folder.join("before.ll"), folder.join("after.ll"));
    // LLVM 19 knows neither typed pointers nor all operations of its successors.
    let known = |path: &PathBuf| !path.ends_with("llvm7.ll") && !path.ends_with("newer.ll");
    let (mut taken, mut wrong) = (0, Vec::new());
    for path in own().into_iter().filter(known).chain(kernels()) {
        let text = std::fs::read_to_string(&path).expect("the file is there");
        let module = parse(&text, "before").expect("read in another test");
        std::fs::write(&before, older(&text)).expect("the folder is ours");
        std::fs::write(&after, print_for(&module, VERSION)).expect("the folder is ours");
        let quiet = [Path::new("-passes=verify"), Path::new("-disable-output")];
        let outcome = run(&opt, &[quiet[0], quiet[1], &after]).and_then(|()| run(&diff, &[&before, &after]));
        taken += 1;
        wrong.extend(outcome.err().map(|said| format!("{}: {said}", path.display())));
    }
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    assert!(wrong.is_empty(), "{} of {taken}:\n{}", wrong.len(), wrong.join("\n"));
}
