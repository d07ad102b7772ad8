//! `oriole fuzz`.

use super::args::{FuzzArgs, FuzzKind, FuzzWithout};
use super::failure::Failure;
use super::side_by_side;
use super::{compile, files};
use crate::console;
use crate::fuzz::{
    Build, Campaign, Case, Change, Finding, Kinds, Mutants, Seed, Side, Tally, Tools, every_time, in_turn,
    without_phases,
};
use crate::nvdisasm::Nvdisasm;
use oriole_cubin::Target;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Of random programs.
const DEFAULT_TARGET: &str = "sm_90";

/// Of a field so many edges are tried at a time; other seeds choose others.
const EDGES: usize = 4;

/// Programs between two lines about the progress.
const REPORT_EVERY: u64 = 1024;

/// Run a campaign, write a file for each finding.
pub(crate) fn run(args: &FuzzArgs) -> Result<(), Failure> {
    // A panic is a finding, with its message; the trace would only interrupt the list.
    std::panic::set_hook(Box::new(|_| {}));
    if !args.run.is_empty() {
        return run_files(args);
    }
    if let Some(change) = args.kind.change() {
        return run_mutants(args, change);
    }
    let campaign = campaign(args)?;
    if let Some(number) = args.show {
        return files::print(&campaign.case(number).to_string());
    }
    let pool = side_by_side::pool(args.jobs.unwrap_or_else(side_by_side::processors))?;
    let start = Instant::now();
    let done = AtomicU64::new(0);
    let findings = pool.install(|| {
        campaign.run(|programs, found| {
            let before = done.fetch_add(programs, Ordering::Relaxed);
            for finding in found {
                if let Err(error) = report(finding, args) {
                    console::say(format_args!("{error:?}"));
                }
            }
            if before / REPORT_EVERY != (before + programs) / REPORT_EVERY {
                console::say(format_args!("{} programs, {:.0} s", before + programs, start.elapsed().as_secs_f64()));
            }
        })
    });
    let time = start.elapsed().as_secs_f64();
    let of_ptxas = findings.iter().filter(|finding| finding.is_ptxas).count();
    let ours = findings.len() - of_ptxas;
    files::print(&format!(
        "{} programs, {ours} findings, {of_ptxas} of optimised ptxas, seed {}, {time:.1} s\n",
        args.count, args.seed
    ))?;
    match ours {
        0 => Ok(()),
        _ => Err(Failure::Rejected(format!("error: the sides differ on {ours} programs"))),
    }
}

fn targets(names: &str) -> Result<Vec<Target>, Failure> {
    names.split(',').map(|name| compile::compile_target(name.trim())).collect()
}

fn campaign(args: &FuzzArgs) -> Result<Campaign, Failure> {
    let targets = targets(args.arch.as_deref().unwrap_or(DEFAULT_TARGET))?;
    let compiles = !args.without.contains(&FuzzWithout::Oriole);
    let (builds, turns) = match args.opt_level {
        _ if !compiles => (Vec::new(), Vec::new()),
        Some(opt_level) => {
            let turns: Vec<Build> = without_phases(opt_level).filter(|_| args.phases_in_turn).collect();
            let whole = turns.is_empty().then(|| Build { opt_level, ..Build::default() });
            (Vec::from_iter(whole), turns)
        }
        None => (every_time(), in_turn()),
    };
    Ok(Campaign {
        first: args.first,
        kinds: args.kind.into(),
        statements: args.statements,
        interpreter: !args.without.contains(&FuzzWithout::Interpreter),
        builds,
        turns,
        budgets: args.registers.filter(|_| compiles),
        ptxas_levels: if args.ptxas.is_some() { args.ptxas_level.clone() } else { Vec::new() },
        tools: Tools { ptxas: args.ptxas.clone(), nvdisasm: args.nvdisasm.clone().map(Nvdisasm::at) },
        ..Campaign::new(args.seed, args.count, targets)
    })
}

/// Prints a finding, and writes its file: those of optimised ptxas into a folder of their own.
fn report(finding: &Finding, args: &FuzzArgs) -> Result<(), Failure> {
    let folder = if finding.is_ptxas { args.out.join("ptxas") } else { args.out.clone() };
    std::fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, error))?;
    let file = folder.join(format!("{}-{}.ptx", args.seed, finding.number));
    files::write(&file, finding.case.to_string().as_bytes())?;
    files::print(&format!("program {}: {} ({})\n", finding.number, finding.difference, file.display()))
}

impl From<FuzzKind> for Kinds {
    fn from(kind: FuzzKind) -> Kinds {
        match kind {
            FuzzKind::Kernels => Kinds::Kernels,
            FuzzKind::Whole => Kinds::Whole,
            FuzzKind::Masks => Kinds::Masks,
            _ => Kinds::All,
        }
    }
}

impl FuzzKind {
    /// What is changed, where programs are mutants of files.
    fn change(self) -> Option<Change> {
        match self {
            FuzzKind::Mutants => Some(Change::Random),
            FuzzKind::Edges => Some(Change::Edges),
            FuzzKind::Guards => Some(Change::Guards),
            FuzzKind::Kernels | FuzzKind::Whole | FuzzKind::Masks | FuzzKind::All => None,
        }
    }
}

/// `oriole fuzz --kind mutants|edges|guards --of FILE…`
fn run_mutants(args: &FuzzArgs, change: Change) -> Result<(), Failure> {
    let mutants = Mutants {
        seed: args.seed,
        first: args.first,
        count: args.count,
        change,
        edges: EDGES,
        targets: args.arch.as_deref().map_or(Ok(Vec::new()), self::targets)?,
        levels: args.opt_level.map_or_else(|| vec![0, 1, 2, 3], |level| vec![level]),
        seeds: seeds(&args.of)?,
    };
    if let Some(number) = args.show {
        let cases: String = mutants.cases(number).iter().map(Case::to_string).collect();
        return files::print(&cases);
    }
    let pool = side_by_side::pool(args.jobs.unwrap_or_else(side_by_side::processors))?;
    let (start, tally, done) = (Instant::now(), Tally::default(), AtomicU64::new(0));
    let findings = pool.install(|| {
        mutants.run(&tally, |count, found| {
            let before = done.fetch_add(count, Ordering::Relaxed);
            for finding in found {
                if let Err(error) = report(finding, args) {
                    console::say(format_args!("{error:?}"));
                }
            }
            if before / REPORT_EVERY != (before + count) / REPORT_EVERY {
                console::say(format_args!("{} mutants, {:.0} s", before + count, start.elapsed().as_secs_f64()));
            }
        })
    });
    let [modules, taken, compared] =
        [&tally.modules, &tally.taken, &tally.compared].map(|count| count.load(Ordering::Relaxed));
    files::print(&format!(
        "{modules} modules, {taken} compiled, {compared} run, {} findings, seed {}, {:.1} s\n",
        findings.len(),
        args.seed,
        start.elapsed().as_secs_f64()
    ))?;
    if change == Change::Guards {
        report_halved(&tally, args)?;
    }
    match findings.len() {
        0 => Ok(()),
        count => Err(Failure::Rejected(format!("error: {count} findings"))),
    }
}

/// Says how many forms ran under a guard that is false in half of the lanes, and writes which did not, and why.
fn report_halved(tally: &Tally, args: &FuzzArgs) -> Result<(), Failure> {
    let halved = tally.halved.load(Ordering::Relaxed);
    let reasons = tally.not_halved.lock().unwrap_or_else(PoisonError::into_inner);
    let left: usize = reasons.values().map(Vec::len).sum();
    files::print(&format!(
        "{} with a launch, {halved} compared under a guard that is false in half of the lanes\n",
        halved + left as u64
    ))?;
    let mut list = String::new();
    for (reason, names) in &*reasons {
        files::print(&format!("{:6} not: {reason}\n", names.len()))?;
        names.iter().for_each(|name| list += &format!("{name}\t{reason}\n"));
    }
    if list.is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(&args.out).map_err(|error| Failure::file(&args.out, error))?;
    files::write(&args.out.join("not-compared.tsv"), list.as_bytes())
}

/// The modules of files; what is no PTX is told and left out.
fn seeds(paths: &[PathBuf]) -> Result<Vec<Seed>, Failure> {
    let mut seeds = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, error))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let read = match path.extension().is_some_and(|extension| extension == "jsonl") {
            true => Seed::forms(&text),
            false => Seed::program(&name, &text).map(|seed| vec![seed]),
        };
        match read {
            Ok(read) => seeds.extend(read),
            Err(reason) => console::say(format_args!("{}: left out: {reason}", path.display())),
        }
    }
    match seeds.is_empty() {
        true => Err(Failure::Rejected("error: --of names no module to be changed".to_owned())),
        false => Ok(seeds),
    }
}

/// `oriole fuzz --run FILE…`: the programs of `tests/programs`, or findings, on all sides.
fn run_files(args: &FuzzArgs) -> Result<(), Failure> {
    let mut sides = vec![Side::Interpreter];
    sides.extend((0..=3).map(Side::level));
    let tools = Tools { ptxas: args.ptxas.clone(), nvdisasm: args.nvdisasm.clone().map(Nvdisasm::at) };
    if tools.ptxas.is_some() {
        sides.extend([Side::Ptxas(0), Side::Ptxas(3)]);
    }
    let mut differing = 0;
    for path in &args.run {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, error))?;
        let case = Case::parse(&text).map_err(|error| Failure::file(path, error))?;
        for &target in &case.targets {
            let faults = case.faults(&case.outcomes(target, &sides, &tools));
            let lines: String = faults.iter().map(|fault| format!("{}: {target}: {fault}\n", path.display())).collect();
            files::print(&lines)?;
            differing += usize::from(!faults.is_empty());
        }
    }
    match differing {
        0 => Ok(()),
        _ => Err(Failure::Rejected(format!("error: {differing} runs differ"))),
    }
}
