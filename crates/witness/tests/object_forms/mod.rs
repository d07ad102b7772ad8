//! Every form of textures, surfaces, multimem, launch control and copies behind the threads' backs that `../shared/ptx_forms` has: the interpreter and our code on the
//! strict simulator leave the same memory, whatever they read. A form runs on one of its targets and at one level in turn; on all
//! with `ORIOLE_THOROUGH=1`. With `ORIOLE_ORACLE` ptxas's code for one target is asked too. `ORIOLE_SEED` chooses others, `ORIOLE_FORM`
//! names the forms (by a part of the name) that run.

mod form;
mod operands;
mod random;

use form::Form;
use oriole_cubin::Target;
use oriole_prerequisites::{in_turn, is_thorough};
use oriole_witness::{Engine, Kernel, Program, read, run};
use rayon::prelude::*;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Families, and whether ptxas is asked: of copies it miscompiles some (docs/interp.md, docs/witness.md) and has the driver do others.
const FAMILIES: [(&str, bool); 5] =
    [("texture", true), ("surface", true), ("multimem", true), ("cluster-launch", true), ("cp-async", false)];
/// Targets that the corpus does not list, by one that has the same of these families.
const SIBLINGS: [(&str, &str); 5] =
    [("sm_86", "sm_87"), ("sm_86", "sm_88"), ("sm_100a", "sm_103a"), ("sm_100a", "sm_110a"), ("sm_120a", "sm_121a")];
/// Faults that are told.
const TOLD: usize = 60;

#[test]
fn engines_agree_on_objects() {
    let Some(folder) = oriole_prerequisites::shared("ptx_forms/forms") else { return };
    let ptxas = oriole_prerequisites::tool("ptxas");
    let of_family = |(family, asks): &(&str, bool)| faults(&folder, family, ptxas.as_ref().filter(|_| *asks));
    let faults: Vec<String> = FAMILIES.iter().flat_map(of_family).collect();
    let told = faults.iter().take(TOLD).cloned().collect::<Vec<_>>().join("\n");
    assert!(faults.is_empty(), "{} faults\n{told}", faults.len());
}

/// What the engines do not agree on of a family.
fn faults(folder: &Path, family: &str, ptxas: Option<&PathBuf>) -> Vec<String> {
    let wanted = std::env::var("ORIOLE_FORM").unwrap_or_default();
    let text = std::fs::read_to_string(folder.join(format!("{family}.jsonl"))).expect("a family of forms");
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a form")).collect();
    let forms = rows.iter().map(|row| Form::of(row).expect("a form with an instruction"));
    let forms: Vec<Form<'_>> = forms.filter(|form| form.id.contains(&wanted) && form.can_run()).collect();
    let programs = programs(family, &forms);
    let pairs = forms.par_iter().zip(programs.par_iter()).enumerate();
    let seed = std::env::var("ORIOLE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    pairs.flat_map_iter(|(number, (form, program))| faults_of(seed + number, form, program, ptxas)).collect()
}

/// The forms as programs of a table.
fn programs(family: &str, forms: &[Form<'_>]) -> Vec<Program> {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("forms.txt");
    let programs: String = forms.iter().enumerate().map(|(number, form)| form.program(number)).collect();
    std::fs::write(&path, format!("section {family}\n\n{programs}")).expect("the table is written");
    read(&path).expect("a table").programs
}

/// What they do not agree on of one form; `number` says whose turn it is.
fn faults_of(number: usize, form: &Form<'_>, program: &Program, ptxas: Option<&PathBuf>) -> Vec<String> {
    let kernel = Kernel::of_program(program, &program.cases[0]);
    let siblings = SIBLINGS.iter().filter(|(listed, _)| form.targets.contains(listed)).map(|(_, sibling)| *sibling);
    let targets: Vec<Target> = form.targets.iter().copied().chain(siblings).filter_map(Target::from_name).collect();
    let count = if is_thorough() { targets.len() } else { 1 };
    let fault = |turn: usize| {
        let target = targets[(number + turn) % targets.len()];
        let mut engines: Vec<Engine> = in_turn(number, [3, 0]).map(Engine::Oriole).collect();
        engines.extend(ptxas.filter(|_| turn == 0).map(|tool| Engine::Ptxas(tool.clone(), 3)));
        Some(format!("{} {target}: {}", form.id, difference(&kernel, target, &engines)?))
    };
    (0..count).filter_map(fault).collect()
}

/// What one of the engines makes of a form, if it is not what the interpreter makes of it.
fn difference(kernel: &Kernel, target: Target, engines: &[Engine]) -> Option<String> {
    let output = |engine: &Engine| run(engine, target, &[kernel]).and_then(|mut outputs| outputs.remove(0));
    let first = match output(&Engine::Interpreter) {
        Ok(first) => words(&first),
        Err(error) => return Some(format!("interpreter: {error}")),
    };
    engines.iter().find_map(|engine| match output(engine) {
        Ok(second) => {
            let mut pairs = first.iter().zip(words(&second)).enumerate();
            let (at, (a, b)) = pairs.find(|(_, (a, b))| *a != b)?;
            Some(format!("word {at} is {a:#010x}, by {engine} {b:#010x}"))
        }
        Err(error) => Some(format!("{engine}: {error}")),
    })
}

/// Little-endian words.
fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}
