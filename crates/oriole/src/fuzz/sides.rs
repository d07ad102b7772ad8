//! The sides that have to agree: the PTX interpreter, our code on the strict simulator, ptxas's code on
//! the simulator.

use super::print;
use super::program::Program;
use crate::{CompileOptions, compile};
use oriole_cubin::Cubin;
use oriole_cubin::Target;
use oriole_device::{Launch, Memory};
use oriole_sim::{Options, Simulator};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Instructions that a warp (or thread) may execute before it counts as running for ever; generated
/// programs need far fewer.
const MAX_INSTRUCTIONS: u64 = 20_000_000;

/// What a side makes of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The output buffer.
    Output(
        /// Its bytes.
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
    /// The PTX interpreter.
    Interpreter,
    /// Oriole's code on the simulator.
    Oriole,
    /// ptxas's code on the simulator.
    Ptxas,
}

impl Side {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Side::Interpreter => "interpreter",
            Side::Oriole => "oriole",
            Side::Ptxas => "ptxas",
        }
    }
}

/// How programs are executed.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    /// The target.
    pub(crate) target: Target,
    /// Our `-O` level.
    pub(crate) opt_level: u8,
    /// ptxas, if it takes part.
    pub(crate) ptxas: Option<PathBuf>,
    /// The sides that run.
    pub(crate) sides: Vec<Side>,
}

impl Bench {
    /// What each side makes of each program; the programs are compiled as one module.
    pub(crate) fn run(&self, programs: &[Program]) -> Vec<Vec<(Side, Outcome)>> {
        let ptx = print::module(programs, &self.target.to_string());
        let mut outcomes = vec![Vec::new(); programs.len()];
        for &side in &self.sides {
            let of_side = self.run_side(side, programs, &ptx);
            outcomes.iter_mut().zip(of_side).for_each(|(all, outcome)| all.push((side, outcome)));
        }
        outcomes
    }

    fn run_side(&self, side: Side, programs: &[Program], ptx: &str) -> Vec<Outcome> {
        let module = guarded(|| self.load(side, ptx));
        match module {
            Ok(Ok(module)) => module.outcomes(programs),
            // One program spoils the module for all: each by itself tells which.
            _ if programs.len() > 1 => {
                let one = |program: &Program| {
                    let alone = std::slice::from_ref(program);
                    self.run_side(side, alone, &print::module(alone, &self.target.to_string())).remove(0)
                };
                programs.iter().map(one).collect()
            }
            Ok(Err(reason)) => vec![Outcome::Failed(reason); programs.len()],
            Err(panic) => vec![Outcome::Panicked(panic); programs.len()],
        }
    }

    fn load(&self, side: Side, ptx: &str) -> Result<Engine, String> {
        match side {
            Side::Interpreter => interpreter(ptx),
            Side::Oriole => {
                let options = CompileOptions {
                    target: Some(self.target),
                    opt_level: self.opt_level,
                    ..CompileOptions::default()
                };
                let compiled = compile(ptx, &options).map_err(|error| error.to_string())?;
                simulator(&compiled.cubin, true)
            }
            Side::Ptxas => {
                let tool = self.ptxas.as_deref().ok_or("no ptxas was given")?;
                simulator(&assemble(tool, ptx, self.target)?, false)
            }
        }
    }
}

/// A loaded module.
enum Engine {
    Simulator(Box<Simulator>),
    Interpreter(Box<oriole_ptx::ast::Module>),
}

fn simulator(cubin: &[u8], strict: bool) -> Result<Engine, String> {
    let cubin = Cubin::parse(cubin).map_err(|error| error.to_string())?;
    let options = Options { strict, max_instructions: MAX_INSTRUCTIONS, threads: 1, ..Options::default() };
    Ok(Engine::Simulator(Box::new(Simulator::new(&cubin, options).map_err(|error| error.to_string())?)))
}

fn interpreter(ptx: &str) -> Result<Engine, String> {
    let module = oriole_ptx::load(ptx).map_err(|errors| format!("{} errors in the PTX", errors.len()))?;
    Ok(Engine::Interpreter(Box::new(module)))
}

/// ptxas's cubin of a module.
fn assemble(tool: &Path, ptx: &str, target: Target) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&source, ptx).map_err(|error| error.to_string())?;
    let done = Command::new(tool).arg("-arch").arg(target.to_string()).arg(&source).arg("-o").arg(&cubin).output();
    let done = done.map_err(|error| format!("{}: {error}", tool.display()))?;
    if !done.status.success() {
        return Err(format!("ptxas: {}", String::from_utf8_lossy(&done.stderr).trim()));
    }
    std::fs::read(&cubin).map_err(|error| error.to_string())
}

impl Engine {
    fn outcomes(&self, programs: &[Program]) -> Vec<Outcome> {
        match self {
            Engine::Simulator(simulator) => {
                let launch = |program: &Program, launch: &Launch, memory: &mut Memory| {
                    simulator.launch(&program.name, launch, memory).map(drop).map_err(|error| error.to_string())
                };
                programs.iter().map(|program| outcome(program, launch)).collect()
            }
            Engine::Interpreter(module) => {
                let options = oriole_interp::Options { max_instructions: MAX_INSTRUCTIONS };
                let interpreter = match guarded(|| oriole_interp::Interpreter::new(module, options)) {
                    Ok(Ok(interpreter)) => interpreter,
                    Ok(Err(error)) => return vec![Outcome::Failed(error.to_string()); programs.len()],
                    Err(panic) => return vec![Outcome::Panicked(panic); programs.len()],
                };
                let launch = |program: &Program, launch: &Launch, memory: &mut Memory| {
                    interpreter.launch(&program.name, launch, memory).map(drop).map_err(|error| error.to_string())
                };
                programs.iter().map(|program| outcome(program, launch)).collect()
            }
        }
    }
}

/// Launches a program and reads its output.
fn outcome(program: &Program, run: impl Fn(&Program, &Launch, &mut Memory) -> Result<(), String>) -> Outcome {
    let launched = || {
        let mut memory = Memory::new();
        let input: Vec<u8> = program.input.iter().flat_map(|word| word.to_le_bytes()).collect();
        let input = memory.allocate_with("input", &input);
        let size = program.output_bytes() as u64;
        let output = memory.allocate("output", size);
        let params = [input, output, program.uniform].into_iter().flat_map(u64::to_le_bytes).collect();
        let launch =
            Launch { grid: [program.blocks, 1, 1], block: [program.threads, 1, 1], params, ..Launch::default() };
        run(program, &launch, &mut memory)?;
        memory.read(output, size).ok_or_else(|| "the output is not there".to_owned())
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
