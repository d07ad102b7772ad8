//! The sides that have to agree: the PTX interpreter, our code on the strict simulator, ptxas's code on
//! the simulator.

use super::buffers::Argument;
use crate::nvdisasm::Nvdisasm;
use crate::temporary;
use oriole_codegen::{CompileError, CompileOptions, FastCompile, compile};
use oriole_cubin::{Cubin, Target};
use oriole_device::{Launch, Memory};
use oriole_sim::{Options, Simulator};
use std::fmt::{Display, Formatter, Result as Formatted};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Instructions that a warp (or thread) may execute before it counts as running for ever; the programs
/// need far fewer.
const MAX_INSTRUCTIONS: u64 = 20_000_000;

/// What a side makes of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// What was written: the compared arguments, one behind the other.
    Output(
        /// The bytes.
        Vec<u8>,
    ),
    /// It was not compiled or loaded, or stopped; why.
    Failed(
        /// The message.
        String,
    ),
    /// It panicked.
    Panicked(
        /// The message, if the panic had one.
        String,
    ),
}

/// Who executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Arithmetic on the host, by the program's generator.
    Host,
    /// The PTX interpreter.
    Interpreter,
    /// Oriole's code on the strict simulator, after `oriole check` of the cubin.
    Oriole(Build),
    /// ptxas's code of that `-O` level on the simulator.
    Ptxas(u8),
}

/// How our compiler is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Build {
    /// `-O` level.
    pub opt_level: u8,
    /// What is left out of the level for the sake of time.
    pub fast_compile: FastCompile,
    /// Bound of registers.
    pub maxrregcount: Option<u32>,
    /// An optional phase that does not run.
    pub without: Option<&'static str>,
}

impl Side {
    /// Our code of that level.
    pub const fn level(opt_level: u8) -> Side {
        Side::Oriole(Build { opt_level, fast_compile: FastCompile::Off, maxrregcount: None, without: None })
    }
}

impl Display for Side {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        match self {
            Side::Host => f.write_str("host"),
            Side::Interpreter => f.write_str("interpreter"),
            Side::Ptxas(level) => write!(f, "ptxas-O{level}"),
            Side::Oriole(Build { opt_level, fast_compile, maxrregcount, without }) => {
                write!(f, "oriole-O{opt_level}")?;
                match fast_compile {
                    FastCompile::Off => {}
                    some => write!(f, "-fast-compile={}", format!("{some:?}").to_lowercase())?,
                }
                maxrregcount.map_or(Ok(()), |count| write!(f, "-maxrregcount={count}"))?;
                without.map_or(Ok(()), |phase| write!(f, "-without-{phase}"))
            }
        }
    }
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Name of the kernel.
    pub kernel: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The arguments.
    pub arguments: Vec<Argument>,
}

impl Default for Plan {
    fn default() -> Self {
        Plan { kernel: String::new(), grid: [1; 3], block: [1; 3], cluster: [1; 3], shared: 0, arguments: Vec::new() }
    }
}

/// Programs of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tools {
    /// ptxas.
    pub ptxas: Option<PathBuf>,
    /// nvdisasm, which reads what our compiler makes.
    pub nvdisasm: Option<Nvdisasm>,
}

/// What `side` makes of each launch of a module.
pub(super) fn run(side: Side, ptx: &str, target: Target, plans: &[Plan], tools: &Tools) -> Vec<Outcome> {
    let all = |outcome: Outcome| vec![outcome; plans.len()];
    match guarded(|| load(side, ptx, target, tools)) {
        Ok(Ok(engine)) => engine.outcomes(plans),
        Ok(Err(reason)) => all(Outcome::Failed(reason)),
        Err(panic) => all(Outcome::Panicked(panic)),
    }
}

fn load(side: Side, ptx: &str, target: Target, tools: &Tools) -> Result<Engine, String> {
    match side {
        Side::Host => Err("the host knows what a generator worked out, not a module".to_owned()),
        Side::Interpreter => interpreter(ptx),
        Side::Oriole(Build { opt_level, fast_compile, maxrregcount, without }) => {
            let options = CompileOptions {
                target: Some(target),
                opt_level,
                fast_compile,
                maxrregcount,
                // Where registers are few most is moved about.
                verify: maxrregcount.is_some() || cfg!(debug_assertions),
                knobs: vec!["published-minimum=1".to_owned()],
                disabled_passes: without.into_iter().map(str::to_owned).collect(),
                ..CompileOptions::default()
            };
            let compiled = compile(ptx, &options).map_err(|error| error.to_string())?;
            let cubin = Cubin::parse(&compiled.cubin).map_err(|error| error.to_string())?;
            checked(&cubin)?;
            tools.nvdisasm.as_ref().map_or(Ok(()), |tool| tool.read(&compiled.cubin))?;
            simulator(&cubin, true)
        }
        Side::Ptxas(level) => {
            let tool = tools.ptxas.as_deref().ok_or("no ptxas was given")?;
            let cubin = assemble(tool, ptx, target, level)?;
            simulator(&Cubin::parse(&cubin).map_err(|error| error.to_string())?, false)
        }
    }
}

/// A loaded module.
enum Engine {
    Simulator(Box<Simulator>),
    Interpreter(Box<oriole_ptx::ast::Module>),
}

/// `oriole check` finds nothing.
fn checked(cubin: &Cubin) -> Result<(), String> {
    let report = oriole_check::check(cubin, &[]).map_err(|error| format!("check: {error}"))?;
    report.findings.first().map_or(Ok(()), |finding| Err(format!("check: {finding}")))
}

fn simulator(cubin: &Cubin, strict: bool) -> Result<Engine, String> {
    let options = Options { strict, max_instructions: MAX_INSTRUCTIONS, threads: 1, ..Options::default() };
    Ok(Engine::Simulator(Box::new(Simulator::new(cubin, options).map_err(|error| error.to_string())?)))
}

fn interpreter(ptx: &str) -> Result<Engine, String> {
    let module = oriole_ptx::load(ptx).map_err(|errors| CompileError::Source(errors).to_string())?;
    Ok(Engine::Interpreter(Box::new(module)))
}

/// ptxas's cubin of a module.
fn assemble(tool: &Path, ptx: &str, target: Target, level: u8) -> Result<Vec<u8>, String> {
    let folder = temporary::folder()?;
    let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&source, ptx).map_err(|error| error.to_string())?;
    let mut command = Command::new(tool);
    command.arg("-arch").arg(target.to_string()).arg(format!("-O{level}")).arg(&source).arg("-o").arg(&cubin);
    let done = command.output().map_err(|error| format!("{}: {error}", tool.display()))?;
    if !done.status.success() {
        return Err(format!("ptxas: {}", String::from_utf8_lossy(&done.stderr).trim()));
    }
    std::fs::read(&cubin).map_err(|error| error.to_string())
}

impl Engine {
    fn outcomes(&self, plans: &[Plan]) -> Vec<Outcome> {
        match self {
            Engine::Simulator(simulator) => {
                let launch = |kernel: &str, launch: &Launch, memory: &mut Memory| {
                    simulator.launch(kernel, launch, memory).map(drop).map_err(|error| error.to_string())
                };
                plans.iter().map(|plan| outcome(plan, launch)).collect()
            }
            Engine::Interpreter(module) => {
                let options = oriole_interp::Options { max_instructions: MAX_INSTRUCTIONS, ..Default::default() };
                let interpreter = match guarded(|| oriole_interp::Interpreter::new(module, options)) {
                    Ok(Ok(interpreter)) => interpreter,
                    Ok(Err(error)) => return vec![Outcome::Failed(error.to_string()); plans.len()],
                    Err(panic) => return vec![Outcome::Panicked(panic); plans.len()],
                };
                let launch = |kernel: &str, launch: &Launch, memory: &mut Memory| {
                    interpreter.launch(kernel, launch, memory).map(drop).map_err(|error| error.to_string())
                };
                plans.iter().map(|plan| outcome(plan, launch)).collect()
            }
        }
    }
}

/// Launches a program and reads what it wrote.
fn outcome(plan: &Plan, run: impl Fn(&str, &Launch, &mut Memory) -> Result<(), String>) -> Outcome {
    let launched = || {
        let mut memory = Memory::new();
        let mut params = Vec::new();
        let mut compared = Vec::new();
        for (number, argument) in plan.arguments.iter().enumerate() {
            let name = format!("argument {number}");
            let (bits, bytes) = match argument {
                Argument::Value(element, bits) => (*bits, element.bytes()),
                Argument::Out(bytes) => (memory.allocate(&name, *bytes as u64), 8),
                Argument::In(buffer) | Argument::InOut(buffer) => (memory.allocate_with(&name, &buffer.bytes()), 8),
            };
            compared.push((bits, argument.compared() as u64));
            // Parameters stand at multiples of their size.
            params.resize(params.len().next_multiple_of(bytes), 0);
            params.extend_from_slice(&bits.to_le_bytes()[..bytes]);
        }
        let launch =
            Launch { grid: plan.grid, block: plan.block, cluster: plan.cluster, shared_bytes: plan.shared, params };
        run(&plan.kernel, &launch, &mut memory)?;
        let written = compared.into_iter().filter(|(_, bytes)| *bytes > 0);
        let read = |(base, bytes)| memory.read(base, bytes).ok_or_else(|| "the output is not there".to_owned());
        Ok(written.map(read).collect::<Result<Vec<_>, String>>()?.concat())
    };
    match guarded(launched) {
        Ok(Ok(output)) => Outcome::Output(output),
        Ok(Err(reason)) => Outcome::Failed(reason),
        Err(panic) => Outcome::Panicked(panic),
    }
}

/// Runs `work`, and answers a panic with its message.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
    })
}
