//! Whether the code of a form computes what it should.

use crate::corpus::{self, Form};
use fastrand::Rng;
use oriole_cli::nvdisasm::Nvdisasm;
use oriole_codegen::CompileOptions;
use oriole_cubin::Cubin;
use oriole_device::{Launch, Memory};
use oriole_sim::{Options, Simulator};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Instructions of a warp after which a form counts as running for ever.
const MAX_INSTRUCTIONS: u64 = 2_000_000;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder of forms
    folder: PathBuf,
    /// Targets, separated by commas
    #[arg(long, default_value = "sm_80,sm_90", value_delimiter = ',')]
    targets: Vec<String>,
    /// Only these families
    #[arg(long)]
    family: Vec<String>,
    /// Our level of optimisation, and that of the reference
    #[arg(short = 'O', default_value_t = 3)]
    opt_level: u8,
    /// ptxas, whose code is the reference; without it the PTX interpreter is
    #[arg(long)]
    ptxas: Option<PathBuf>,
    /// Where ptxas's cubins are kept: DIR/TARGET-OLEVEL/INDEX.cubin
    #[arg(long, requires = "ptxas")]
    cubins: Option<PathBuf>,
    /// Seed of the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write a line for each form that falls short: target, form, stage, reason
    #[arg(long)]
    failures: Option<PathBuf>,
}

/// How far a form came.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Compile,
    Run,
    Reference,
    Differs,
    /// Nothing to compare: it compiles.
    Compiled,
    Same,
}

/// Compiles and runs the forms and prints a row per target and family.
pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let forms = corpus::read(&args.folder)?;
    let wanted = |form: &&Form| args.family.is_empty() || args.family.contains(&form.family);
    let chosen: Vec<&Form> = forms.iter().filter(wanted).collect();
    let mut rows: BTreeMap<(&str, &str), [usize; 4]> = BTreeMap::new();
    let mut failures = String::new();
    for target in &args.targets {
        let made = Mutex::new(Vec::new());
        let judged: Vec<_> =
            chosen.par_iter().filter_map(|form| Some((form, judge(form, target, args, &made)?))).collect();
        read_back(target, made.into_inner().unwrap_or_else(PoisonError::into_inner))?;
        for (form, (stage, reason)) in judged {
            let row = rows.entry((target, &form.family)).or_default();
            let [all, compiled, compared, same] = row;
            *all += 1;
            *compiled += usize::from(stage != Stage::Compile);
            *compared += usize::from(form.deterministic && form.out_bytes > 0);
            *same += usize::from(stage == Stage::Same);
            let stage = match stage {
                Stage::Compile => "compile",
                Stage::Run => "run",
                Stage::Reference => "reference",
                Stage::Differs => "differs",
                Stage::Compiled | Stage::Same => continue,
            };
            writeln!(failures, "{target}\t{}\t{stage}\t{}", form.id, reason.lines().next().unwrap_or_default())?;
        }
    }
    if let Some(file) = &args.failures {
        std::fs::write(file, &failures)?;
    }
    print(&rows);
    Ok(())
}

fn print(rows: &BTreeMap<(&str, &str), [usize; 4]>) {
    println!("{:8} {:24} {:>7} {:>9} {:>9} {:>7}", "target", "family", "forms", "compiled", "compared", "same");
    let mut totals: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    let line = |target: &str, name: &str, [all, compiled, compared, same]: [usize; 4]| {
        println!("{target:8} {name:24} {all:7} {compiled:9} {compared:9} {same:7}");
    };
    for (&(target, family), row) in rows {
        line(target, family, *row);
        totals.entry(target).or_default().iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
    }
    totals.into_iter().for_each(|(target, row)| line(target, "all", row));
}

/// How far the form comes on a target that accepts it, and why not further.
fn judge(form: &Form, target: &str, args: &Args, made: &Mutex<Vec<Made>>) -> Option<(Stage, String)> {
    let ptx = form.ptx(target)?;
    Some(compared(form, &ptx, target, args, made).unwrap_or_else(|short| short))
}

/// Name of a form and its cubin.
type Made = (String, Vec<u8>);

/// nvdisasm, where `ORIOLE_ORACLE` names its folder, reads the code of all cubins.
fn read_back(target: &str, mut made: Vec<Made>) -> Result<(), Box<dyn Error>> {
    let Some(tool) = Nvdisasm::from_environment() else { return Ok(()) };
    made.sort();
    let cubins: Vec<&[u8]> = made.iter().map(|(_, cubin)| cubin.as_slice()).collect();
    let refused = tool.read_code(&cubins)?;
    for (at, why) in &refused {
        println!("{target} {}: nvdisasm refuses the code: {why}", made[*at].0);
    }
    match refused.len() {
        0 => Ok(()),
        count => Err(format!("nvdisasm refuses the code of {count} forms").into()),
    }
}

fn compared(
    form: &Form,
    ptx: &str,
    target: &str,
    args: &Args,
    made: &Mutex<Vec<Made>>,
) -> Result<(Stage, String), (Stage, String)> {
    let options = CompileOptions { opt_level: args.opt_level, ..CompileOptions::default() };
    let ours = oriole_codegen::compile(ptx, &options).map_err(|error| (Stage::Compile, error.to_string()))?;
    made.lock().unwrap_or_else(PoisonError::into_inner).push((form.id.clone(), ours.cubin.clone()));
    if !form.deterministic || form.out_bytes == 0 {
        return Ok((Stage::Compiled, String::new()));
    }
    let input = input(form, args.seed);
    let got = launch(form, &input, |l, m| simulate(&ours.cubin, true, l, m)).map_err(|why| (Stage::Run, why))?;
    let wanted = match &args.ptxas {
        Some(tool) => reference_cubin(form, ptx, target, args, tool)
            .and_then(|cubin| launch(form, &input, |l, m| simulate(&cubin, false, l, m))),
        None => launch(form, &input, |l, m| interpret(ptx, l, m)),
    };
    let wanted = wanted.map_err(|why| (Stage::Reference, why))?;
    match got.iter().zip(&wanted).position(|(a, b)| a != b) {
        None => Ok((Stage::Same, String::new())),
        Some(at) => Err((Stage::Differs, difference(form, &input, &got, &wanted, at))),
    }
}

/// What the first thread whose output differs has read, what it wrote and what it should have written.
fn difference(form: &Form, input: &[u8], got: &[u8], wanted: &[u8], at: usize) -> String {
    let thread = at / form.out_bytes as usize;
    let shown = |bytes: &[u8], size: u64| {
        let own = bytes.chunks(size.max(1) as usize).nth(thread).unwrap_or_default();
        own.chunks(4).map(|word| word.iter().rev().map(|byte| format!("{byte:02x}")).collect()).collect::<Vec<String>>()
    };
    let [read, is, should] = [(input, form.in_bytes), (got, form.out_bytes), (wanted, form.out_bytes)]
        .map(|(bytes, size)| shown(bytes, size).join(" "));
    format!("thread {thread}: {is} for {should}, from {read}")
}

/// ptxas's cubin, kept between runs where there is a folder for it.
fn reference_cubin(form: &Form, ptx: &str, target: &str, args: &Args, tool: &Path) -> Result<Vec<u8>, String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let kept = args.cubins.as_ref().map(|folder| folder.join(format!("{target}-O{}", args.opt_level)));
    let folder = kept.unwrap_or_else(|| scratch.path().to_owned());
    let cubin = folder.join(format!("{}.cubin", form.index));
    if !cubin.exists() {
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let source = scratch.path().join("k.ptx");
        std::fs::write(&source, ptx).map_err(|error| error.to_string())?;
        let level = format!("-O{}", args.opt_level);
        let done = Command::new(tool).args([&level, "-arch", target]).arg(&source).arg("-o").arg(&cubin).output();
        let done = done.map_err(|error| error.to_string())?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned());
        }
    }
    std::fs::read(&cubin).map_err(|error| error.to_string())
}

fn simulate(cubin: &[u8], strict: bool, launch: &Launch, memory: &mut Memory) -> Result<(), String> {
    let cubin = Cubin::parse(cubin).map_err(|error| error.to_string())?;
    let options = Options { strict, max_instructions: MAX_INSTRUCTIONS, threads: 1, ..Options::default() };
    let simulator = Simulator::new(&cubin, options).map_err(|error| error.to_string())?;
    simulator.launch("k", launch, memory).map(drop).map_err(|error| error.to_string())
}

fn interpret(ptx: &str, launch: &Launch, memory: &mut Memory) -> Result<(), String> {
    let module = oriole_ptx::load(ptx).map_err(|errors| format!("{} errors in the PTX", errors.len()))?;
    let options = oriole_interp::Options { max_instructions: MAX_INSTRUCTIONS, ..Default::default() };
    let interpreter = oriole_interp::Interpreter::new(&module, options).map_err(|error| error.to_string())?;
    interpreter.launch("k", launch, memory).map(drop).map_err(|error| error.to_string())
}

/// The output of one block.
fn launch(
    form: &Form,
    input: &[u8],
    run: impl Fn(&Launch, &mut Memory) -> Result<(), String>,
) -> Result<Vec<u8>, String> {
    let mut memory = Memory::new();
    let from = memory.allocate_with("in", input);
    let size = form.out_bytes * u64::from(form.threads);
    let to = memory.allocate("out", size);
    let params = [from, to].into_iter().flat_map(u64::to_le_bytes).collect();
    run(&Launch { block: [form.threads, 1, 1], params, ..Launch::default() }, &mut memory)?;
    memory.read(to, size).ok_or_else(|| "the output is not there".to_owned())
}

/// Words that floating-point and integer operations treat in a special way.
const SPECIAL: [u32; 17] = [
    0,
    1,
    2,
    31,
    32,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x0000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x3c00_3c00,
];

/// Random words, with a share of small integers and of special patterns, as `conformance.py` has them. A form's
/// input depends on the seed and its place in the corpus alone.
fn input(form: &Form, seed: u64) -> Vec<u8> {
    let mut random = Rng::with_seed(seed ^ (form.index as u64) << 20);
    let words = (form.in_bytes.max(4) * u64::from(form.threads)).div_ceil(4);
    let word = |random: &mut Rng| match random.u8(0..20) {
        0..3 => SPECIAL[random.usize(0..SPECIAL.len())],
        3..6 => random.u32(0..256),
        6..9 => 0x3f80_0000 + random.u32(0..0x0100_0000),
        _ => random.u32(..),
    };
    let mut bytes: Vec<u8> = (0..words).flat_map(|_| word(&mut random).to_le_bytes()).collect();
    // Division by zero is unspecified: no zero halfword anywhere.
    if form.id.starts_with("div.") || form.id.starts_with("rem.") {
        bytes.chunks_exact_mut(2).filter(|half| *half == [0, 0]).for_each(|half| half[0] = 3);
    }
    bytes
}
