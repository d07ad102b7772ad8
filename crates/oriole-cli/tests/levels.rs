//! What the levels and `--fast-compile` choose from the list of passes.

use oriole_codegen::{FastCompile, PassInfo, passes};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A kernel with loops, branches, shared memory, and parameters that are the same in a warp.
const KERNEL: &str = "gemm_tiled.sm_80.ptx";

fn compile(kernel: &str, folder: &Path, options: &[&str]) -> Output {
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kernels/ptx").join(kernel);
    let input = input.to_str().expect("a UTF-8 path");
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.current_dir(folder).args(["compile", input, "-o", "out.cubin"]).args(options);
    command.output().expect("oriole starts")
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_owned();
    (folder, path)
}

fn cubin(options: &[&str]) -> Vec<u8> {
    cubin_of(KERNEL, options)
}

fn cubin_of(kernel: &str, options: &[&str]) -> Vec<u8> {
    let (_held, folder) = folder();
    let output = compile(kernel, &folder, options);
    assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(folder.join("out.cubin")).expect("the cubin")
}

/// The passes of the pipeline that run, of those that are timed by name.
fn ran(options: &[&str]) -> BTreeSet<String> {
    let (_held, folder) = folder();
    let output = compile(KERNEL, &folder, &[options, &["--time-phases=json"]].concat());
    assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
    let times: Value = serde_json::from_slice(&output.stderr).expect("JSON");
    let stages = times.as_array().expect("stages");
    let optimise = stages.iter().find(|stage| stage["name"] == "optimise").expect("a stage");
    let parts = optimise["parts"].as_array().expect("passes");
    parts.iter().filter_map(|part| part["name"].as_str()).map(str::to_owned).collect()
}

/// Names of the passes that the list has for a choice. The stages behind it are not timed as passes.
fn listed(is_due: impl Fn(&PassInfo) -> bool) -> BTreeSet<String> {
    let stages = ["AdvancedPhasePreSched", "AdvancedPhaseAllocReg", "AdvancedPhasePostSched"];
    let due = passes().filter(|pass| !stages.contains(&pass.name) && is_due(pass));
    due.map(|pass| pass.name.to_owned()).collect()
}

#[test]
fn levels_choose_from_the_list() {
    let levels = ["-O0", "-O1", "-O2", "-O3"].map(|level| ran(&[level]));
    for (level, ran) in (0..).zip(&levels) {
        assert_eq!(*ran, listed(|pass| pass.level <= level), "-O{level}");
    }
    assert!(levels.is_sorted_by(|less, more| less.is_subset(more)));
    assert!(levels[0].len() < levels[1].len() && levels[1].len() < levels[3].len());
    assert_eq!(levels[0], listed(|pass| pass.needed && pass.level == 0));
}

#[test]
fn fast_compile_chooses_from_the_list() {
    let some = [("min", FastCompile::Min), ("mid", FastCompile::Mid), ("max", FastCompile::Max)];
    let mut before = ran(&[]);
    for (word, fast) in some {
        let ran = ran(&[&format!("--fast-compile={word}")]);
        assert_eq!(ran, listed(|pass| pass.fast >= fast), "{word}");
        assert!(ran.len() < before.len() && ran.is_subset(&before), "{word} leaves out no more");
        before = ran;
    }
    // What correct code needs is never left out.
    assert!(passes().filter(|pass| pass.needed).all(|pass| pass.fast == FastCompile::Max));
}

#[test]
fn fast_compile_has_ptxas_s_words() {
    assert_eq!(cubin(&["--fast-compile=0"]), cubin(&[]));
    assert_eq!(cubin(&["--fast-compile"]), cubin(&["--fast-compile=mid"]));
    let all = ["0", "min", "mid", "max"].map(|word| cubin(&[&format!("--fast-compile={word}")]));
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 4, "two are the same");
    let refused = |options: &[&str], word: &str| {
        let (_held, folder) = folder();
        let output = compile(KERNEL, &folder, options);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{options:?}: {text}");
        assert!(text.contains(word) && !folder.join("out.cubin").exists(), "{options:?}: {text}");
    };
    for word in ["1", "off", "fast", ""] {
        refused(&[&format!("--fast-compile={word}")], "min, mid, max");
    }
    refused(&["--fast-compile=min", "-O0"], "no optional phase runs at -O0");
    refused(&["--fast-compile", "-g"], "no optional phase runs at -O0");
    // What is left out anyway cannot be shown, or left out once more.
    refused(&["--fast-compile=max", "--disable-pass", "GvnCse"], "no phase 'GvnCse' to leave out");
    refused(&["--fast-compile=max", "--dump-after", "GvnCse"], "no phase 'GvnCse' to show");
    assert_eq!(cubin(&["--fast-compile=0", "-O0"]), cubin(&["-O0"]));
}

/// Orders and allocations are tried again at `-O3` alone.
#[test]
fn retries_are_what_the_highest_level_adds() {
    let retried = |options: &[&str]| cubin_of("gemm_tiled.sm_90.ptx", options);
    let without = retried(&["--knob", "retries=false"]);
    assert!(retried(&[]) != without, "nothing is tried again here");
    assert!(retried(&["-O2"]) == without, "something is tried again at -O2");
    let as_said = retried(&["--knob", "retries=1", "--knob", "extra-work=1"]);
    assert!(as_said == retried(&["-O3"]), "the knobs' defaults are others");
    let (_held, folder) = folder();
    let output = compile(KERNEL, &folder, &["--knob", "retries=maybe"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("'maybe' is no bool: true, false, 1 or 0 (knob 'retries')"), "{text}");
}
