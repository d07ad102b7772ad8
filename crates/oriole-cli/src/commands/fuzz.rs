//! `oriole fuzz`.

use super::args::{FuzzArgs, FuzzKind, FuzzWithout};
use super::failure::Failure;
use super::{compile, files};
use crate::fuzz::{Build, Campaign, Case, Finding, Kinds, Side, Tools, every_time, in_turn, without_phases};
use crate::nvdisasm::Nvdisasm;
use oriole_cubin::Target;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Programs between two lines about the progress.
const REPORT_EVERY: u64 = 1024;

/// Run a campaign, write a file for each finding.
pub(crate) fn run(args: &FuzzArgs) -> Result<(), Failure> {
    // A panic is a finding, with its message; the trace would only interrupt the list.
    std::panic::set_hook(Box::new(|_| {}));
    if !args.run.is_empty() {
        return run_files(args);
    }
    let campaign = campaign(args)?;
    if let Some(number) = args.show {
        return files::write(Path::new("-"), campaign.case(number).to_string().as_bytes());
    }
    if let Some(jobs) = args.jobs {
        // The pool can be set once; a second command in one process would find it set, which is as good.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(jobs).build_global();
    }
    let start = Instant::now();
    let done = AtomicU64::new(0);
    let findings = campaign.run(|programs, found| {
        let before = done.fetch_add(programs, Ordering::Relaxed);
        for finding in found {
            if let Err(error) = report(finding, args) {
                eprintln!("{error:?}");
            }
        }
        if before / REPORT_EVERY != (before + programs) / REPORT_EVERY {
            eprintln!("{} programs, {:.0} s", before + programs, start.elapsed().as_secs_f64());
        }
    });
    let time = start.elapsed().as_secs_f64();
    let of_ptxas = findings.iter().filter(|finding| finding.is_ptxas).count();
    let ours = findings.len() - of_ptxas;
    println!(
        "{} programs, {ours} findings, {of_ptxas} of optimised ptxas, seed {}, {time:.1} s",
        args.count, args.seed
    );
    match ours {
        0 => Ok(()),
        _ => Err(Failure::Rejected(format!("error: the sides differ on {ours} programs"))),
    }
}

fn campaign(args: &FuzzArgs) -> Result<Campaign, Failure> {
    let targets = args.arch.split(',').map(|name| compile::compile_target(name.trim()));
    let targets: Vec<Target> = targets.collect::<Result<_, _>>()?;
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
    println!("program {}: {} ({})", finding.number, finding.difference, file.display());
    Ok(())
}

impl From<FuzzKind> for Kinds {
    fn from(kind: FuzzKind) -> Kinds {
        match kind {
            FuzzKind::Kernels => Kinds::Kernels,
            FuzzKind::Whole => Kinds::Whole,
            FuzzKind::Masks => Kinds::Masks,
            FuzzKind::All => Kinds::All,
        }
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
            faults.iter().for_each(|fault| println!("{}: {target}: {fault}", path.display()));
            differing += usize::from(!faults.is_empty());
        }
    }
    match differing {
        0 => Ok(()),
        _ => Err(Failure::Rejected(format!("error: {differing} runs differ"))),
    }
}
