//! Every kernel of `tests/data/kernels`, compiled for each target, runs on the strict simulator to
//! the results that independent code computed on a CPU from the CUDA source.

use crate::read_back;

use crate::launch::{Launch, compare, launches};
use oriole_prerequisites::is_thorough;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options of `oriole run` for strict simulation.
const STRICT: &[&str] = &["--strict"];

fn oriole(arguments: &[&str]) -> Result<(), String> {
    let done = read_back::run(Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments));
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
}

/// Compile with `options`, run with others, compare.
fn run(launch: &Launch, source: &Path, [options, judges]: [&[&str]; 2], folder: &Path) -> Result<(), String> {
    let cubin = folder.join("kernel.cubin");
    let cubin = cubin.to_str().expect("a UTF-8 path");
    let mut words = vec!["compile", source.to_str().expect("a UTF-8 path"), "-o", cubin, "--entry", launch.entry()];
    words.extend(options);
    oriole(&words)?;
    let (arguments, outputs) = launch.arguments(folder);
    let mut words = vec!["run", cubin];
    words.extend(judges);
    words.extend(arguments.iter().map(String::as_str));
    oriole(&words)?;
    for output in outputs {
        let got = std::fs::read(&output.path).map_err(|e| e.to_string())?;
        compare(&got, &launch.expected(output.index), &output.kind, &output.check)
            .map_err(|why| format!("output {}: {why}", output.index))?;
    }
    Ok(())
}

/// Runs the launches whose source is there, on each target that they have.
fn all_right<'t>(
    targets: impl Fn(usize) -> &'t [&'t str],
    [options, judges]: [&[&str]; 2],
    source: impl Fn(&Launch, &str) -> Option<PathBuf>,
) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (number, launch) in launches().iter().enumerate() {
        for target in targets(number) {
            let Some(source) = source(launch, target) else { continue };
            count += 1;
            let folder = tempfile::tempdir().expect("a temporary folder");
            let options = [&["--arch", target], options].concat();
            if let Err(why) = run(launch, &source, [&options, judges], folder.path()) {
                wrong.push(format!("{} {target}: {}", launch.name(), why.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 12, "only {count} launches");
}

fn from_ptx(launch: &Launch, target: &str) -> Option<PathBuf> {
    Some(launch.ptx(target))
}

fn from_llvm_ir(launch: &Launch, _: &str) -> Option<PathBuf> {
    launch.llvm()
}

#[test]
fn first_kernels_are_right_on_sm_80() {
    all_right(|_| &["sm_80"], [&[], STRICT], from_ptx);
}

#[test]
fn first_kernels_are_right_on_sm_90() {
    all_right(|_| &["sm_90"], [&[], STRICT], from_ptx);
}

/// They are correct programs: no check finds anything, in memory or in synchronisation.
#[test]
fn kernels_have_no_findings() {
    all_right(|_| &["sm_80", "sm_90"], [&[], &["--check", "all,global-init"]], from_ptx);
}

/// What finds no uniform register or predicate waits elsewhere. Launches have the targets in turn.
#[test]
fn right_with_few_uniform_registers() {
    let few = ["--knob", "uniform-registers=6", "--knob", "uniform-predicates=1", "--verify"];
    let targets = |number: usize| match number % 2 {
        _ if is_thorough() => &["sm_80", "sm_90"][..],
        0 => &["sm_80"],
        _ => &["sm_90"],
    };
    all_right(targets, [&few, STRICT], from_ptx);
}

#[test]
fn kernels_from_llvm_ir_are_right_on_sm_80() {
    all_right(|_| &["sm_80"], [&[], STRICT], from_llvm_ir);
}

#[test]
fn kernels_from_llvm_ir_are_right_on_sm_90() {
    all_right(|_| &["sm_90"], [&[], STRICT], from_llvm_ir);
}

/// The result does not depend on any one of the optional phases, nor on how many of their runs there are. Each phase is left
/// out of one of three kernels.
#[test]
fn right_without_each_optional_phase() {
    let mut wrong = Vec::new();
    let mut check = |launch: &Launch, options: &[&str]| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        if let Err(why) = run(launch, &launch.ptx("sm_80"), [options, STRICT], folder.path()) {
            wrong.push(format!("{} {options:?}: {}", launch.name(), why.trim()));
        }
    };
    let launches = launches();
    let small = |launch: &&Launch| ["scan_shuffle", "bitonic_shared", "int_division"].contains(&launch.entry());
    let chosen: Vec<&Launch> = launches.iter().filter(small).collect();
    assert_eq!(chosen.len(), 3, "the list of launches has changed");
    for (turn, launch) in chosen.iter().enumerate() {
        for (at, pass) in oriole_codegen::optional_passes(3).enumerate() {
            if is_thorough() || at % 3 == turn {
                check(launch, &["--disable-pass", pass]);
            }
        }
    }
    for limit in 0..=oriole_codegen::optional_passes(3).count() {
        check(chosen[0], &["--pass-limit", &limit.to_string()]);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
