//! `oriole nvptx`, and LLVM IR as the input of other commands.

use super::arch::parse_arch;
use super::args::{CodeArgs, FpContractArg, IrArgs, NvptxArgs};
use super::diagnostics::{Record, Severity};
use super::failure::Failure;
use super::{bounds, colour, files, side_by_side};
use crate::console;
use oriole_codegen::{CompileOptions, DebugInfo, Session};
use oriole_nvptx::driver::{self, Control, DumpOf, FpContract, Library, Options, Output, ReadError};
use oriole_passes::Workers;
use std::path::{Path, PathBuf};

/// The target of a module that names none.
const DEFAULT_ARCH: &str = "sm_80";

/// Compile a file and write the PTX.
pub(crate) fn run(args: &NvptxArgs) -> Result<(), Failure> {
    files::keep_apart(inputs(&args.input, &args.ir), [args.output.as_path()])?;
    args.arch.as_deref().map(parse_arch).transpose()?;
    let bytes = files::read(&args.input)?;
    let options = Options {
        ptx_version: args.ptx_version,
        level: args.opt_level,
        disabled_passes: args.disable_pass.clone(),
        max_registers: args.maxreg,
        line_info: args.lineinfo,
        dump: match args.dump_machine.as_deref() {
            None => DumpOf::Nothing,
            Some("") => DumpOf::All,
            Some(name) => DumpOf::Function(name.to_owned()),
        },
        ..options(&args.ir)
    };
    let (workers, session) = (Workers::new(side_by_side::processors()), bounds::session(None)?);
    let control = Control { workers: &workers, is_stopped: &|| session.poll().is_err() };
    let output = compile((control, &session), (&args.input, &bytes), args.arch.as_deref(), &args.ir, options)?;
    console::say_text(&output.dump);
    files::write(&args.output, oriole_ptx::print(&output.module).as_bytes())
}

/// The files that are read for a module.
pub(crate) fn inputs<'a>(input: &'a Path, ir: &'a IrArgs) -> impl Iterator<Item = &'a Path> {
    std::iter::once(input).chain(ir.link.iter().map(PathBuf::as_path))
}

/// True for LLVM bitcode, for files called `.ll`, and for text that no PTX starts with.
pub(crate) fn is_llvm(path: &Path, bytes: &[u8]) -> bool {
    if driver::is_bitcode(bytes) || path.extension().is_some_and(|extension| extension == "ll" || extension == "bc") {
        return true;
    }
    let starts = [&b"; ModuleID"[..], b"source_filename", b"target datalayout", b"target triple", b"define "];
    starts.iter().any(|start| bytes.starts_with(start))
}

/// The PTX module of LLVM IR, for a cubin.
pub(crate) fn module(
    path: &Path,
    bytes: &[u8],
    code: &CodeArgs,
    compile_options: &CompileOptions,
    session: &Session<'_>,
) -> Result<oriole_ptx::ast::Module, Failure> {
    let options = Options {
        level: compile_options.opt_level,
        max_registers: code.maxrregcount,
        line_info: compile_options.debug != DebugInfo::None,
        ..options(&code.ir)
    };
    let arch = compile_options.target.map(|target| target.to_string());
    let workers = Workers::new(compile_options.jobs);
    let control = Control { workers: &workers, is_stopped: &|| session.poll().is_err() };
    Ok(compile((control, session), (path, bytes), arch.as_deref(), &code.ir, options)?.module)
}

fn options(args: &IrArgs) -> Options {
    Options {
        fp_contract: match args.fp_contract {
            _ if args.no_fma => FpContract::Off,
            FpContractArg::Off => FpContract::Off,
            FpContractArg::On => FpContract::On,
            FpContractArg::Fast => FpContract::Fast,
        },
        ftz: args.ftz,
        prec_div: !args.no_prec_div,
        prec_sqrt: !args.no_prec_sqrt,
        ..Options::default()
    }
}

fn compile(
    (control, session): (Control<'_>, &Session<'_>),
    (path, bytes): (&Path, &[u8]),
    arch: Option<&str>,
    ir: &IrArgs,
    options: Options,
) -> Result<Output, Failure> {
    if bytes.is_empty() {
        return Err(Failure::file(path, "the file is empty"));
    }
    let name = path.display().to_string();
    let module = driver::read(bytes, &name).map_err(|error| unreadable(path, bytes, error))?;
    let arch = arch.or_else(|| driver::target_of(&module)).unwrap_or(DEFAULT_ARCH).to_owned();
    let read = |path: &PathBuf| Ok((files::read(path)?, path.display().to_string()));
    let files = ir.link.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let libraries: Vec<_> = files.iter().map(|(bytes, file_name)| Library { bytes, file_name }).collect();
    let output = driver::compile_under(control, module, &libraries, &Options { arch, ..options });
    session.poll().map_err(|error| Failure::file(path, error))?;
    let output = output.map_err(|error| match error {
        driver::Error::Library { library, error } => unreadable(&ir.link[library], libraries[library].bytes, error),
        error @ driver::Error::NoPass { .. } => Failure::Usage(format!("error: --disable-pass: {error}")),
        error => Failure::file(path, error),
    })?;
    for warning in &output.warnings {
        console::say(format_args!("warning: {name}: {warning}"));
    }
    Ok(output)
}

/// An error of the text is shown with its line.
fn unreadable(path: &Path, bytes: &[u8], error: ReadError) -> Failure {
    let ReadError::Text(diagnostic) = &error else { return Failure::file(path, error) };
    let text = String::from_utf8_lossy(bytes);
    let shown = if colour::on_stderr() { diagnostic.render_coloured(&text) } else { diagnostic.render(&text) };
    let record = Record {
        line: Some(diagnostic.line),
        column: Some(diagnostic.column),
        notes: diagnostic.help().map(|help| format!("help: {help}")).into_iter().collect(),
        ..Record::new(Some(path), Severity::Error, diagnostic.message())
    };
    Failure::Diagnosed(shown, vec![record])
}
