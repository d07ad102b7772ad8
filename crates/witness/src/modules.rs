//! Modules made of tables, and which engine runs which of their kernels.

use crate::engine::Engine;
use crate::kernel::{Kernel, Operands};
use crate::object::Object;
use crate::table::{Except, Form, Program, Table, VERSION};
use oriole_cubin::Target;
use std::collections::BTreeMap;

/// The targets that a table can run on.
const TARGETS: [&str; 10] =
    ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_103a", "sm_107a", "sm_120a"];
/// Kernels of one module.
const MODULE: usize = 48;

/// A kernel of one text of a form, or of a case of a program.
#[derive(Clone, Debug)]
pub struct Job {
    /// What it is called.
    pub label: String,
    /// Engines that do not run it or do otherwise.
    pub without: Vec<Except>,
    /// The kernel.
    pub kernel: Kernel,
}

/// Kernels that share a module and have the same targets.
#[derive(Clone, Debug)]
pub struct Module {
    /// The targets that have all of it.
    pub targets: Vec<Target>,
    /// Its kernels.
    pub jobs: Vec<Job>,
    /// Whether operands are constants of the code: constants are folded at the highest level alone.
    pub constants: bool,
}

impl Module {
    /// The version of PTX that its kernels need.
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        self.jobs.iter().map(|job| job.kernel.version).max().unwrap_or(VERSION)
    }
}

/// The modules of a table; the seed chooses the rows that are compiled as constants.
#[must_use]
pub fn modules(table: &Table, seed: usize) -> Vec<Module> {
    let mut modules = Vec::new();
    let mut runs: BTreeMap<String, Vec<&Form>> = BTreeMap::new();
    table.forms.iter().for_each(|form| runs.entry(form.needs.to_string()).or_default().push(form));
    for forms in runs.values() {
        let targets = targets(|target| forms[0].needs.met_by(target));
        for constants in [false, true] {
            let mut jobs: Vec<Job> = forms
                .iter()
                .enumerate()
                .flat_map(|(place, form)| form_jobs(table, form, &format!("k{place}"), constants, seed))
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
fn form_jobs(table: &Table, form: &Form, prefix: &str, constants: bool, seed: usize) -> Vec<Job> {
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
            let some = Operands::Constants { first: (number + seed) % step, step };
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
    // sm_107 has no instructions for textures and surfaces.
    let images = program.objects.iter().any(|object| matches!(object, Object::Image { .. }));
    let targets = targets(|target| program.needs.met_by(target) && !(images && target.sm == 107));
    let module = |case| Module { targets: targets.clone(), jobs: vec![job(case)], constants: false };
    program.cases.iter().map(module).collect()
}

/// Whether the form says nothing against this engine for that target.
#[must_use]
pub fn runs(engine: &Engine, target: Target, constants: bool, job: &Job) -> bool {
    let is_out = |except: &Except| match (except.engine.as_str(), engine) {
        ("interpreter", Engine::Interpreter) | ("ptxas", Engine::Ptxas(..)) => true,
        ("simulator", Engine::Oriole(_) | Engine::Ptxas(..)) => true,
        ("constants", Engine::Ptxas(..)) => constants,
        _ => false,
    };
    !job.without.iter().any(|except| except.targets.met_by(target) && is_out(except))
}
