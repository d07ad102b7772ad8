//! Tables that the interpreter or the simulator does not run yet: `tests/witness/waiting.txt` names them, and they do not run.

use oriole_cubin::Target;
use oriole_witness::{Engine, Except, Form, Kernel, Needs, Operands, Program, Table, run, tables};
use std::collections::BTreeMap;
use std::path::Path;

/// Targets for which a table may have programs, the usual ones first.
const TARGETS: [&str; 5] = ["sm_90a", "sm_100a", "sm_120a", "sm_80", "sm_107a"];

/// The engine that an exception of a table is about, if it is one of ours on all targets.
fn engine(except: &Except) -> Option<(&'static str, Engine)> {
    let engine = match except.engine.as_str() {
        "interpreter" => ("interpreter", Engine::Interpreter),
        "simulator" => ("simulator", Engine::Oriole(3)),
        _ => return None,
    };
    (except.targets == Needs::default()).then_some(engine)
}

/// A kernel that an engine does not run: its place in the folder, a name, and a target that has it.
#[derive(Clone)]
struct Waiting {
    table: String,
    label: String,
    target: Target,
    kernel: Kernel,
}

fn of_form(table: &Table, form: &Form) -> Option<Waiting> {
    let kernel = Kernel::of_form(form, &form.code[0], Operands::Registers, "k")?;
    waiting(table, &form.code[0], &form.needs, kernel)
}

fn of_program(table: &Table, program: &Program) -> Option<Waiting> {
    waiting(table, &program.name, &program.needs, Kernel::of_program(program, &program.cases[0]))
}

fn waiting(table: &Table, label: &str, needs: &Needs, kernel: Kernel) -> Option<Waiting> {
    let target = TARGETS.iter().filter_map(|name| Target::from_name(name)).find(|target| needs.met_by(*target))?;
    Some(Waiting { table: table.name.clone(), label: label.to_owned(), target, kernel })
}

/// What each engine does not run.
fn all() -> Vec<(&'static str, Engine, Waiting)> {
    let tables = tables().expect("the tables are committed");
    let mut all = Vec::new();
    for table in &tables {
        let forms = table.forms.iter().map(|form| (&form.without, of_form(table, form)));
        let programs = table.programs.iter().map(|program| (&program.without, of_program(table, program)));
        for (without, waiting) in forms.chain(programs) {
            let Some(waiting) = waiting else { continue };
            all.extend(without.iter().filter_map(engine).map(|(name, engine)| (name, engine, waiting.clone())));
        }
    }
    all
}

#[test]
fn tables_that_an_engine_does_not_run_are_listed() {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for (engine, _, waiting) in all() {
        *found.entry(format!("{engine} {}", waiting.table)).or_default() += 1;
    }
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/witness/waiting.txt");
    let list = std::fs::read_to_string(list).expect("the list is committed");
    let listed: Vec<&str> = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let found: Vec<String> = found.iter().map(|(name, count)| format!("{name} {count}")).collect();
    assert_eq!(found, listed, "what the tables say, and tests/witness/waiting.txt");
}

/// An engine that runs what the table says it does not run is to be asked from now on.
#[test]
fn they_do_not_run_yet() {
    for (name, engine, waiting) in all() {
        let Waiting { table, label, target, kernel } = waiting;
        let output = run(&engine, target, &[&kernel]).and_then(|mut outputs| outputs.remove(0));
        let runs = output.is_ok_and(|output| kernel.faults(&output).is_empty());
        assert!(!runs, "{table} `{label}` runs on the {name} now: take the exception out of the table");
    }
}
