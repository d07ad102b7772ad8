//! Code of ptxas is right: the checker finds nothing in it. The modules are those of `tools/foreign_ptx.py`, of which at first all but a few had
//! findings: queues that were not known, calls that only jump, distances that were too long.

use oriole_check::check;
use oriole_cubin::Cubin;
use std::fs;
use std::path::Path;
use std::process::Command;

/// `sm_103a` shares the tables of `sm_100a`, and is not asked for: its doubles have scoreboards.
const TARGETS: &str = "sm_80,sm_86,sm_89,sm_90a,sm_100a,sm_120a";
const MODULES: &str = "6";

#[test]
fn nothing_is_found_in_random_modules_of_ptxas() {
    let (Some(ptxas), Some(python)) =
        (oriole_prerequisites::tool("ptxas"), oriole_prerequisites::python(&["argparse"]))
    else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/foreign_ptx.py");
    let made = Command::new(python)
        .arg(script)
        .arg(folder.path())
        .args(["--targets", TARGETS, "--count", MODULES, "--ptxas"])
        .arg(ptxas)
        .status()
        .expect("Python starts");
    assert!(made.success());
    let mut modules = 0;
    for target in TARGETS.split(',') {
        for entry in fs::read_dir(folder.path().join(target)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|extension| extension != "cubin") {
                continue;
            }
            let cubin = Cubin::parse(&fs::read(&path).expect("a file")).expect("a cubin");
            let findings = check(&cubin, &[]).expect("known latencies").findings;
            let found: Vec<String> = findings.iter().map(ToString::to_string).collect();
            assert!(found.is_empty(), "{}:\n{}", path.display(), found.join("\n"));
            modules += 1;
        }
    }
    assert_eq!(modules, 6 * MODULES.parse::<usize>().expect("a number"));
}
