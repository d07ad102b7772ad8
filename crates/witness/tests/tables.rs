//! Every table on every engine that is there: the interpreter, our code at both ends of the levels on the strict simulator, and
//! ptxas's code where `ORIOLE_ORACLE` names its folder. Each module runs on one of its targets and every other one at `-O0`, in turn,
//! and some rows are compiled with constants; all of it with `ORIOLE_THOROUGH=1`. `ORIOLE_SEED` chooses others. `ORIOLE_TABLE`
//! names the tables (by a part of the name) that run.

use oriole_cubin::Target;
use oriole_prerequisites::is_thorough;
use oriole_witness::{Engine, Except, Form, Kernel, Operands, Program, Table, run, tables};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The targets that a table can run on.
const TARGETS: [&str; 9] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_103a", "sm_120a"];
/// Kernels of one module.
const MODULE: usize = 48;
/// Faults that are told of one kernel, and in all.
const TOLD: usize = 3;
const TOLD_IN_ALL: usize = 200;

/// A kernel of one text of a form, or of a case of a program, and what it is called.
struct Job {
    label: String,
    without: Vec<Except>,
    kernel: Kernel,
}

/// Kernels that share a module and have the same targets.
struct Module {
    targets: Vec<Target>,
    jobs: Vec<Job>,
    /// Constants are folded at the highest level alone.
    constants: bool,
}

#[test]
fn all_engines_agree_with_the_tables() {
    let tables = tables().expect("the tables are committed");
    let wanted = std::env::var("ORIOLE_TABLE").unwrap_or_default();
    let chosen = tables.iter().filter(|table| table.name.contains(&wanted));
    let modules: Vec<Module> = chosen.flat_map(modules).collect();
    let ptxas = oriole_prerequisites::tool("ptxas");
    let faults: Vec<String> = modules
        .par_iter()
        .enumerate()
        .flat_map_iter(|(number, module)| faults(number, module, ptxas.as_ref()))
        .collect();
    let told = faults.iter().take(TOLD_IN_ALL).cloned().collect::<Vec<_>>().join("\n");
    assert!(faults.is_empty(), "{} lines of faults\n{told}", faults.len());
}

/// What a test may choose: other targets and rows for another `ORIOLE_SEED`.
fn seed() -> usize {
    std::env::var("ORIOLE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0)
}

fn modules(table: &Table) -> Vec<Module> {
    let mut modules = Vec::new();
    let mut runs: BTreeMap<String, Vec<&Form>> = BTreeMap::new();
    table.forms.iter().for_each(|form| runs.entry(form.needs.to_string()).or_default().push(form));
    for forms in runs.values() {
        let targets = targets(|target| forms[0].needs.met_by(target));
        for constants in [false, true] {
            let mut jobs: Vec<Job> = forms
                .iter()
                .enumerate()
                .flat_map(|(place, form)| form_jobs(table, form, &format!("k{place}"), constants))
                .collect();
            while !jobs.is_empty() {
                let rest = jobs.split_off(jobs.len().min(if constants { MODULE / 4 } else { MODULE }));
                modules.push(Module { targets: targets.clone(), jobs, constants });
                jobs = rest;
            }
        }
    }
    modules.extend(table.programs.iter().flat_map(|program| program_modules(table, program)));
    modules
}

fn targets(has: impl Fn(Target) -> bool) -> Vec<Target> {
    let all = TARGETS.iter().filter_map(|name| Target::from_name(name));
    all.filter(|target| has(*target)).collect()
}

/// The kernels of a form, whose names begin with `prefix`.
fn form_jobs(table: &Table, form: &Form, prefix: &str, constants: bool) -> Vec<Job> {
    let rows = form.rows.values.len();
    // Of constants, some rows far from each other in one kernel: others with each day's seed.
    let step = rows.div_ceil(6).max(1);
    let mut jobs = Vec::new();
    for (number, code) in form.code.iter().enumerate() {
        let job = |operands, at: usize, how: &str| {
            let kernel = Kernel::of_form(form, code, operands, &format!("{prefix}_{number}_{at}"))?;
            let label = format!("{} `{}`{how}", table.name, code.replace('\n', " "));
            Some(Job { label, without: form.without.clone(), kernel })
        };
        if constants {
            let some = Operands::Constants { first: (number + seed()) % step, step };
            jobs.extend(job(some, 0, " of constants"));
        } else {
            jobs.extend(job(Operands::Registers, 0, ""));
        }
    }
    jobs
}

fn program_modules(table: &Table, program: &Program) -> Vec<Module> {
    let job = |case| Job {
        label: format!("{} {}", table.name, program.name),
        without: program.without.clone(),
        kernel: Kernel::of_program(program, case),
    };
    let targets = targets(|target| program.needs.met_by(target));
    let module = |case| Module { targets: targets.clone(), jobs: vec![job(case)], constants: false };
    program.cases.iter().map(module).collect()
}

fn faults(number: usize, module: &Module, ptxas: Option<&PathBuf>) -> Vec<String> {
    let mut faults = Vec::new();
    if module.targets.is_empty() {
        return vec![format!("{}: no target has it", module.jobs[0].label)];
    }
    for (at, target) in module.targets.iter().enumerate() {
        let turn = (number + seed()) % module.targets.len();
        if !is_thorough() && at != turn {
            continue;
        }
        let mut engines = vec![Engine::Oriole(3)];
        if !module.constants && (is_thorough() || (number + seed()).is_multiple_of(2)) {
            engines.push(Engine::Oriole(0));
        }
        if at == turn {
            engines.push(Engine::Interpreter);
        }
        engines.extend(ptxas.map(|tool| Engine::Ptxas(tool.clone(), 3)));
        engines.extend(ptxas.filter(|_| !module.constants).map(|tool| Engine::Ptxas(tool.clone(), 0)));
        for engine in engines {
            faults.extend(run_module(&engine, *target, module));
        }
    }
    faults
}

fn run_module(engine: &Engine, target: Target, module: &Module) -> Vec<String> {
    let jobs: Vec<&Job> = module.jobs.iter().filter(|job| runs(engine, target, module.constants, job)).collect();
    if jobs.is_empty() {
        return Vec::new();
    }
    let kernels: Vec<&Kernel> = jobs.iter().map(|job| &job.kernel).collect();
    let outputs = match run(engine, target, &kernels) {
        Ok(outputs) => outputs,
        // Which one it is.
        Err(_) if kernels.len() > 1 => {
            let alone = |kernel: &&Kernel| run(engine, target, &[*kernel]).and_then(|mut outputs| outputs.remove(0));
            kernels.iter().map(alone).collect()
        }
        Err(why) => vec![Err(why)],
    };
    let told = |(job, output): (&&Job, Result<Vec<u8>, String>)| {
        let faults = output.map_or_else(|why| vec![why.replace('\n', " ")], |output| job.kernel.faults(&output));
        let more = faults.len().saturating_sub(TOLD);
        let tail = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        let line = |fault: &String| format!("{}: {engine} {target}: {fault}{tail}", job.label);
        faults.iter().take(TOLD).map(line).collect::<Vec<_>>()
    };
    jobs.iter().zip(outputs).flat_map(told).collect()
}

/// Whether the form says nothing against this engine for that target.
fn runs(engine: &Engine, target: Target, constants: bool, job: &Job) -> bool {
    let is_out = |except: &Except| match (except.engine.as_str(), engine) {
        ("interpreter", Engine::Interpreter) | ("ptxas", Engine::Ptxas(..)) => true,
        ("simulator", Engine::Oriole(_) | Engine::Ptxas(..)) => true,
        ("constants", Engine::Ptxas(..)) => constants,
        _ => false,
    };
    !job.without.iter().any(|except| except.targets.met_by(target) && is_out(except))
}
