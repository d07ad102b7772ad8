//! Every kernel of `tests/data/kernels`, compiled for each target, runs on the strict simulator to
//! the results that independent code computed on a CPU from the CUDA source.

use crate::read_back;

use crate::launch::{Launch, compare, launches};
use std::path::{Path, PathBuf};
use std::process::Command;

fn oriole(arguments: &[&str]) -> Result<(), String> {
    let done = read_back::run(Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments));
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
}

/// Compile with `options`, run, compare.
fn run(launch: &Launch, source: &Path, options: &[&str], folder: &Path) -> Result<(), String> {
    let cubin = folder.join("kernel.cubin");
    let cubin = cubin.to_str().expect("a UTF-8 path");
    let mut words = vec!["compile", source.to_str().expect("a UTF-8 path"), "-o", cubin, "--entry", launch.entry()];
    words.extend(options);
    oriole(&words)?;
    let (arguments, outputs) = launch.arguments(folder);
    let mut words = vec!["run", cubin, "--strict"];
    words.extend(arguments.iter().map(String::as_str));
    oriole(&words)?;
    for output in outputs {
        let got = std::fs::read(&output.path).map_err(|e| e.to_string())?;
        compare(&got, &launch.expected(output.index), &output.kind, &output.check)
            .map_err(|why| format!("output {}: {why}", output.index))?;
    }
    Ok(())
}

/// Runs the launches whose source is there.
fn all_right_for(target: &str, options: &[&str], source: impl Fn(&Launch) -> Option<PathBuf>) {
    let options = [&["--arch", target], options].concat();
    let mut wrong = Vec::new();
    let mut count = 0;
    for launch in launches() {
        let Some(source) = source(&launch) else { continue };
        count += 1;
        let folder = tempfile::tempdir().expect("a temporary folder");
        if let Err(why) = run(&launch, &source, &options, folder.path()) {
            wrong.push(format!("{}: {}", launch.name(), why.trim()));
        }
    }
    assert!(wrong.is_empty(), "{target}:\n{}", wrong.join("\n"));
    assert!(count > 12, "only {count} launches");
}

#[test]
fn first_kernels_are_right_on_sm_80() {
    all_right_for("sm_80", &[], |launch| Some(launch.ptx("sm_80")));
}

#[test]
fn first_kernels_are_right_on_sm_90() {
    all_right_for("sm_90", &[], |launch| Some(launch.ptx("sm_90")));
}

/// What finds no uniform register or predicate waits elsewhere.
#[test]
fn right_with_few_uniform_registers() {
    let few = ["--knob", "uniform-registers=6", "--knob", "uniform-predicates=1", "--verify"];
    for target in ["sm_80", "sm_90"] {
        all_right_for(target, &few, |launch| Some(launch.ptx(target)));
    }
}

#[test]
fn kernels_from_llvm_ir_are_right_on_sm_80() {
    all_right_for("sm_80", &[], Launch::llvm);
}

#[test]
fn kernels_from_llvm_ir_are_right_on_sm_90() {
    all_right_for("sm_90", &[], Launch::llvm);
}

/// The result does not depend on any one of the optional phases, nor on how many of their runs there are.
#[test]
fn right_without_each_optional_phase() {
    let mut wrong = Vec::new();
    let mut check = |launch: &Launch, options: &[&str]| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        if let Err(why) = run(launch, &launch.ptx("sm_80"), options, folder.path()) {
            wrong.push(format!("{} {options:?}: {}", launch.name(), why.trim()));
        }
    };
    let launches = launches();
    let small = |launch: &&Launch| ["scan_shuffle", "bitonic_shared", "int_division"].contains(&launch.entry());
    let chosen: Vec<&Launch> = launches.iter().filter(small).collect();
    assert_eq!(chosen.len(), 3, "the list of launches has changed");
    for launch in &chosen {
        for pass in oriole_codegen::optional_passes(3) {
            check(launch, &["--disable-pass", pass]);
        }
    }
    for limit in 0..=oriole_codegen::optional_passes(3).count() {
        check(chosen[0], &["--pass-limit", &limit.to_string()]);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
