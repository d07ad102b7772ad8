//! The records for the driver and for tools in our cubins, counted against those in ptxas's for the same kernels.

use oriole::Compiler;
use oriole_cubin::Cubin;
use oriole_cubin::nvinfo::{self, Eiattr, number};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const TARGETS: [&str; 6] = ["sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"];

/// Records that follow the code, with why ours differ from ptxas's ([docs/cubin.md], "What still differs").
const OF_THE_CODE: [(u8, &str); 6] = [
    (number::FRAME_SIZE, "one for each function inside a section: other routines of division"),
    (number::CRS_STACK_SIZE, "threads that wait for each other, before ptxas's last passes"),
    (number::EXTERNS, "ours names all external functions of the module"),
    (number::INT_WARP_WIDE_INSTR_OFFSETS, "exchanges that the compiler adds"),
    (number::UNUSED_LOAD_BYTE_OFFSET, "loads that the compiler makes wide"),
    (number::COOP_GROUP_INSTR_OFFSETS, "exchanges that the compiler repeats"),
];

/// How many records of each number there are, in all functions and the module.
fn counts(cubin: &Cubin) -> BTreeMap<u8, usize> {
    let all = cubin.functions.iter().filter(|function| function.is_kernel).flat_map(|function| &function.info);
    let mut counts = BTreeMap::new();
    for record in all.chain(&cubin.info) {
        *counts.entry(record.number).or_insert(0) += 1;
    }
    counts
}

/// Numbers of the records of `.nv.compat`.
fn compat(cubin: &Cubin) -> Vec<u8> {
    let section = cubin.sections.iter().find(|section| section.name == ".nv.compat");
    let records = section.map(|section| nvinfo::decode(&section.data, 0).expect("records"));
    let mut numbers: Vec<u8> = records.unwrap_or_default().iter().map(|record| record.number).collect();
    numbers.sort_unstable();
    numbers
}

/// The text with its first `.target` replaced.
fn for_target(text: &str, target: &str) -> String {
    let line = text.lines().find(|line| line.starts_with(".target")).expect("a target");
    let version = text.lines().find(|line| line.starts_with(".version")).expect("a version");
    text.replacen(line, &format!(".target {target}"), 1).replacen(version, ".version 9.0", 1)
}

fn by_ptxas(ptxas: &Path, text: &str, target: &str) -> Option<Cubin> {
    let [source, cubin] =
        ["attributes.ptx", "attributes.cubin"].map(|name| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
    std::fs::write(&source, text).expect("the folder is there");
    let done = Command::new(ptxas)
        .arg(format!("-arch={target}"))
        .arg(&source)
        .arg("-o")
        .arg(&cubin)
        .output()
        .expect("it runs");
    done.status.success().then(|| Cubin::parse(&std::fs::read(&cubin).expect("the cubin")).expect("a cubin"))
}

#[test]
fn every_record_of_ptxas_is_there() {
    let Some(ptxas) = oriole_prerequisites::tool("ptxas") else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kernels/ptx");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the kernels").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    let step = if oriole_prerequisites::is_thorough() { 1 } else { 4 };
    let compiler = Compiler::builder().build().expect("no settings");
    let mut wrong = BTreeSet::new();
    let mut compared = 0;
    for target in TARGETS {
        for file in files.iter().step_by(step) {
            let text = for_target(&std::fs::read_to_string(file).expect("a text"), target);
            let Some(theirs) = by_ptxas(&ptxas, &text, target) else { continue };
            let compiled = compiler.compile_ptx(&text).expect("it compiles");
            let ours = Cubin::parse(compiled.cubin.as_bytes()).expect("a cubin");
            let [a, b] = [counts(&theirs), counts(&ours)];
            let numbers: BTreeSet<u8> = a.keys().chain(b.keys()).copied().collect();
            let differs =
                |number: &u8| a.get(number) != b.get(number) && OF_THE_CODE.iter().all(|row| row.0 != *number);
            for number in numbers.into_iter().filter(differs) {
                let name = Eiattr::by_number(number).map_or("?", |row| row.name);
                wrong.insert(format!("{target} {name}: {:?} of ptxas, {:?} of ours", a.get(&number), b.get(&number)));
            }
            assert_eq!(compat(&ours), compat(&theirs), "{target} {}", file.display());
            compared += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(compared > 50, "only {compared} compared");
}
