//! Every table on every engine that is there: the interpreter, our code at both ends of the levels on the strict simulator, and
//! ptxas's code where `ORIOLE_ORACLE` names its folder. Each module runs on one of its targets and every other one at `-O0`, in turn,
//! and some rows are compiled with constants; all of it with `ORIOLE_THOROUGH=1`. `ORIOLE_SEED` chooses others. `ORIOLE_TABLE`
//! names the tables (by a part of the name) that run.

use oriole_cubin::Target;
use oriole_prerequisites::is_thorough;
use oriole_witness::{Engine, Job, Kernel, Module, VERSION, modules, newest_version, run, runs, tables, version_for};
use rayon::prelude::*;
use std::path::PathBuf;

/// Faults that are told of one kernel, and in all.
const TOLD: usize = 3;
const TOLD_IN_ALL: usize = 200;

#[test]
fn all_engines_agree_with_the_tables() {
    let tables = tables().expect("the tables are committed");
    let wanted = std::env::var("ORIOLE_TABLE").unwrap_or_default();
    let chosen = tables.iter().filter(|table| table.name.contains(&wanted));
    let modules: Vec<Module> = chosen.flat_map(|table| modules(table, seed())).collect();
    let ptxas = oriole_prerequisites::tool("ptxas");
    let newest = ptxas.as_deref().and_then(newest_version).unwrap_or(VERSION);
    let faults: Vec<String> = modules
        .par_iter()
        .enumerate()
        .flat_map_iter(|(number, module)| faults(number, module, ptxas.as_ref().map(|tool| (tool, newest))))
        .collect();
    let told = faults.iter().take(TOLD_IN_ALL).cloned().collect::<Vec<_>>().join("\n");
    assert!(faults.is_empty(), "{} lines of faults\n{told}", faults.len());
}

/// What a test may choose: other targets and rows for another `ORIOLE_SEED`.
fn seed() -> usize {
    std::env::var("ORIOLE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0)
}

/// What is wrong with a module; ptxas with the newest version of PTX that it reads.
fn faults(number: usize, module: &Module, ptxas: Option<(&PathBuf, (u32, u32))>) -> Vec<String> {
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
        let knows = |newest| version_for(module.version(), *target) <= newest;
        let ptxas = ptxas.filter(|(_, newest)| knows(*newest)).map(|(tool, _)| tool);
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
