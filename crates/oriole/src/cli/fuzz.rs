//! `oriole fuzz`.

use super::args::FuzzArgs;
use super::failure::Failure;
use super::{compile, files};
use oriole::fuzz::{Campaign, Finding, Outcome};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Programs between two lines about the progress.
const REPORT_EVERY: u64 = 1024;

/// Run a campaign, write a folder for each finding.
pub(crate) fn run(args: &FuzzArgs) -> Result<(), Failure> {
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
    // A panic is a finding, with its message; the trace would only interrupt the list.
    std::panic::set_hook(Box::new(|_| {}));
    let start = Instant::now();
    let done = AtomicU64::new(0);
    let findings = campaign.run(|programs| {
        let before = done.fetch_add(programs, Ordering::Relaxed);
        if before / REPORT_EVERY != (before + programs) / REPORT_EVERY {
            eprintln!("{} programs, {:.0} s", before + programs, start.elapsed().as_secs_f64());
        }
    });
    for finding in &findings {
        let folder = args.out.join(format!("{}-{}", args.seed, finding.number));
        write_reproducer(&folder, finding, args)?;
        println!("program {}: {} ({})", finding.number, finding.difference, folder.display());
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

/// `k.ptx`, `in.bin` and `README` with the commands that show the difference again.
fn write_reproducer(folder: &Path, finding: &Finding, args: &FuzzArgs) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|e| Failure::file(folder, e))?;
    files::write(&folder.join("k.ptx"), finding.ptx.as_bytes())?;
    files::write(&folder.join("in.bin"), &finding.input)?;
    let (blocks, threads) = finding.launch;
    let run = |file: &str, more: &str, out: &str| {
        format!(
            "oriole run {file} --entry k --arch {} --grid {blocks} --block {threads}{more} in:in.bin out:{out}:{} u64:{}\n",
            args.arch, finding.output_bytes, finding.uniform
        )
    };
    let mut text = format!("{}\n\n", finding.difference);
    for (side, outcome) in &finding.outcomes {
        if let Outcome::Failed(reason) | Outcome::Panicked(reason) = outcome {
            text += &format!("{}: {reason}\n", side.name());
        }
    }
    text += &run("k.ptx", " --engine ptx", "interpreter.bin");
    text += &run("k.ptx", " --strict", "oriole.bin");
    text += &format!("ptxas -arch {} k.ptx -o k.cubin\n", args.arch);
    text += &run("k.cubin", "", "ptxas.bin");
    files::write(&folder.join("README"), text.as_bytes())
}
