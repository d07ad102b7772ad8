//! `oriole run`.

use super::arch::parse_arch;
use super::args::{CodeArgs, Engine, RunArgs};
use super::failure::{Failure, rejected, stopped, usage};
use super::launch::{Finished, check_types, finish, global_setting, launch_of, say_what_runs, source_line};
use super::{compile, files, gpu, interpret, memcheck, timing};
use oriole_codegen::LineTable;
use oriole_cubin::Cubin;
use oriole_device::Memory;
use oriole_device::argument::{self, Argument, Bound, Buffer};
use oriole_device::texture::{ObjectSpec, parse_sampler};
use oriole_sim::{CheckReport, Options, RunError, RunReport, Simulator, Statistics, TimingReport};
use std::path::{Path, PathBuf};

/// The first bytes of an ELF file.
const ELF_MAGIC: &[u8] = b"\x7fELF";

/// Compile if need be, run the kernel, write its buffers.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    refuse_what_cannot_act(args)?;
    let arguments: Vec<Argument> =
        args.args.iter().map(|a| Argument::parse(a)).collect::<Result<_, _>>().map_err(usage)?;
    keep_files_apart(args, &arguments)?;
    let bytes = files::read(&args.input)?;
    if args.engine == Engine::Ptx {
        return interpret::run(args, bytes, &arguments);
    }
    let (cubin, lines) =
        if bytes.starts_with(ELF_MAGIC) { (bytes, LineTable::new()) } else { compile_ptx(args, &bytes)? };
    let parsed = Cubin::parse(&cubin).map_err(|e| Failure::file(&args.input, e))?;
    check_target(args, &parsed)?;
    match args.engine {
        Engine::Gpu => gpu::run(args, &cubin, &parsed, &arguments),
        Engine::Sim | Engine::Ptx => simulate(args, &parsed, &arguments, &lines),
    }
}

/// Options that would change nothing here are mistakes.
pub(crate) fn refuse_what_cannot_act(args: &RunArgs) -> Result<(), Failure> {
    let machine_code: &[Engine] = &[Engine::Sim];
    let not_the_driver: &[Engine] = &[Engine::Sim, Engine::Ptx];
    let options = [
        ("--strict", args.strict, machine_code),
        ("--timing", args.timing, machine_code),
        ("--timing-detail", args.timing_detail, machine_code),
        ("--timing-file", args.timing_file.is_some(), machine_code),
        ("--timing-sms", args.timing_sms.is_some(), machine_code),
        ("--timing-warm", args.timing_warm, machine_code),
        ("--check", args.check.is_some(), machine_code),
        ("--threads", args.threads.is_some(), machine_code),
        ("--bind", !args.bind.is_empty(), machine_code),
        ("--cluster", args.cluster.is_some(), not_the_driver),
        ("--max-instructions", args.max_instructions.is_some(), not_the_driver),
        ("--stats", args.stats.is_some(), not_the_driver),
    ];
    if let Some((name, ..)) = options.iter().find(|(_, given, engines)| *given && !engines.contains(&args.engine)) {
        return Err(usage(format!("{name} does nothing with --engine {}", args.engine.name())));
    }
    let of_the_model = [("--timing-sms", args.timing_sms.is_some()), ("--timing-warm", args.timing_warm)];
    if let Some((name, _)) = of_the_model.iter().find(|(_, given)| *given && !wants_timing(args)) {
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

fn keep_files_apart(args: &RunArgs, arguments: &[Argument]) -> Result<(), Failure> {
    let buffers: Vec<&Buffer> = arguments.iter().flat_map(Argument::buffers).collect();
    let globals = args.global.iter().filter_map(|setting| Some(Path::new(setting.split_once('=')?.1)));
    let read = buffers.iter().filter_map(|buffer| buffer.input.as_deref());
    let written = buffers.iter().filter_map(|buffer| buffer.output.as_deref());
    let reports = [&args.stats, &args.timing_file, &args.check_report].into_iter().filter_map(|path| path.as_deref());
    files::keep_apart(globals.chain(read).chain([args.input.as_path()]), written.chain(reports))
}

/// A cubin holds code for one target; PTX is compiled for the one asked for.
fn compile_ptx(args: &RunArgs, bytes: &[u8]) -> Result<(Vec<u8>, LineTable), Failure> {
    let code = CodeArgs { arch: args.arch.clone(), entry: vec![args.entry.clone()], ..CodeArgs::default() };
    let mut compiled = compile::compile_bytes(&args.input, bytes, &code)?;
    check_types(args, &compiled.parameters)?;
    let lines = compiled.lines.remove(&args.entry).unwrap_or_default();
    Ok((compiled.cubin, lines))
}

/// What a launch on the simulator leaves.
pub(crate) struct Launched {
    pub(crate) bound: Bound,
    pub(crate) memory: Memory,
    /// What checks of memory have found.
    pub(crate) found: CheckReport,
    pub(crate) result: Result<RunReport, RunError>,
}

/// Launch a kernel on the simulator. Errors are those of the arguments.
pub(crate) fn launch(args: &RunArgs, cubin: &Cubin, arguments: &[Argument]) -> Result<Launched, Failure> {
    let options = Options {
        strict: args.strict,
        max_instructions: args.max_instructions.unwrap_or(Options::default().max_instructions),
        timeout: args.timeout,
        threads: args.threads.unwrap_or(0),
        timing: wants_timing(args),
        timing_sms: args.timing_sms,
        timing_warm: args.timing_warm,
        ..Options::default()
    };
    let mut simulator = Simulator::new(cubin, options).map_err(|e| Failure::file(&args.input, e))?;
    let mut memory = Memory::new();
    for setting in &args.global {
        let (name, bytes) = global_setting(setting)?;
        simulator.set_variable(name, &bytes, &mut memory).map_err(rejected)?;
    }
    let slots = simulator.parameters(&args.entry).map_err(run_failure)?;
    let mut bound = argument::bind(arguments, &slots, &mut memory).map_err(usage)?;
    for setting in &args.bind {
        bind_object(setting, &mut bound, &mut memory)?;
    }
    simulator.set_objects(std::mem::take(&mut bound.objects));
    let launch = launch_of(args, &bound);
    let checks = args.check.as_deref().map(memcheck::parse).transpose()?;
    let (found, result) = match checks {
        Some(checks) => simulator.launch_checked(&args.entry, &launch, &mut memory, checks, &bound.undefined),
        None => (CheckReport::default(), simulator.launch(&args.entry, &launch, &mut memory)),
    };
    Ok(Launched { bound, memory, found, result })
}

fn simulate(args: &RunArgs, cubin: &Cubin, arguments: &[Argument], lines: &LineTable) -> Result<(), Failure> {
    say_what_runs(args);
    let Launched { bound, memory, mut found, result } = launch(args, cubin, arguments)?;
    if args.check.is_some() {
        memcheck::publish(&mut found, args, lines)?;
    }
    let report = result.map_err(|error| run_failure(with_line(error, args, lines)))?;
    let statistics = statistics(&report.statistics);
    finish(args, Finished { printed: &report.printed, bound: &bound, memory: &memory, statistics })?;
    report.timing.map_or(Ok(()), |timing| print_timing(&timing, args))?;
    memcheck::verdict(&found)
}

/// `NAME=OBJECT` of `--bind`: lets a variable of the module mean an object.
fn bind_object(setting: &str, bound: &mut Bound, memory: &mut Memory) -> Result<(), Failure> {
    let wrong = |reason: &str| usage(format!("--bind {setting}: {reason}"));
    let parts = setting.split_once('=').and_then(|(name, object)| Some((name, object.split_once(':')?)));
    let (name, (kind, spec)) = parts.ok_or_else(|| wrong("expected NAME=KIND:…"))?;
    let number = match kind {
        "tex" | "surf" => {
            let spec = ObjectSpec::parse(spec).map_err(|reason| wrong(&reason))?;
            bound.place_object(name, &spec, memory).map_err(usage)? as u32
        }
        "sampler" => bound.objects.add_sampler(parse_sampler(spec).map_err(|reason| wrong(&reason))?),
        _ => return Err(wrong("expected tex, surf or sampler")),
    };
    bound.objects.bind(name, number);
    Ok(())
}

fn wants_timing(args: &RunArgs) -> bool {
    args.timing || args.timing_detail || args.timing_file.is_some()
}

fn print_timing(report: &TimingReport, args: &RunArgs) -> Result<(), Failure> {
    if args.timing || args.timing_detail {
        eprint!("{}", timing::text(report, args.timing_detail));
    }
    let json = |path: &PathBuf| files::write(path, format!("{:#}\n", timing::json(report)).as_bytes());
    args.timing_file.as_ref().map_or(Ok(()), json)
}

/// Name the PTX line of the instruction at fault, where the run began with PTX.
fn with_line(mut error: RunError, args: &RunArgs, lines: &LineTable) -> RunError {
    if let RunError::Fault(fault) = &mut error
        && fault.place.source.is_none()
    {
        fault.place.source = source_line(fault.place.pc, args, lines);
    }
    error
}

fn run_failure(error: RunError) -> Failure {
    match error {
        RunError::Fault(fault) => stopped(&fault),
        RunError::NoKernel { .. } | RunError::Unbound(_) => rejected(error),
        RunError::Launch(error) => usage(error),
    }
}

fn statistics(statistics: &Statistics) -> serde_json::Value {
    let opcodes: serde_json::Map<String, serde_json::Value> =
        statistics.opcodes.iter().map(|(opcode, count)| (opcode.name().to_owned(), (*count).into())).collect();
    let lanes = statistics.group_lanes as f64 / (32.0 * statistics.warp_instructions.max(1) as f64);
    serde_json::json!({
        "blocks": statistics.blocks,
        "warps": statistics.warps,
        "warp_instructions": statistics.warp_instructions,
        "thread_instructions": statistics.thread_instructions,
        "diverged_instructions": statistics.diverged_instructions,
        "lane_utilisation": lanes,
        "opcodes": opcodes,
    })
}
