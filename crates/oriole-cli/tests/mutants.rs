//! Modules that are right, changed: statements at random, fields to their edges, instructions under guards. And modules that read what
//! nobody has written.

use oriole_cli::fuzz::{Change, Mutants, Seed, Tally};
use oriole_codegen::{CompileOptions, compile};
use oriole_cubin::Target;
use oriole_prerequisites::{is_thorough, sample, shared};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Random mutants, or half of them without `ORIOLE_THOROUGH=1`; `oriole fuzz --kind mutants` makes more.
const RANDOM: u64 = 100;
/// One in so many forms of the corpus is put under guards, and to edges, without and with `ORIOLE_THOROUGH=1`; `oriole fuzz` takes all.
const ONE_IN: [usize; 2] = [600, 150];

fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(folder)
}

/// Names and texts of the PTX files of a folder.
fn texts(folder: &str) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(data(folder)).expect("the folder is committed");
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|ext| ext == "ptx")).collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).expect("PTX is text"))
    };
    paths.iter().map(read).collect()
}

fn programs(folder: &str) -> Vec<Seed> {
    let seed =
        |(name, text): (String, String)| Seed::program(&name, &text).unwrap_or_else(|why| panic!("{name}: {why}"));
    texts(folder).into_iter().map(seed).collect()
}

fn forms(path: &Path) -> Vec<Seed> {
    Seed::forms(&std::fs::read_to_string(path).expect("it is text")).expect("forms are right")
}

fn selection() -> Vec<Seed> {
    forms(&data("data/forms/selection.jsonl"))
}

/// Every third of the selection, or all where all are asked for; and some of the corpus.
fn some_forms() -> Vec<Seed> {
    selection().into_iter().step_by(if is_thorough() { 1 } else { 3 }).chain(corpus()).collect()
}

/// One in so many forms of the corpus.
fn corpus() -> Vec<Seed> {
    let Some(folder) = shared("ptx_forms/forms") else { return Vec::new() };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("it is a folder").map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    let all = files.iter().flat_map(|file| forms(file));
    all.step_by(ONE_IN[usize::from(is_thorough())]).collect()
}

/// No findings among the mutants; how many modules were compared with the interpreter.
fn no_findings(change: Change, seeds: Vec<Seed>, count: u64) -> u64 {
    let (edges, levels) = if is_thorough() { (2, vec![0, 1, 2, 3]) } else { (1, vec![0, 3]) };
    let mutants = Mutants { seed: 1, first: 0, count, change, edges, targets: Vec::new(), levels, seeds };
    let tally = Tally::default();
    let findings = mutants.run(&tally, |_, _| {});
    let list: Vec<String> = findings.iter().map(|f| format!("{}: {}\n{}", f.number, f.difference, f.case)).collect();
    assert!(findings.is_empty(), "{}", list.join("\n"));
    tally.compared.load(Ordering::Relaxed)
}

#[test]
fn statements_that_are_deleted_doubled_exchanged_or_changed_compile_and_run() {
    let seeds = [programs("programs"), programs("data/kernels/ptx"), selection(), selection(), selection()].concat();
    let compared = no_findings(Change::Random, seeds, sample(RANDOM));
    assert!(compared > RANDOM / 20, "{compared} were run");
}

#[test]
fn fields_at_their_edges_compile_and_run() {
    let seeds = some_forms();
    let count = seeds.len() as u64;
    let compared = no_findings(Change::Edges, seeds, count);
    assert!(compared > 30, "{compared} were run");
}

#[test]
fn instructions_under_guards_do_what_the_interpreter_does() {
    let seeds = some_forms();
    let count = seeds.len() as u64;
    let compared = no_findings(Change::Guards, seeds, count);
    assert!(compared > 30, "{compared} were run");
}

/// For all targets, though the file names one.
#[test]
fn what_reads_undefined_values_compiles() {
    let targets = ["sm_75", "sm_80", "sm_90a", "sm_100a", "sm_103a", "sm_120a"];
    let texts = texts("data/undefined");
    assert!(texts.len() >= 8, "{} files", texts.len());
    for (name, text) in texts {
        let own = text.lines().find(|line| line.starts_with(".target")).expect("it names a target").to_owned();
        for target in targets {
            let text = text.replace(&own, &format!(".target {target}")).replace(".version 7.8", ".version 9.0");
            for opt_level in 0..=3 {
                let target = Target::from_name(target).expect("a known target");
                let options =
                    CompileOptions { target: Some(target), opt_level, verify: true, ..CompileOptions::default() };
                if let Err(error) = compile(&text, &options) {
                    panic!("{name}, {target}, -O{opt_level}: {error}");
                }
            }
        }
    }
}
