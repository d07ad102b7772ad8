//! `oriole run`.

use super::args::{CodeArgs, Engine, RunArgs};
use super::failure::Failure;
use super::{compile, files, gpu, parse_arch};
use oriole::LineTable;
use oriole_cubin::Cubin;
use oriole_device::argument::{self, Argument};
use oriole_device::{Launch, Memory, SourceLine};
use oriole_sim::{Options, RunError, Simulator, Statistics};
use std::io::Write;

/// The first bytes of an ELF file.
const ELF_MAGIC: &[u8] = b"\x7fELF";

/// Compile if need be, run the kernel, write its buffers.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    refuse_what_is_missing(args)?;
    let bytes = files::read(&args.input)?;
    let (cubin, lines) =
        if bytes.starts_with(ELF_MAGIC) { (bytes, LineTable::new()) } else { compile_ptx(args, &bytes)? };
    let parsed = Cubin::parse(&cubin).map_err(|e| Failure::file(&args.input, e))?;
    let arguments: Vec<Argument> =
        args.args.iter().map(|a| Argument::parse(a)).collect::<Result<_, _>>().map_err(usage)?;
    match args.engine {
        Engine::Gpu => gpu::run(args, &cubin, &parsed, &arguments),
        Engine::Sim | Engine::Ptx => simulate(args, &parsed, &arguments, &lines),
    }
}

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("error: {error}"))
}

fn refuse_what_is_missing(args: &RunArgs) -> Result<(), Failure> {
    if args.engine == Engine::Ptx {
        return Err(Failure::Rejected("error: --engine ptx: the PTX interpreter is not there yet".to_owned()));
    }
    if args.timing {
        return Err(Failure::Rejected("error: --timing: the cycle model is not there yet".to_owned()));
    }
    Ok(())
}

/// A cubin holds code for one target; PTX is compiled for the one asked for.
fn compile_ptx(args: &RunArgs, bytes: &[u8]) -> Result<(Vec<u8>, LineTable), Failure> {
    let code =
        CodeArgs { arch: args.arch.clone(), opt_level: 3, entry: vec![args.entry.clone()], ..CodeArgs::default() };
    let mut compiled = compile::compile_bytes(&args.input, bytes, &code)?;
    let lines = compiled.lines.remove(&args.entry).unwrap_or_default();
    Ok((compiled.cubin, lines))
}

fn simulate(args: &RunArgs, cubin: &Cubin, arguments: &[Argument], lines: &LineTable) -> Result<(), Failure> {
    if let Some(arch) = &args.arch {
        let arch = parse_arch(arch)?;
        if arch.number() / 10 != cubin.target.sm / 10 {
            let reason = format!("code for {} does not run on {arch}", cubin.target);
            return Err(Failure::file(&args.input, reason));
        }
    }
    let options = Options {
        strict: args.strict,
        max_instructions: args.max_instructions.unwrap_or(Options::default().max_instructions),
        threads: args.threads.unwrap_or(0),
    };
    let mut simulator = Simulator::new(cubin, options).map_err(|e| Failure::file(&args.input, e))?;
    let mut memory = Memory::new();
    for setting in &args.global {
        let (name, bytes) = global_setting(setting)?;
        simulator.set_variable(name, &bytes, &mut memory).map_err(|e| Failure::Rejected(format!("error: {e}")))?;
    }
    let slots = simulator.parameters(&args.entry).map_err(run_failure)?;
    let bound = argument::bind(arguments, &slots, &mut memory).map_err(usage)?;
    let launch = Launch {
        grid: args.grid,
        block: args.block,
        cluster: args.cluster,
        shared_bytes: args.shared,
        params: bound.params.clone(),
    };
    let report = simulator
        .launch(&args.entry, &launch, &mut memory)
        .map_err(|error| run_failure(with_line(error, args, lines)))?;
    print_output(&report.printed)?;
    for (path, contents) in bound.outputs(&memory) {
        files::write(&path, &contents)?;
    }
    args.stats.as_ref().map_or(Ok(()), |path| files::write(path, statistics(&report.statistics).as_bytes()))
}

/// `NAME=PATH` of `--global`, with the file's bytes.
pub(crate) fn global_setting(setting: &str) -> Result<(&str, Vec<u8>), Failure> {
    let (name, path) =
        setting.split_once('=').ok_or_else(|| usage(format!("--global {setting}: expected NAME=PATH")))?;
    Ok((name, files::read(path.as_ref())?))
}

fn print_output(bytes: &[u8]) -> Result<(), Failure> {
    std::io::stdout().write_all(bytes).map_err(|e| Failure::Rejected(format!("error: standard output: {e}")))
}

/// Name the PTX line of the instruction at fault, where the run began with PTX.
fn with_line(mut error: RunError, args: &RunArgs, lines: &LineTable) -> RunError {
    if let RunError::Fault(fault) = &mut error
        && fault.place.source.is_none()
        && let Some((_, loc)) = lines.iter().find(|(pc, _)| *pc == fault.place.pc)
    {
        fault.place.source = Some(SourceLine { file: args.input.display().to_string(), line: loc.line });
    }
    error
}

fn run_failure(error: RunError) -> Failure {
    match error {
        RunError::Fault(fault) => {
            // What the kernel had printed comes before the reason why it stopped.
            let _ = std::io::stdout().write_all(&fault.printed);
            Failure::Fault(format!("fault: {fault}"))
        }
        RunError::NoKernel { .. } => Failure::Rejected(format!("error: {error}")),
        RunError::Launch(error) => Failure::Usage(format!("error: {error}")),
    }
}

fn statistics(statistics: &Statistics) -> String {
    let opcodes: serde_json::Map<String, serde_json::Value> =
        statistics.opcodes.iter().map(|(opcode, count)| (opcode.name().to_owned(), (*count).into())).collect();
    let lanes = statistics.group_lanes as f64 / (32.0 * statistics.warp_instructions.max(1) as f64);
    let report = serde_json::json!({
        "blocks": statistics.blocks,
        "warps": statistics.warps,
        "warp_instructions": statistics.warp_instructions,
        "thread_instructions": statistics.thread_instructions,
        "diverged_instructions": statistics.diverged_instructions,
        "lane_utilisation": lanes,
        "opcodes": opcodes,
    });
    format!("{report:#}\n")
}
