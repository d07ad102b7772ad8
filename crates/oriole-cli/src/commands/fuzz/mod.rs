//! `oriole fuzz`.

mod report;

use super::failure::Failure;
use super::fuzz_args::{FuzzArgs, FuzzKind, FuzzWithout};
use super::merge::MergeArgs;
use super::shard::{Part, Work};
use super::{compile, files, side_by_side};
use crate::console;
use crate::fuzz::{
    Build, Campaign, Case, Change, Finding, Kinds, Mutants, Seed, Side, Tally, Tools, every_time, in_turn,
    without_phases,
};
use crate::nvdisasm::Nvdisasm;
use oriole_cubin::Target;
use report::{Guarded, Mutated, Report};
use std::path::{Path, PathBuf};
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
    let mut campaign = campaign(args)?;
    if let Some(number) = args.show {
        return files::print(&campaign.case(number).to_string());
    }
    keep_apart(args)?;
    let part = take_slice(args, campaign.batch(), &mut campaign.first, &mut campaign.count);
    let pool = side_by_side::pool(args.jobs.unwrap_or_else(side_by_side::processors))?;
    let (start, done) = (Instant::now(), AtomicU64::new(0));
    let findings =
        pool.install(|| campaign.run(|programs, found| note(args, "programs", start, (&done, programs), found)));
    let report = Report {
        shard: part,
        seed: args.seed,
        first: campaign.first,
        count: campaign.count,
        seconds: start.elapsed().as_secs_f64(),
        mutants: None,
        guards: None,
        findings: findings.into_iter().map(Into::into).collect(),
    };
    publish(&report, args.json.as_deref())
}

/// What the shards of a run say, in their order, as one run would.
pub(super) fn merge(shards: Vec<Report>, args: &MergeArgs) -> Result<(), Failure> {
    Report::whole(shards).map_or(Ok(()), |whole| publish(&whole, args.json.as_deref()))
}

/// Write the report, say how it went, and fail if anything was found.
fn publish(report: &Report, json: Option<&Path>) -> Result<(), Failure> {
    if let Some(path) = json {
        files::write(path, report.json()?.as_bytes())?;
    }
    say(json, &report.text())?;
    report.verdict()
}

/// To standard output, or to standard error where that has the report.
fn say(json: Option<&Path>, text: &str) -> Result<(), Failure> {
    match json {
        Some(path) if path == Path::new("-") => {
            console::say_text(text);
            Ok(())
        }
        _ => files::print(text),
    }
}

/// The report is none of the files that are read.
fn keep_apart(args: &FuzzArgs) -> Result<(), Failure> {
    files::have_folders(args.json.as_deref())?;
    files::keep_apart(args.of.iter().map(PathBuf::as_path), args.json.as_deref())
}

/// Leave of the programs what the shard has, in whole batches: programs of a batch may be one module.
fn take_slice(args: &FuzzArgs, batch: u64, first: &mut u64, count: &mut u64) -> Option<Part> {
    let shard = args.shard?;
    let FuzzArgs { seed, arch, kind, opt_level, phases_in_turn, registers, statements, .. } = args;
    let FuzzArgs { ptxas_level, without, of, .. } = args;
    // The folders may be others on other machines.
    let of: Vec<_> = of.iter().map(|path| path.file_name()).collect();
    let numbers = (seed, *first, *count, statements);
    let sides = (arch, opt_level, phases_in_turn, registers, ptxas_level, without);
    let part = shard.part(Work::Fuzz, *count, &(numbers, kind, of, sides));
    let slice = shard.slice(count.div_ceil(batch));
    let [start, end] = [slice.start, slice.end].map(|bound| bound.saturating_mul(batch).min(*count));
    *first += start;
    *count = end - start;
    Some(part)
}

/// A batch is done: write what was found, and now and then how far it is.
fn note(args: &FuzzArgs, noun: &str, start: Instant, (done, more): (&AtomicU64, u64), found: &[Finding]) {
    let before = done.fetch_add(more, Ordering::Relaxed);
    for finding in found {
        if let Err(error) = write(finding, args) {
            console::say(format_args!("{error:?}"));
        }
    }
    let after = before + more;
    if before / REPORT_EVERY != after / REPORT_EVERY {
        console::say(format_args!("{after} {noun}, {:.0} s", start.elapsed().as_secs_f64()));
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
fn write(finding: &Finding, args: &FuzzArgs) -> Result<(), Failure> {
    let folder = if finding.is_ptxas { args.out.join("ptxas") } else { args.out.clone() };
    std::fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, error))?;
    let file = folder.join(format!("{}-{}.ptx", args.seed, finding.number));
    files::write(&file, finding.case.to_string().as_bytes())?;
    say(args.json.as_deref(), &format!("program {}: {} ({})\n", finding.number, finding.difference, file.display()))
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
    let mut mutants = Mutants {
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
    keep_apart(args)?;
    let part = take_slice(args, 1, &mut mutants.first, &mut mutants.count);
    let pool = side_by_side::pool(args.jobs.unwrap_or_else(side_by_side::processors))?;
    let (start, tally, done) = (Instant::now(), Tally::default(), AtomicU64::new(0));
    let findings =
        pool.install(|| mutants.run(&tally, |count, found| note(args, "mutants", start, (&done, count), found)));
    let report = Report {
        shard: part,
        seed: args.seed,
        first: mutants.first,
        count: mutants.count,
        seconds: start.elapsed().as_secs_f64(),
        mutants: Some(Mutated::from(&tally)),
        guards: (change == Change::Guards).then(|| Guarded::from(&tally)),
        findings: findings.into_iter().map(Into::into).collect(),
    };
    let list = report.not_compared();
    if !list.is_empty() {
        files::make_folder(&args.out)?;
        files::write(&args.out.join("not-compared.tsv"), list.as_bytes())?;
    }
    publish(&report, args.json.as_deref())
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
