//! `oriole run --engine ptx`: the PTX interpreter.

use super::arch::parse_arch;
use super::failure::{Failure, rejected, usage};
use super::launch::{Ended, Given, Launched, bind_objects, check_types, launch_of, wrong_argument};
use super::run_args::RunArgs;
use super::{bounds, files, ptx};
use oriole_device::argument;
use oriole_device::{Fault, Memory, SourceLine};
use oriole_interp::{Interpreter, Options, RunError};
use oriole_ptx::ast::Module;
use oriole_ptx::diag::SourceMap;
use oriole_sim::CheckReport;

/// PTX that can be interpreted.
pub(crate) struct Source {
    text: String,
    module: Module,
}

impl Source {
    /// Read and check it.
    pub(crate) fn new(args: &RunArgs, bytes: Vec<u8>) -> Result<Source, Failure> {
        if bytes.starts_with(files::ELF_MAGIC) {
            return Err(Failure::file(&args.input, "--engine ptx needs PTX; this is a cubin"));
        }
        args.arch.as_deref().map(parse_arch).transpose()?;
        let text = ptx::text(&args.input, &bytes)?.to_owned();
        let mut module = oriole_ptx::load(&text).map_err(|errors| {
            let name = args.input.display().to_string();
            Failure::Rejected(SourceMap::new(&name, &text).render_all(&errors))
        })?;
        ptx::warn_of_version(&args.input, &module);
        let reject =
            |error| Failure::Rejected(SourceMap::new(&args.input.display().to_string(), &text).render_all(&[error]));
        args.arch.as_deref().map_or(Ok(()), |arch| oriole_ptx::check_target(&module, arch)).map_err(reject)?;
        // What depends on the target is as it would be there.
        if let (Some(arch), Some(target)) = (&args.arch, module.target.first_mut()) {
            arch.clone_into(target);
        }
        Ok(Source { text, module })
    }
}

/// Run the kernel.
pub(crate) fn run(args: &RunArgs, source: &Source, given: &Given) -> Result<Launched, Failure> {
    let module = &source.module;
    check_types(args, &oriole_codegen::parameter_types(module))?;
    let max_instructions = args.max_instructions.unwrap_or(Options::default().max_instructions);
    let options = Options { max_instructions, timeout: bounds::timeout(args.timeout)? };
    let mut interpreter = Interpreter::new(module, options).map_err(|e| Failure::file(&args.input, e))?;
    let mut memory = Memory::with_limit(bounds::memory(args.memory)?);
    for (name, bytes) in &given.globals {
        interpreter.set_variable(name, bytes, &mut memory).map_err(rejected)?;
    }
    let slots = interpreter.parameters(&args.entry).map_err(|error| Failure::file(&args.input, error))?;
    let mut bound = argument::bind(&given.arguments, &slots, &mut memory).map_err(wrong_argument)?;
    bind_objects(args, &mut bound, &mut memory)?;
    interpreter.set_objects(std::mem::take(&mut bound.objects));
    let end = match interpreter.launch(&args.entry, &launch_of(args, &bound), &mut memory) {
        Ok(report) => Ok(Ended {
            warp_instructions: report.warp_instructions,
            statistics: serde_json::json!({
                "warp_instructions": report.warp_instructions,
                "thread_instructions": report.thread_instructions,
            }),
            printed: report.printed,
            timing: None,
        }),
        Err(RunError::Fault(fault)) => Err(with_line(fault, args, &source.text)),
        Err(error @ RunError::NoKernel { .. }) => return Err(rejected(error)),
        Err(RunError::Launch(error)) => return Err(usage(error)),
        Err(RunError::Memory(shortage)) => return Err(Failure::Fault(format!("error: {shortage}"))),
    };
    let target = args.arch.clone().or(module.target.first().cloned()).unwrap_or_default();
    Ok(Launched { bound, memory, found: CheckReport::default(), target, end })
}

/// Name the line of the instruction at fault.
fn with_line(mut fault: Box<Fault>, args: &RunArgs, text: &str) -> Box<Fault> {
    if !fault.place.instruction.is_empty() {
        let file = args.input.display().to_string();
        // Spans are 32-bit, so offsets and lines are.
        let (line, _) = SourceMap::new(&file, text).line_column(fault.place.pc as u32);
        fault.place.source = Some(SourceLine { file, line: line as u32 });
    }
    fault
}
