//! Who runs the kernels: the interpreter, our code, ptxas's code.

use crate::kernel::{Kernel, Prepared};
use crate::parse::version_of;
use crate::table::VERSION;
use oriole_codegen::CompileOptions;
use oriole_cubin::{Cubin, Target};
use oriole_interp::Interpreter;
use oriole_sim::{Options, Simulator};
use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Instructions of a warp after which a kernel counts as running for ever.
const MAX_INSTRUCTIONS: u64 = 10_000_000;

/// One way to run PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The PTX interpreter.
    Interpreter,
    /// Our code of that level on the strict simulator.
    Oriole(u8),
    /// ptxas's code of that level on the simulator.
    Ptxas(PathBuf, u8),
}

impl Display for Engine {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Engine::Interpreter => f.write_str("interpreter"),
            Engine::Oriole(level) => write!(f, "-O{level}"),
            Engine::Ptxas(_, level) => write!(f, "ptxas -O{level}"),
        }
    }
}

/// What each kernel wrote, or why it stopped.
pub type Outputs = Vec<Result<Vec<u8>, String>>;

/// The version of PTX for code of a version on a target, which may be newer.
#[must_use]
pub fn version_for(version: (u32, u32), target: Target) -> (u32, u32) {
    /// That of the first PTX with sm_107.
    const RUBIN: (u32, u32) = (9, 4);
    if target.sm == 107 { version.max(RUBIN) } else { version }
}

/// The directives that open a module; `mode` stands behind the target.
#[must_use]
pub fn header(version: (u32, u32), target: Target, mode: Option<&str>) -> String {
    let (major, minor) = version_for(version, target);
    let mode = mode.map_or_else(String::new, |mode| format!(", {mode}"));
    format!(".version {major}.{minor}\n.target {target}{mode}\n.address_size 64\n")
}

/// The newest version of PTX that a ptxas reads, by what it lists.
#[must_use]
pub fn newest_version(ptxas: &Path) -> Option<(u32, u32)> {
    let listed = Command::new(ptxas).arg("--list-version").output().ok()?;
    String::from_utf8_lossy(&listed.stdout).lines().filter_map(|line| version_of(line.trim())).max()
}

/// Launches each kernel of a module.
///
/// # Errors
/// The module is not compiled or loaded; why.
pub fn run(engine: &Engine, target: Target, kernels: &[&Kernel]) -> Result<Outputs, String> {
    match engine {
        Engine::Interpreter => {
            let text = text(target, kernels);
            let module = oriole_ptx::load(&text).map_err(|errors| said(&text, &errors))?;
            let options = oriole_interp::Options { max_instructions: MAX_INSTRUCTIONS, ..Default::default() };
            let mut interpreter = Interpreter::new(&module, options).map_err(|error| error.to_string())?;
            Ok(outputs(kernels, |name, prepared| {
                interpreter.set_objects(std::mem::take(&mut prepared.objects));
                let slots = interpreter.parameters(name).map_err(|error| error.to_string())?;
                let (launch, memory) = prepared.with_parameters(&slots)?;
                interpreter.launch(name, launch, memory).map(drop).map_err(|error| error.to_string())
            }))
        }
        Engine::Oriole(_) => simulated(&cubin(engine, target, kernels)?, true, kernels),
        Engine::Ptxas(..) => simulated(&cubin(engine, target, kernels)?, false, kernels),
    }
}

/// The PTX of a module.
fn text(target: Target, kernels: &[&Kernel]) -> String {
    let version = kernels.iter().map(|kernel| kernel.version).max().unwrap_or(VERSION);
    let header = header(version, target, kernels.iter().find_map(|kernel| kernel.mode()));
    std::iter::once(header).chain(kernels.iter().map(|kernel| kernel.text.clone())).collect()
}

/// The cubin of a module, by the compiler that the engine stands for.
///
/// # Errors
/// It is not compiled, why; the interpreter has no cubin.
pub fn cubin(engine: &Engine, target: Target, kernels: &[&Kernel]) -> Result<Vec<u8>, String> {
    let text = text(target, kernels);
    match engine {
        Engine::Interpreter => Err("the interpreter has no cubin".to_owned()),
        Engine::Oriole(opt_level) => {
            let options = CompileOptions { target: Some(target), opt_level: *opt_level, ..CompileOptions::default() };
            oriole_codegen::compile(&text, &options).map(|done| done.cubin).map_err(|error| error.to_string())
        }
        Engine::Ptxas(tool, level) => assemble(tool, &text, target, *level),
    }
}

/// The first error of a text, with its line.
fn said(text: &str, errors: &[oriole_ptx::diag::Diagnostic]) -> String {
    errors.first().map_or_else(String::new, |error| {
        let line = text[..error.span.start as usize].rsplit('\n').next().unwrap_or_default();
        let rest = text[error.span.start as usize..].lines().next().unwrap_or_default();
        format!("{}: {line}{rest}", error.message)
    })
}

fn simulated(cubin: &[u8], strict: bool, kernels: &[&Kernel]) -> Result<Outputs, String> {
    let cubin = Cubin::parse(cubin).map_err(|error| error.to_string())?;
    let options = Options { strict, max_instructions: MAX_INSTRUCTIONS, threads: 1, ..Options::default() };
    let mut simulator = Simulator::new(&cubin, options).map_err(|error| error.to_string())?;
    Ok(outputs(kernels, |name, prepared| {
        simulator.set_objects(std::mem::take(&mut prepared.objects));
        let slots = simulator.parameters(name).map_err(|error| error.to_string())?;
        let (launch, memory) = prepared.with_parameters(&slots)?;
        simulator.launch(name, launch, memory).map(drop).map_err(|error| error.to_string())
    }))
}

fn outputs(kernels: &[&Kernel], mut run: impl FnMut(&str, &mut Prepared) -> Result<(), String>) -> Outputs {
    let output = |kernel: &&Kernel| {
        let mut prepared = kernel.launch()?;
        run(&kernel.name, &mut prepared)?;
        prepared.memory.read(prepared.out, kernel.output()).ok_or_else(|| "the output is not there".to_owned())
    };
    kernels.iter().map(output).collect()
}

/// ptxas's cubin of a module.
fn assemble(tool: &Path, ptx: &str, target: Target, level: u8) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&source, ptx).map_err(|error| error.to_string())?;
    let mut command = Command::new(tool);
    command.arg("-arch").arg(target.to_string()).arg(format!("-O{level}")).arg(&source).arg("-o").arg(&cubin);
    let done = command.output().map_err(|error| format!("{}: {error}", tool.display()))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        let first = said.lines().next().unwrap_or_default();
        return Err(format!("ptxas: {}", first.rsplit_once("k.ptx, ").map_or(first, |(_, why)| why)));
    }
    std::fs::read(&cubin).map_err(|error| error.to_string())
}
