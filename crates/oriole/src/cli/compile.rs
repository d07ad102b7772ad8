//! `oriole compile`.

use super::args::{CodeArgs, CompileArgs};
use super::failure::Failure;
use super::{files, nvptx};
use oriole::{CompileError, CompileOptions, Compiled, DebugInfo, report};
use oriole_ori::dump::Statistics;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Compile a file and write the cubin.
pub(crate) fn run(args: &CompileArgs) -> Result<(), Failure> {
    let start = Instant::now();
    let outputs = [Some(&args.output), args.dump_cfg.as_ref()].into_iter().flatten();
    files::keep_apart(nvptx::inputs(&args.input, &args.code.ir), outputs.map(PathBuf::as_path))?;
    let bytes = files::read(&args.input)?;
    let mut options = options(&args.input, &args.code)?;
    options.dump_after = args.dump_after.clone();
    options.dump_all = args.dump_all.is_some();
    options.rot13 = args.rot13;
    options.relocatable = args.relocatable;
    options.debug = match (args.debug, args.lineinfo) {
        (true, _) => DebugInfo::Full,
        (false, true) => DebugInfo::Lines,
        (false, false) => DebugInfo::None,
    };
    if args.debug {
        // Every line's code stays where it is: as with ptxas.
        options.opt_level = 0;
    }
    let compiled = compile_with(&args.input, &bytes, &args.code, &options)?;
    for function in compiled.allocation.functions.values() {
        if let Some(warning) = &function.own.warning {
            eprintln!("warning: {warning}");
        }
    }
    show(args, &compiled)?;
    if args.verbose {
        eprint!("{}", report::verbose(&compiled, start.elapsed()));
    }
    if args.code.pass_limit.is_some() {
        eprintln!("{}", report::passes(&compiled.passes));
    }
    if args.time_phases {
        eprint!("{}", report::phase_times(&compiled.times));
    }
    files::write(&args.output, &compiled.cubin)
}

/// `--arch` of what compiles.
pub(crate) fn compile_target(name: &str) -> Result<oriole_cubin::Target, Failure> {
    oriole::target(name).map_err(|e| Failure::Rejected(format!("error: {e}")))
}

/// Compile PTX or LLVM IR given as bytes, with the options that `compile` and `run` share.
pub(crate) fn compile_bytes(path: &Path, bytes: &[u8], code: &CodeArgs) -> Result<Compiled, Failure> {
    compile_with(path, bytes, code, &options(path, code)?)
}

fn options(path: &Path, code: &CodeArgs) -> Result<CompileOptions, Failure> {
    Ok(CompileOptions {
        target: code.arch.as_deref().map(compile_target).transpose()?,
        opt_level: code.opt_level,
        maxrregcount: code.maxrregcount,
        entries: code.entry.clone(),
        knobs: code.knob.clone(),
        verify: code.verify || cfg!(debug_assertions),
        disabled_passes: code.disable_pass.clone(),
        pass_limit: code.pass_limit,
        file_name: path.display().to_string(),
        ..CompileOptions::default()
    })
}

fn compile_with(path: &Path, bytes: &[u8], code: &CodeArgs, options: &CompileOptions) -> Result<Compiled, Failure> {
    if nvptx::is_llvm(path, bytes) {
        let ast = nvptx::module(path, bytes, code, options)?;
        return oriole::compile_module(&ast, options).map_err(|error| failure(path, None, error));
    }
    let text = super::ptx::text(path, bytes)?;
    oriole::compile(text, options).map_err(|error| failure(path, Some(text), error))
}

/// `text` is the PTX that places in errors mean, where there is one.
fn failure(path: &Path, text: Option<&str>, error: CompileError) -> Failure {
    match (error, text) {
        (CompileError::Source(diagnostics), Some(text)) => {
            Failure::Rejected(super::ptx::render(path, text, &diagnostics))
        }
        (CompileError::Knob(error), _) => Failure::Usage(format!("error: {error}")),
        (error @ (CompileError::NoPhase { .. } | CompileError::PassLimit), _) => {
            Failure::Usage(format!("error: {error}"))
        }
        (other, _) => Failure::file(path, other),
    }
}

fn show(args: &CompileArgs, compiled: &Compiled) -> Result<(), Failure> {
    match &args.dump_all {
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(|e| Failure::file(folder, e))?;
            for dump in &compiled.dumps {
                let file = format!("{}.{}.ori", dump.function, dump.phase);
                files::write(&folder.join(file), dump.text.as_bytes())?;
            }
        }
        None => {
            let text = compiled.dumps.iter().map(|d| format!("; {} after {}\n{}\n", d.function, d.phase, d.text));
            files::write(Path::new("-"), text.collect::<String>().as_bytes())?;
        }
    }
    if let Some(path) = &args.dump_cfg {
        files::write(path, compiled.graphs.concat().as_bytes())?;
    }
    if args.stats {
        let blocks = compiled.module.functions.values().map(|f| format!("; {}\n{}\n", f.name, Statistics::count(f)));
        files::write(Path::new("-"), blocks.collect::<String>().as_bytes())?;
    }
    Ok(())
}
