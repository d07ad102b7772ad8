//! `oriole fuzz`.

use super::args::FuzzArgs;
use super::failure::Failure;
use super::{compile, files};
use oriole::fuzz::{Campaign, Case, Side, Tools};
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
    let campaign = Campaign {
        seed: args.seed,
        first: args.first,
        count: args.count,
        target: compile::compile_target(&args.arch)?,
        opt_level: args.opt_level,
        statements: args.statements,
        ptxas: args.ptxas.clone(),
        interpreter: !args.without.contains(&Without::Interpreter),
        compiler: !args.without.contains(&Without::Oriole),
    };
    if let Some(number) = args.show {
        return files::write(Path::new("-"), campaign.ptx(number).as_bytes());
    }
    if let Some(jobs) = args.jobs {
        // The pool can be set once; a second command in one process would find it set, which is as good.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(jobs).build_global();
    }
    let start = Instant::now();
    let done = AtomicU64::new(0);
    let findings = campaign.run(|programs| {
        let before = done.fetch_add(programs, Ordering::Relaxed);
        if before / REPORT_EVERY != (before + programs) / REPORT_EVERY {
            eprintln!("{} programs, {:.0} s", before + programs, start.elapsed().as_secs_f64());
        }
    });
    if !findings.is_empty() {
        std::fs::create_dir_all(&args.out).map_err(|error| Failure::file(&args.out, error))?;
    }
    for finding in &findings {
        let file = args.out.join(format!("{}-{}.ptx", args.seed, finding.number));
        files::write(&file, finding.case.to_string().as_bytes())?;
        println!("program {}: {} ({})", finding.number, finding.difference, file.display());
    }
    let time = start.elapsed().as_secs_f64();
    println!("{} programs, {} findings, seed {}, {time:.1} s", args.count, findings.len(), args.seed);
    match findings.is_empty() {
        true => Ok(()),
        false => Err(Failure::Rejected(format!("error: the sides differ on {} programs", findings.len()))),
    }
}

/// Sides that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Without {
    /// The PTX interpreter.
    Interpreter,
    /// Oriole's compiler.
    Oriole,
}

/// `oriole fuzz --run FILE…`: the programs of `tests/programs`, or findings, on all sides.
fn run_files(args: &FuzzArgs) -> Result<(), Failure> {
    let mut sides = vec![Side::Interpreter];
    sides.extend((0..=3).map(Side::level));
    let tools = Tools { ptxas: args.ptxas.clone() };
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
