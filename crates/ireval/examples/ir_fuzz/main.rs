//! Random LLVM IR: what a compiler makes of it against the direct evaluation.
//!
//!     cargo run --release -p oriole-ireval --features examples --example ir_fuzz -- --count 1000 --seed 1
//!     cargo run --release -p oriole-ireval --features examples --example ir_fuzz -- --routes llc,opt-llc --count 1000
//!
//! Program `n` of a seed is always the same. Each is printed as text and compiled by the routes asked for; the PTX runs in
//! the PTX interpreter, and what it writes must be what `oriole-ireval` says. Programs on which a route differs are cut
//! down and written to a folder each.

mod routes;

use clap::Parser;
use oriole_ireval::generate::{self, Kinds, Options, Program};
use oriole_ireval::{Fault, FaultKind};
use oriole_nvptx::ir::Module;
use rayon::prelude::*;
use routes::Route;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Programs that a route compiles at once, where a compiler is a process.
const BATCH: u64 = 32;

#[derive(Parser)]
struct Args {
    /// Number of programs
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// Number of the first program
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Programs of different seeds have nothing in common
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What compiles: O0, O1, O2, O3 (ours, in the PTX interpreter), cubin (ours, on the simulator), ptxas (of our PTX, on
    /// the simulator), llc, opt-llc (LLVM 19, which must be installed)
    #[arg(long, value_delimiter = ',', default_value = "O0,O3")]
    routes: Vec<Route>,
    /// Target
    #[arg(long, default_value = "sm_80")]
    arch: String,
    /// Statements of the larger programs
    #[arg(long, default_value_t = 24)]
    statements: u32,
    /// Leave these kinds out: WIDE, ODD, HALF, …
    #[arg(long, value_delimiter = ',')]
    without: Vec<String>,
    /// Where findings are written
    #[arg(long, default_value = "ir-findings")]
    out: PathBuf,
    /// Print the program and stop
    #[arg(long)]
    show: Option<u64>,
    /// Do not cut findings down
    #[arg(long)]
    no_shrink: bool,
    /// Threads
    #[arg(long)]
    jobs: Option<usize>,
}

/// What has become of a program.
enum Verdict {
    Same,
    /// It has no single result, or none within the limits.
    Nothing(FaultKind),
    /// LLVM, which is there to test the evaluator, does not take it.
    Refused,
    /// A route differs.
    Finding,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let Some(options) = options(&args) else {
        eprintln!(
            "error: kinds are {}",
            Kinds::all().iter_names().map(|(name, _)| name).collect::<Vec<_>>().join(", ")
        );
        return ExitCode::from(2);
    };
    if let Some(number) = args.show {
        print!("{}", routes::text(&program(&args, &options, number).module));
        return ExitCode::SUCCESS;
    }
    if let Some(jobs) = args.jobs {
        // The pool is set once, here.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(jobs).build_global();
    }
    // A panic is a finding, with its message; the trace would only interrupt the list.
    std::panic::set_hook(Box::new(|_| {}));
    let (start, done) = (Instant::now(), AtomicU64::new(0));
    let batches: Vec<u64> = (args.first..args.first + args.count).step_by(BATCH as usize).collect();
    let verdicts: Vec<(u64, Verdict)> = batches
        .into_par_iter()
        .flat_map_iter(|first| {
            let numbers = first..(first + BATCH).min(args.first + args.count);
            let before = done.fetch_add(numbers.end - numbers.start, Ordering::Relaxed);
            if before / 2000 != (before + BATCH) / 2000 {
                eprintln!("{before} programs, {:.0} s", start.elapsed().as_secs_f64());
            }
            judge_batch(&args, &options, numbers)
        })
        .collect();
    report(&args, &verdicts, start.elapsed().as_secs_f64())
}

fn options(args: &Args) -> Option<Options> {
    let mut kinds = Kinds::all();
    for name in &args.without {
        kinds -= Kinds::from_name(name)?;
    }
    Some(Options { statements: args.statements, kinds })
}

fn program(args: &Args, options: &Options, number: u64) -> Program {
    generate::program(number ^ args.seed.rotate_left(40), options)
}

fn judge_batch(args: &Args, options: &Options, numbers: std::ops::Range<u64>) -> Vec<(u64, Verdict)> {
    let programs: Vec<Program> = numbers.clone().map(|number| program(args, options, number)).collect();
    let expected: Vec<Result<generate::Outcome, Fault>> =
        programs.iter().map(|program| program.evaluate(&program.module)).collect();
    let mut verdicts: Vec<Verdict> = expected
        .iter()
        .map(|outcome| match outcome {
            Ok(_) => Verdict::Same,
            Err(fault) => Verdict::Nothing(fault.kind),
        })
        .collect();
    for route in &args.routes {
        let judged: Vec<usize> = (0..programs.len()).filter(|&at| matches!(verdicts[at], Verdict::Same)).collect();
        let chosen: Vec<&Program> = judged.iter().map(|&at| &programs[at]).collect();
        let outputs = route.run(&chosen, &args.arch);
        for (at, output) in judged.into_iter().zip(outputs) {
            let difference = match &expected[at] {
                Ok(outcome) => differs(outcome, &output),
                Err(_) => None,
            };
            if output.is_err() && route.is_llvm() {
                verdicts[at] = Verdict::Refused;
            } else if let Some(difference) = difference {
                let difference = if args.no_shrink {
                    difference
                } else {
                    shrink(args, &programs[at], *route, numbers.start + at as u64)
                };
                println!("program {}: {}: {difference}", numbers.start + at as u64, route.name());
                verdicts[at] = Verdict::Finding;
            }
        }
    }
    numbers.zip(verdicts).collect()
}

/// What is wrong with an output.
fn differs(expected: &generate::Outcome, output: &Result<Vec<u8>, String>) -> Option<String> {
    match output {
        Err(message) => Some(message.clone()),
        Ok(bytes) => match expected.compare(bytes) {
            Ok(comparison) => comparison.differs.map(|at| format!("byte {at:#x} of the output differs")),
            Err(fault) => Some(fault.to_string()),
        },
    }
}

/// Coarsely what is the matter: a program is cut down only to programs with the same matter.
fn matter(difference: &str) -> String {
    let words: String = difference.chars().filter(|letter| !letter.is_ascii_digit()).take(24).collect();
    if difference.starts_with("byte") { "byte".into() } else { words }
}

/// Cuts a program down, writes it, and answers what is wrong with it.
fn shrink(args: &Args, program: &Program, route: Route, number: u64) -> String {
    let difference = |module: &Module| {
        oriole_nvptx::ir::verify(module).ok()?;
        let expected = program.evaluate(module).ok().filter(|_| program.has_independent_threads(module))?;
        let candidate = Program { module: module.clone(), ..program.clone() };
        differs(&expected, &route.run(&[&candidate], &args.arch)[0])
    };
    let Some(first) = difference(&program.module) else { return "differs only together with others".into() };
    let small = oriole_ireval::shrink(&program.module, &mut |module| {
        difference(module).is_some_and(|now| matter(&now) == matter(&first))
    });
    let now = difference(&small).unwrap_or(first);
    let folder = args.out.join(format!("{}-{number}-{}", args.seed, route.name()));
    match write(&folder, program, &small, &now, route, args) {
        Ok(()) => format!("{now} ({})", folder.display()),
        Err(error) => format!("{now} ({}: {error})", folder.display()),
    }
}

fn write(
    folder: &Path,
    program: &Program,
    small: &Module,
    difference: &str,
    route: Route,
    args: &Args,
) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("k.ll"), routes::text(small))?;
    std::fs::write(folder.join("in.bin"), &program.input)?;
    let candidate = Program { module: small.clone(), ..program.clone() };
    let ptx = route.ptx(&[&candidate], &args.arch).unwrap_or_else(|error| error);
    std::fs::write(folder.join("k.ptx"), ptx)?;
    let run = format!(
        "oriole run k.ptx --engine ptx --entry p0_k --block {} in:in.bin out:out.bin:{} u64:{}\n",
        program.threads,
        program.output_bytes(),
        program.uniform
    );
    let mut text = format!("route {}: {difference}\n{run}", route.name());
    if let Ok(expected) = program.evaluate(small) {
        let output = route.run(&[&candidate], &args.arch).remove(0).unwrap_or_default();
        let at = expected.compare(&output).ok().and_then(|comparison| comparison.differs);
        if let Some(at) = at {
            let from = at / 8 * 8;
            let to = (from + 16).min(output.len());
            text += &format!(
                "bytes from {from:#x}: {:02x?}, not {:02x?}\n",
                &output[from..to],
                &expected.bytes()[from..to]
            );
        }
    }
    std::fs::write(folder.join("README"), text)
}

fn report(args: &Args, verdicts: &[(u64, Verdict)], seconds: f64) -> ExitCode {
    let (mut same, mut refused, mut findings) = (0, 0, 0);
    let mut nothing: BTreeMap<String, u32> = BTreeMap::new();
    for (_, verdict) in verdicts {
        match verdict {
            Verdict::Same => same += 1,
            Verdict::Refused => refused += 1,
            Verdict::Nothing(kind) => *nothing.entry(format!("{kind:?}")).or_default() += 1,
            Verdict::Finding => findings += 1,
        }
    }
    let names: Vec<&str> = args.routes.iter().map(|route| route.name()).collect();
    println!(
        "{} programs of seed {} by {}: {same} the same, {findings} findings, {refused} that LLVM refuses, without a result {nothing:?}; {seconds:.1} s",
        verdicts.len(),
        args.seed,
        names.join(", ")
    );
    if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
