//! `oriole run --engine ptx`: the PTX interpreter.

use super::args::RunArgs;
use super::failure::{Failure, rejected, stopped, usage};
use super::launch::{Finished, check_types, finish, global_setting, launch_of, say_what_runs};
use oriole_device::argument::{self, Argument};
use oriole_device::{Memory, SourceLine};
use oriole_interp::{Interpreter, Options, RunError};
use oriole_ptx::diag::SourceMap;

/// Read and check the PTX, run the kernel, write its buffers.
pub(crate) fn run(args: &RunArgs, bytes: Vec<u8>, arguments: &[Argument]) -> Result<(), Failure> {
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::file(&args.input, "--engine ptx needs PTX, which is text; this is something else"))?;
    let module = oriole_ptx::load(&text).map_err(|errors| {
        let name = args.input.display().to_string();
        Failure::Rejected(SourceMap::new(&name, &text).render_all(&errors))
    })?;
    let reject =
        |error| Failure::Rejected(SourceMap::new(&args.input.display().to_string(), &text).render_all(&[error]));
    args.arch.as_deref().map_or(Ok(()), |arch| oriole_ptx::check_target(&module, arch)).map_err(reject)?;
    check_types(args, &oriole_codegen::parameter_types(&module))?;
    let max_instructions = args.max_instructions.unwrap_or(Options::default().max_instructions);
    let options = Options { max_instructions, timeout: args.timeout };
    let mut interpreter = Interpreter::new(&module, options).map_err(|e| Failure::file(&args.input, e))?;
    let mut memory = Memory::new();
    for setting in &args.global {
        let (name, bytes) = global_setting(setting)?;
        interpreter.set_variable(name, &bytes, &mut memory).map_err(rejected)?;
    }
    let slots = interpreter.parameters(&args.entry).map_err(|error| failure(error, args, &text))?;
    let bound = argument::bind(arguments, &slots, &mut memory).map_err(usage)?;
    say_what_runs(args);
    let result = interpreter.launch(&args.entry, &launch_of(args, &bound), &mut memory);
    let report = result.map_err(|error| failure(error, args, &text))?;
    let statistics = serde_json::json!({
        "warp_instructions": report.warp_instructions,
        "thread_instructions": report.thread_instructions,
    });
    finish(args, Finished { printed: &report.printed, bound: &bound, memory: &memory, statistics })
}

fn failure(error: RunError, args: &RunArgs, text: &str) -> Failure {
    match error {
        RunError::Fault(mut fault) => {
            if !fault.place.instruction.is_empty() {
                let file = args.input.display().to_string();
                // Spans are 32-bit, so offsets and lines are.
                let (line, _) = SourceMap::new(&file, text).line_column(fault.place.pc as u32);
                fault.place.source = Some(SourceLine { file, line: line as u32 });
            }
            stopped(&fault)
        }
        RunError::NoKernel { .. } => rejected(error),
        RunError::Launch(error) => usage(error),
    }
}
