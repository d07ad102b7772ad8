//! What all engines of `oriole run` share: from options to a launch, and what a launch leaves.

use super::args::RunArgs;
use super::failure::{Failure, rejected, usage};
use super::files;
use oriole_codegen::{LineTable, Meaning, ParameterType};
use oriole_device::argument::Bound;
use oriole_device::{Launch, Memory, SourceLine};
use std::collections::BTreeMap;
use std::path::Path;

/// A block of one thread is seldom what was meant.
pub(crate) fn say_what_runs(args: &RunArgs) {
    if args.block.is_none() {
        let which = if args.grid == [1, 1, 1] { "one thread runs" } else { "one thread of each block runs" };
        eprintln!("note: without --block, {which}");
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

/// What a kernel has left, whichever engine ran it.
pub(crate) struct Finished<'a> {
    /// What it has printed.
    pub(crate) printed: &'a [u8],
    /// Its arguments.
    pub(crate) bound: &'a Bound,
    /// Device memory.
    pub(crate) memory: &'a Memory,
    /// What `--stats` asks for.
    pub(crate) statistics: serde_json::Value,
}

/// Print what the kernel has printed, write its buffers and the statistics.
pub(crate) fn finish(args: &RunArgs, finished: Finished<'_>) -> Result<(), Failure> {
    files::write(Path::new("-"), finished.printed)?;
    for (path, contents) in finished.bound.outputs(finished.memory).map_err(rejected)? {
        files::write(&path, &contents)?;
    }
    let write = |path| files::write(path, format!("{:#}\n", finished.statistics).as_bytes());
    args.stats.as_deref().map_or(Ok(()), write)
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

/// What the bits of `KIND:VALUE` mean.
fn meaning(kind: &str) -> Meaning<'_> {
    match kind {
        "f16" | "f32" | "f64" | "bf16" => Meaning::Float(kind),
        "b8" | "b16" | "b32" | "b64" | "bytes" | "tensormap" => Meaning::Bits,
        _ => Meaning::Integer,
    }
}

/// `NAME=PATH` of `--global`, with the file's bytes.
pub(crate) fn global_setting(setting: &str) -> Result<(&str, Vec<u8>), Failure> {
    let (name, path) =
        setting.split_once('=').ok_or_else(|| usage(format!("--global {setting}: expected NAME=PATH")))?;
    Ok((name, files::read(path.as_ref())?))
}

/// The PTX line of the instruction at byte `pc` of the kernel.
pub(crate) fn source_line(pc: u64, args: &RunArgs, lines: &LineTable) -> Option<SourceLine> {
    let (_, loc) = lines.iter().find(|(at, _)| *at == pc)?;
    Some(SourceLine { file: args.input.display().to_string(), line: loc.line })
}
