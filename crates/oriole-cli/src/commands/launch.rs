//! What all engines of `oriole run` share: from options to a launch, and what a launch leaves.

use super::args::{Cli, Command};
use super::failure::{Failure, usage};
use super::run_args::{Engine, RunArgs};
use super::{files, run};
use crate::console;
use clap::Parser;
use oriole_codegen::{LineTable, Meaning, ParameterType};
use oriole_cubin::{Cubin, LineKind};
use oriole_device::argument::{Argument, ArgumentError, Bound};
use oriole_device::texture::{ObjectSpec, parse_sampler};
use oriole_device::{Fault, Launch, Memory, SourceLine};
use oriole_sim::{CheckReport, TimingReport};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;

/// What a launch is given besides its options.
pub(crate) struct Given {
    /// The kernel's parameters in order.
    pub(crate) arguments: Vec<Argument>,
    /// Variables of the module, with the bytes that they start with.
    pub(crate) globals: Vec<(String, Vec<u8>)>,
}

/// What a launch leaves, whichever engine ran it.
pub(crate) struct Launched {
    /// Its arguments.
    pub(crate) bound: Bound,
    /// Device memory.
    pub(crate) memory: Memory,
    /// What checks of memory have found.
    pub(crate) found: CheckReport,
    /// The target of the code.
    pub(crate) target: String,
    /// How it ended.
    pub(crate) end: Result<Ended, Box<Fault>>,
}

/// What a kernel leaves that came to its end.
pub(crate) struct Ended {
    /// What it has printed.
    pub(crate) printed: Vec<u8>,
    /// Instructions, each counted once for the threads that executed it together.
    pub(crate) warp_instructions: u64,
    /// What `--stats` asks for.
    pub(crate) statistics: serde_json::Value,
    /// The estimate of the cycle model.
    pub(crate) timing: Option<TimingReport>,
}

/// What `--bind` gives to variables of the module.
pub(crate) fn bind_objects(args: &RunArgs, bound: &mut Bound, memory: &mut Memory) -> Result<(), Failure> {
    args.bind.iter().try_for_each(|setting| bind_object(setting, bound, memory))
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

/// A launch of the code of `input` that stands behind `--`, in the words that `oriole run` takes behind its input. It is simulated, and
/// the cycle model asked in any case if the caller `measures`.
pub(crate) fn behind_dashes(input: &Path, words: &[String], measures: bool) -> Result<(RunArgs, Given), Failure> {
    let words =
        ["oriole".as_ref(), "run".as_ref(), input.as_os_str()].into_iter().chain(words.iter().map(AsRef::as_ref));
    let cli = Cli::try_parse_from(words).map_err(|error| usage(format!("the launch behind --: {error}")))?;
    // These words begin with `run`.
    let Command::Run(mut args) = cli.command else { return Err(usage("the launch behind -- is none")) };
    if args.engine != Engine::Sim || args.arch.is_some() {
        return Err(usage("the launch behind -- is simulated, for the target of the code: no --engine, no --arch"));
    }
    args.timing |= measures;
    run::refuse_what_cannot_act(&args)?;
    let arguments: Result<_, _> = args.args.iter().map(|argument| Argument::parse(argument)).collect();
    let given = Given { arguments: arguments.map_err(usage)?, globals: run::globals(&args)? };
    Ok((args, given))
}

/// A block of one thread is seldom what was meant.
pub(crate) fn say_what_runs(args: &RunArgs) {
    if args.block.is_none() && !args.quiet {
        let which = if args.grid == [1, 1, 1] { "one thread runs" } else { "one thread of each block runs" };
        console::say(format_args!("note: without --block, {which}"));
    }
}

/// The launch that the command line asks for.
pub(crate) fn launch_of(args: &RunArgs, bound: &Bound) -> Launch {
    Launch {
        grid: args.grid,
        block: args.block.unwrap_or([1; 3]),
        cluster: args.cluster.unwrap_or([1; 3]),
        shared_bytes: args.shared,
        params: bound.params.clone(),
    }
}

/// Refuse a value whose kind is not its parameter's type, such as `f32:1` for a `.u32`. Whether the sizes fit is for
/// [`argument::bind`] to say.
pub(crate) fn check_types(args: &RunArgs, kernels: &BTreeMap<String, Vec<ParameterType>>) -> Result<(), Failure> {
    let types = kernels.get(&args.entry).map_or(&[][..], Vec::as_slice);
    for (index, (text, ty)) in args.args.iter().zip(types).enumerate() {
        let kind = text.split_once(':').map_or("", |(kind, _)| kind);
        if let Some(ty) = ty.filter(|ty| !meaning(kind).suits(*ty)) {
            return Err(usage(format!("argument {index}, '{text}': the kernel's parameter is .{}", ty.as_str())));
        }
    }
    Ok(())
}

/// That a file of an argument cannot be read is the input's fault, as with any other file; all else is wrong usage.
pub(crate) fn wrong_argument(error: ArgumentError) -> Failure {
    match error {
        ArgumentError::File { path, source } => files::unreadable(&path, &source),
        error => usage(error),
    }
}

/// What the bits of `KIND:VALUE` mean.
fn meaning(kind: &str) -> Meaning<'_> {
    match kind {
        "f16" | "f32" | "f64" | "bf16" => Meaning::Float(kind),
        "b8" | "b16" | "b32" | "b64" | "bytes" | "tensormap" => Meaning::Bits,
        _ => Meaning::Integer,
    }
}

/// Where instructions come from: from lines of the PTX that was compiled, or what the line table of a cubin says.
pub(crate) struct Lines<'a> {
    args: &'a RunArgs,
    cubin: &'a Cubin,
    /// Of the kernel that was launched; empty where a cubin was given.
    ptx: &'a LineTable,
    /// The cubin's own, read when something asks for a line. A damaged one is as none: what is said of the launch matters.
    own: OnceCell<oriole_cubin::LineTable>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(args: &'a RunArgs, cubin: &'a Cubin, ptx: &'a LineTable) -> Lines<'a> {
        Lines { args, cubin, ptx, own: OnceCell::new() }
    }

    /// The line of the instruction at byte `pc` of a function's section.
    pub(crate) fn at(&self, function: &str, pc: u64) -> Option<SourceLine> {
        if self.ptx.is_empty() {
            let own = self.own.get_or_init(|| self.cubin.line_table(LineKind::Source).unwrap_or_default());
            let found = own.in_code_of(self.cubin, function, pc)?;
            return Some(SourceLine { file: found.file.to_owned(), line: found.line });
        }
        let (_, loc) = self.ptx.iter().find(|(at, _)| *at == pc && function == self.args.entry)?;
        Some(SourceLine { file: self.args.input.display().to_string(), line: loc.line })
    }
}
