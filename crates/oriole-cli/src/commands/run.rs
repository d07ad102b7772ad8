//! `oriole run`.

use super::arch::parse_arch;
use super::args::CodeArgs;
use super::expect::Expectation;
use super::failure::{Failure, rejected, stopped, usage};
use super::files::Outputs;
use super::images::{self, Taken, Wanted, Wish};
use super::interpret::Source;
use super::launch::{Given, Launched, check_types, say_what_runs};
use super::run_args::{Engine, RunArgs};
use super::still_running::StillRunning;
use super::{compile, files, gpu, interpret, memcheck, simulate, timing};
use crate::console;
use oriole_codegen::LineTable;
use oriole_cubin::Cubin;
use oriole_device::argument::{Argument, Buffer};
use oriole_sim::TimingReport;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Compile if need be, run the kernel, write its buffers.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    refuse_what_cannot_act(args)?;
    let arguments: Vec<Argument> =
        args.args.iter().map(|a| Argument::parse(a)).collect::<Result<_, _>>().map_err(usage)?;
    let expectations: Vec<Expectation> =
        args.expect.iter().map(|text| Expectation::parse(text, &arguments)).collect::<Result<_, _>>()?;
    keep_files_apart(args, &arguments, &expectations)?;
    let taken = source(args)?;
    let named = taken.image.as_ref().map(|image| RunArgs {
        input: taken.path.clone(),
        arch: image.target.map(|target| target.to_string()).or_else(|| args.arch.clone()),
        ..args.clone()
    });
    let (args, bytes) = (named.as_ref().unwrap_or(args), taken.bytes);
    let given = Given { arguments, globals: globals(args)? };
    let start = Instant::now();
    let still_running = StillRunning::watch(args);
    let launched = if args.engine == Engine::Ptx {
        let source = Source::new(args, bytes)?;
        say_what_runs(args);
        interpret::run(args, &source, &given)?
    } else {
        let (cubin, lines) =
            if bytes.starts_with(files::ELF_MAGIC) { (bytes, LineTable::new()) } else { compile_ptx(args, &bytes)? };
        let parsed = files::cubin(&args.input, &cubin)?;
        check_target(args, &parsed)?;
        if args.engine == Engine::Gpu {
            return gpu::run(args, &cubin, &parsed, &given);
        }
        say_what_runs(args);
        simulate::run(args, &parsed, &given, &lines)?
    };
    drop(still_running);
    let seconds = start.elapsed().as_secs_f64();
    conclude(args, launched, &expectations, seconds)
}

/// What of the file runs.
fn source(args: &RunArgs) -> Result<Taken, Failure> {
    let wish = Wish {
        path: &args.input,
        chip: args.arch.as_deref(),
        chip_picks_only: false,
        image: &args.image,
        entries: std::slice::from_ref(&args.entry),
        wanted: if args.engine == Engine::Ptx { Wanted::Ptx } else { Wanted::Code },
    };
    images::one(&wish, files::read(&args.input)?)
}

/// Options that would change nothing here are mistakes.
pub(crate) fn refuse_what_cannot_act(args: &RunArgs) -> Result<(), Failure> {
    let machine_code: &[Engine] = &[Engine::Sim];
    let not_the_driver: &[Engine] = &[Engine::Sim, Engine::Ptx];
    let options = [
        ("--strict", args.strict.is_some(), machine_code),
        ("--timing", args.timing, machine_code),
        ("--timing-detail", args.timing_detail, machine_code),
        ("--timing-file", args.timing_file.is_some(), machine_code),
        ("--timing-sms", args.timing_sms.is_some(), machine_code),
        ("--timing-warm", args.timing_warm, machine_code),
        ("--check", args.check.is_some(), machine_code),
        ("--absent-lanes", args.absent_lanes.is_some(), machine_code),
        ("--threads", args.threads.is_some(), machine_code),
        ("--deterministic", args.deterministic, not_the_driver),
        ("--bind", !args.bind.is_empty(), not_the_driver),
        ("--cluster", args.cluster.is_some(), not_the_driver),
        ("--max-instructions", args.max_instructions.is_some(), not_the_driver),
        ("--stats", args.stats.is_some(), not_the_driver),
        ("--expect", !args.expect.is_empty(), not_the_driver),
    ];
    if let Some((name, ..)) = options.iter().find(|(_, given, engines)| *given && !engines.contains(&args.engine)) {
        return Err(usage(format!("{name} does nothing with --engine {}", args.engine.name())));
    }
    let of_the_model = [("--timing-sms", args.timing_sms.is_some()), ("--timing-warm", args.timing_warm)];
    if let Some((name, _)) = of_the_model.iter().find(|(_, given)| *given && !args.wants_timing()) {
        return Err(usage(format!("{name} needs --timing, --timing-detail or --timing-file")));
    }
    Ok(())
}

/// What runs can be checked against `--arch`, whatever runs it.
fn check_target(args: &RunArgs, cubin: &Cubin) -> Result<(), Failure> {
    let Some(arch) = args.arch.as_deref().map(parse_arch).transpose()? else { return Ok(()) };
    if arch.number() / 10 != cubin.target.sm / 10 {
        return Err(Failure::file(&args.input, format!("code for {} does not run on {arch}", cubin.target)));
    }
    Ok(())
}

fn keep_files_apart(args: &RunArgs, arguments: &[Argument], expectations: &[Expectation]) -> Result<(), Failure> {
    let buffers: Vec<&Buffer> = arguments.iter().flat_map(Argument::buffers).collect();
    let globals = args.global.iter().filter_map(|setting| Some(Path::new(setting.split_once('=')?.1)));
    let read = buffers.iter().filter_map(|buffer| buffer.input());
    let expected = expectations.iter().map(Expectation::path);
    let reports =
        || [&args.stats, &args.timing_file, &args.check_report].into_iter().filter_map(|path| path.as_deref());
    let written = || buffers.iter().filter_map(|buffer| buffer.output.as_deref()).chain(reports());
    files::have_folders(written())?;
    files::keep_apart(globals.chain(read).chain(expected).chain([args.input.as_path()]), written())
}

/// A cubin holds code for one target; PTX is compiled for the one asked for.
fn compile_ptx(args: &RunArgs, bytes: &[u8]) -> Result<(Vec<u8>, LineTable), Failure> {
    let (arch, entry, memory) = (args.arch.clone(), vec![args.entry.clone()], args.memory);
    let code = CodeArgs { arch, entry, memory, ..CodeArgs::default() };
    let mut compiled = compile::compile_bytes(&args.input, bytes, &code)?;
    check_types(args, &compiled.parameters)?;
    let lines = compiled.lines.remove(&args.entry).unwrap_or_default();
    Ok((compiled.cubin, lines))
}

/// Say and write what a launch has left. What is wrong comes last: the fault, the checks' verdict, buffers that differ.
fn conclude(args: &RunArgs, launched: Launched, expectations: &[Expectation], seconds: f64) -> Result<(), Failure> {
    let Launched { bound, memory, found, target, end } = launched;
    if args.check.is_some() {
        memcheck::publish(&found, args)?;
    }
    let ended = end.map_err(|fault| stopped(&fault))?;
    files::write(Path::new("-"), &ended.printed)?;
    let mut outputs = Outputs::default();
    for (path, contents) in bound.outputs(&memory).map_err(rejected)? {
        outputs.add(&path, &contents)?;
    }
    if let Some(path) = &args.stats {
        outputs.add(path, format!("{:#}\n", ended.statistics).as_bytes())?;
    }
    if let Some(timing) = &ended.timing {
        show_timing(timing, args, &mut outputs)?;
    }
    outputs.finish()?;
    if !args.quiet {
        console::say(closing_line(args, &target, ended.warp_instructions, seconds));
    }
    memcheck::verdict(&found)?;
    let wrong: Vec<String> = expectations.iter().filter_map(|expectation| expectation.judge(&bound, &memory)).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Failure::Rejected(wrong.join("\n"))) }
}

/// What ran, and how long: a log that holds it can be read without the command line.
fn closing_line(args: &RunArgs, target: &str, instructions: u64, seconds: f64) -> String {
    let dims = |[x, y, z]: [u32; 3]| if (y, z) == (1, 1) { x.to_string() } else { format!("{x},{y},{z}") };
    let (entry, engine) = (&args.entry, args.engine.name());
    let (grid, block) = (dims(args.grid), dims(args.block.unwrap_or([1; 3])));
    format!("ran: {entry}, grid {grid}, block {block}, {engine}, {target}, {instructions} instructions, {seconds:.3} s")
}

/// What `--global` gives, with the files' bytes.
pub(crate) fn globals(args: &RunArgs) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let read = |setting: &String| {
        let parts = setting.split_once('=');
        let (name, path) = parts.ok_or_else(|| usage(format!("--global {setting}: expected NAME=PATH")))?;
        Ok((name.to_owned(), files::read(path.as_ref())?))
    };
    args.global.iter().map(read).collect()
}

fn show_timing(report: &TimingReport, args: &RunArgs, outputs: &mut Outputs) -> Result<(), Failure> {
    if args.timing || args.timing_detail {
        console::say_text(&timing::text(report, args.timing_detail));
    }
    let json = |path: &PathBuf| outputs.add(path, format!("{:#}\n", timing::json(report)).as_bytes());
    args.timing_file.as_ref().map_or(Ok(()), json)
}
