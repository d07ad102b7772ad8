//! The ways from LLVM IR to code that runs, and what it writes.

use oriole_cubin::{Cubin, Target};
use oriole_device::{Launch, Memory};
use oriole_interp::Interpreter;
use oriole_ireval::generate::Program;
use oriole_nvptx::driver::{self, Options};
use oriole_nvptx::ir::Module;
use oriole_sim::Simulator;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;

/// Instructions that a thread may execute before it counts as running for ever.
const MAX_INSTRUCTIONS: u64 = 20_000_000;

/// A way from LLVM IR to code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Route {
    /// Ours, as the IR is.
    #[value(name = "O0")]
    Plain,
    /// Ours, simplified.
    #[value(name = "O1")]
    Simplified,
    /// Ours, with what `-O2` does.
    #[value(name = "O2")]
    Optimised,
    /// Ours with all passes.
    #[value(name = "O3")]
    Full,
    /// Ours with all passes, down to a cubin, on the strict simulator.
    Cubin,
    /// Our PTX of all passes, ptxas's cubin of it, on the simulator.
    Ptxas,
    /// LLVM 19's llc.
    Llc,
    /// LLVM 19's opt -O2, then llc.
    OptLlc,
}

impl Route {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Route::Plain => "O0",
            Route::Simplified => "O1",
            Route::Optimised => "O2",
            Route::Full => "O3",
            Route::Cubin => "cubin",
            Route::Ptxas => "ptxas",
            Route::Llc => "llc",
            Route::OptLlc => "opt-llc",
        }
    }

    /// LLVM, not ours.
    pub(crate) fn is_llvm(self) -> bool {
        self.level().is_none()
    }

    /// Our `-O` level.
    fn level(self) -> Option<u8> {
        match self {
            Route::Plain => Some(0),
            Route::Simplified => Some(1),
            Route::Optimised => Some(2),
            Route::Full | Route::Cubin | Route::Ptxas => Some(3),
            Route::Llc | Route::OptLlc => None,
        }
    }

    /// What each program writes, or why it does not.
    pub(crate) fn run(self, programs: &[&Program], arch: &str) -> Vec<Result<Vec<u8>, String>> {
        let made = guarded(|| match self {
            Route::Cubin | Route::Ptxas => self.simulated(programs, arch),
            _ => self.interpreted(programs, arch),
        });
        match made {
            Ok(outputs) => outputs,
            Err(message) if programs.len() == 1 => vec![Err(message)],
            // One program spoils all: each by itself tells which.
            Err(_) => programs.iter().flat_map(|program| self.run(&[program], arch)).collect(),
        }
    }

    fn interpreted(self, programs: &[&Program], arch: &str) -> Result<Vec<Result<Vec<u8>, String>>, String> {
        let module = match self.level() {
            Some(level) => compile(&together(programs), level, arch)?,
            None => oriole_ptx::load(&self.ptx(programs, arch)?)
                .map_err(|errors| format!("{} errors in the PTX", errors.len()))?,
        };
        let options = oriole_interp::Options { max_instructions: MAX_INSTRUCTIONS, ..Default::default() };
        let interpreter = Interpreter::new(&module, options).map_err(|error| error.to_string())?;
        let run = |name: &str, launch: &Launch, memory: &mut Memory| {
            interpreter.launch(name, launch, memory).map(drop).map_err(|error| error.to_string())
        };
        Ok(programs.iter().enumerate().map(|(at, program)| launched(at, program, run)).collect())
    }

    fn simulated(self, programs: &[&Program], arch: &str) -> Result<Vec<Result<Vec<u8>, String>>, String> {
        let ptx = self.ptx(programs, arch)?;
        let cubin = match self {
            Route::Ptxas => assemble(&ptx, arch)?,
            _ => {
                let options = oriole_codegen::CompileOptions { target: Target::from_name(arch), ..Default::default() };
                oriole_codegen::compile(&ptx, &options).map_err(|error| error.to_string())?.cubin
            }
        };
        let cubin = Cubin::parse(&cubin).map_err(|error| error.to_string())?;
        let strict = self == Route::Cubin;
        let options =
            oriole_sim::Options { strict, max_instructions: MAX_INSTRUCTIONS, threads: 1, ..Default::default() };
        let simulator = Simulator::new(&cubin, options).map_err(|error| error.to_string())?;
        let run = |name: &str, launch: &Launch, memory: &mut Memory| {
            simulator.launch(name, launch, memory).map(drop).map_err(|error| error.to_string())
        };
        Ok(programs.iter().enumerate().map(|(at, program)| launched(at, program, run)).collect())
    }

    /// The PTX of a module that holds all programs: the kernel of program `n` is `p<n>_k`.
    pub(crate) fn ptx(self, programs: &[&Program], arch: &str) -> Result<String, String> {
        let text = together(programs);
        if let Some(level) = self.level() {
            return Ok(oriole_ptx::print(&compile(&text, level, arch)?));
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (source, clean, ptx) =
            (folder.path().join("k.ll"), folder.path().join("o.ll"), folder.path().join("k.ptx"));
        std::fs::write(&source, text).map_err(|error| error.to_string())?;
        let cpu = format!("-mcpu={arch}");
        let input = match self {
            Route::OptLlc => {
                call("opt-19", &["-O2".as_ref(), cpu.as_ref(), "-S".as_ref(), &source, "-o".as_ref(), &clean])?;
                &clean
            }
            _ => &source,
        };
        let options = ["-march=nvptx64", &cpu, "-mattr=+ptx83", "-O2", "-nvptx-fma-level=0"].map(Path::new);
        call("llc-19", &[&options[..], &[input, Path::new("-o"), &ptx]].concat())?;
        std::fs::read_to_string(&ptx).map_err(|error| error.to_string())
    }
}

/// Our compiler. Nothing is fused that the IR does not fuse.
fn compile(text: &str, level: u8, arch: &str) -> Result<oriole_ptx::ast::Module, String> {
    let module = oriole_nvptx::text::parse(text, "k.ll").map_err(|error| error.render(text))?;
    let options = Options { level, arch: arch.to_owned(), ..Options::default() };
    driver::compile(module, &[], &options).map(|output| output.module).map_err(|error| error.to_string())
}

/// Runs a program; the first line of its complaints if it fails.
fn call(name: &str, args: &[&Path]) -> Result<(), String> {
    let done = Command::new(name).args(args).output().map_err(|error| format!("{name}: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    let line =
        text.lines().find(|line| line.contains("error") || line.contains("Assertion")).or_else(|| text.lines().next());
    Err(format!("{name}: {}", line.unwrap_or("no message")))
}

/// The text of a module, as LLVM 19 reads it.
pub(crate) fn text(module: &Module) -> String {
    oriole_nvptx::text::print_for(module, 19)
}

/// One module of all programs, with a prefix for the names of each.
fn together(programs: &[&Program]) -> String {
    let mut all = String::new();
    let mut once = BTreeSet::new();
    for (at, program) in programs.iter().enumerate() {
        for line in text(&program.module).lines() {
            let shared =
                line.starts_with("declare") || line.starts_with("target") || line.starts_with("source_filename");
            if shared && !once.insert(line.to_owned()) {
                continue;
            }
            let own = renamed(line, at);
            // Writing to a string does not fail.
            let _ = writeln!(all, "{own}");
        }
    }
    all
}

/// A line with `@k`, `@f1` and `@table1` as names of program `at`.
fn renamed(line: &str, at: usize) -> String {
    let mut parts = line.split('@');
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != '.')
            .unwrap_or(part.len());
        let name = part[..end].trim_end_matches(|letter: char| letter.is_ascii_digit());
        let _ = match name {
            "k" | "f" | "table" => write!(result, "@p{at}_{part}"),
            _ => write!(result, "@{part}"),
        };
    }
    result
}

/// ptxas's cubin; the folder of ptxas is named by `ORIOLE_ORACLE`.
fn assemble(ptx: &str, arch: &str) -> Result<Vec<u8>, String> {
    let tool = std::env::var_os("ORIOLE_ORACLE").ok_or("ORIOLE_ORACLE does not say where ptxas is")?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&source, ptx).map_err(|error| error.to_string())?;
    let mut command = Command::new(Path::new(&tool).join("ptxas"));
    let done = command.arg("-arch").arg(arch).arg(&source).arg("-o").arg(&cubin).output();
    let done = done.map_err(|error| format!("ptxas: {error}"))?;
    if !done.status.success() {
        return Err(format!("ptxas: {}", String::from_utf8_lossy(&done.stderr).trim()));
    }
    std::fs::read(&cubin).map_err(|error| error.to_string())
}

/// Launches a program and reads what it has written.
fn launched(
    at: usize,
    program: &Program,
    run: impl Fn(&str, &Launch, &mut Memory) -> Result<(), String>,
) -> Result<Vec<u8>, String> {
    guarded(|| {
        let mut memory = Memory::new();
        let input = memory.allocate_with("input", &program.input);
        let size = program.output_bytes() as u64;
        let output = memory.allocate("output", size);
        let params = [input, output, program.uniform].into_iter().flat_map(u64::to_le_bytes).collect();
        let launch = Launch { grid: [1; 3], block: [program.threads, 1, 1], params, ..Launch::default() };
        run(&format!("p{at}_k"), &launch, &mut memory)?;
        memory.read(output, size).ok_or_else(|| "the output is not there".to_owned())
    })
}

/// Runs `work`, and answers a panic with its message.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        Err(format!("panic: {}", text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")))
    })
}
