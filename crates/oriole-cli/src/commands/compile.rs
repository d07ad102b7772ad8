//! `oriole compile`.

use super::args::{CodeArgs, CompileArgs, IrArgs};
use super::batch_args::DiagnosticsForm;
use super::cache::{Cache, Sources};
use super::diagnostics::{self, Record, Severity};
use super::failure::{Failure, usage};
use super::files::Outputs;
use super::images::{self, Taken, Wanted, Wish};
use super::{batch, cuda_source, files, nvptx, schedule};
use crate::console;
use crate::phase_index::{self, Index};
use crate::product::Product;
use crate::uniformity::UniformityForm;
use crate::{pressure, report, timings, uniformity};
use oriole_codegen::{CompileError, CompileOptions, Compiled, DebugInfo};
use oriole_opt::knobs::{KNOBS, Knob};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The setting of no knob, which asks for the table.
const LIST_KNOBS: &str = "list=1";

/// Compile a file and write the cubin, or several into a folder.
pub(crate) fn run(args: &CompileArgs) -> Result<(), Failure> {
    if args.code.knob.iter().any(|setting| setting == LIST_KNOBS) {
        return files::print(&knobs());
    }
    let done = if args.batch.out_dir.is_some() { batch::run(args) } else { compile_one(args) };
    match args.batch.diagnostics {
        DiagnosticsForm::Text => done,
        DiagnosticsForm::Json => {
            done.map_err(|failure| diagnostics::as_json(&failure, args.input.first().map(PathBuf::as_path)))
        }
    }
}

fn compile_one(args: &CompileArgs) -> Result<(), Failure> {
    let start = Instant::now();
    // clap lets what an argument requires be absent where it conflicts with another that is there: -o.
    if args.batch.json {
        return Err(usage("--json: needs --out-dir DIR"));
    }
    let (input, output) = match (args.input.as_slice(), &args.output) {
        ([input], Some(output)) => (input, output),
        ([_, another, ..], _) => {
            let another = another.display();
            return Err(usage(format!("{another}: -o is for one input; --out-dir DIR takes several")));
        }
        _ => return Err(usage("compile needs an input and -o OUTPUT")),
    };
    let outputs =
        [Some(output), args.dump_cfg.as_ref(), args.pressure.as_ref(), args.schedule.as_ref()].into_iter().flatten();
    files::keep_apart(nvptx::inputs(input, &args.code.ir), outputs.map(PathBuf::as_path))?;
    let form = args.pressure.as_deref().map(pressure_form).transpose()?;
    let cache = if needs_internals(args) { None } else { Cache::open(&args.cache)? };
    let (taken, options) = source(args, input)?;
    let input = &taken.path;
    refuse_what_cannot_act(args, Some(output), nvptx::is_llvm(input, &taken.bytes))?;
    let (product, compiled) = match made(args, input, &taken.bytes, &options, cache.as_ref())? {
        Made::Found(product) => (product, None),
        Made::Compiled(product, compiled) => (product, Some(compiled)),
    };
    say(args, input, &product.said.notes, cache.as_ref());
    let mut outputs = Outputs::default();
    if let Some(compiled) = &compiled {
        show(args, compiled, &mut outputs)?;
        if let (Some(path), Some(form)) = (&args.pressure, form) {
            outputs.add(path, pressure::report(compiled, form).as_bytes())?;
        }
    }
    if args.verbose {
        console::say_text(&product.said.verbose.print(Some(start.elapsed())));
        if let Some(cache) = &cache {
            console::say(cache.counts());
        }
    }
    if let Some(compiled) = &compiled {
        if args.code.pass_limit.is_some() {
            console::say(report::passes(&compiled.passes));
        }
        if let Some(form) = args.time_phases {
            timings::print(&compiled.times, form);
        }
    }
    if let Some(path) = &args.schedule {
        outputs.add(path, schedule::of_cubin(path, &product.cubin)?.as_bytes())?;
    }
    if let Some(what) = &args.explain_schedule {
        outputs.print(&schedule::explanation(what, &product.cubin)?);
    }
    outputs.add(output, &product.cubin)?;
    outputs.finish()?;
    // The program ends here: the system takes all memory back at once.
    std::mem::forget(compiled);
    Ok(())
}

/// What of the file is compiled, and how. PTX for a linker becomes an object.
pub(crate) fn source(args: &CompileArgs, input: &Path) -> Result<(Taken, CompileOptions), Failure> {
    let wish = Wish {
        path: input,
        chip: args.code.arch.as_deref(),
        chip_picks_only: false,
        image: &args.image,
        entries: &args.code.entry,
        wanted: Wanted::Ptx,
    };
    let taken = images::one(&wish, files::read(input)?)?;
    let mut options = options_of(args, &taken.path)?;
    set(&mut options, &taken);
    Ok((taken, options))
}

/// What an image says of how it is compiled.
fn set(options: &mut CompileOptions, taken: &Taken) {
    if let Some(image) = &taken.image {
        options.target = image.target.or(options.target);
        options.relocatable |= image.is_relocatable;
    }
}

/// The cubin that has been taken, or that PTX which has been taken out of a file becomes; with its name.
pub(crate) fn cubin_of(taken: Taken) -> Result<(PathBuf, Vec<u8>), Failure> {
    if !taken.is_ptx_image() {
        return Ok((taken.path, taken.bytes));
    }
    let code = CodeArgs::default();
    let mut options = options(&taken.path, &code)?;
    set(&mut options, &taken);
    let compiled = compile_with(&taken.path, &taken.bytes, &code, &options)?;
    let target = compiled.target.to_string();
    console::say(format_args!("{}: PTX, compiled for {target}", taken.path.display()));
    Ok((taken.path, compiled.cubin))
}

/// How a cubin came about.
pub(crate) enum Made {
    /// It was in the cache.
    Found(Product),
    /// By compiling; the compiler's own data too.
    Compiled(Product, Box<Compiled>),
}

/// The cubin of a file: from the cache, or by compiling, and then for the cache.
pub(crate) fn made(
    args: &CompileArgs,
    input: &Path,
    bytes: &[u8],
    options: &CompileOptions,
    cache: Option<&Cache>,
) -> Result<Made, Failure> {
    let sources = Sources { bytes, is_llvm: nvptx::is_llvm(input, bytes) };
    let place = cache.and_then(|cache| Some((cache, cache.place(&sources, args, options)?)));
    if let Some(product) = place.as_ref().and_then(|(cache, place)| cache.load(place)) {
        return Ok(Made::Found(product));
    }
    let mut compiled = Box::new(compile_with(input, bytes, &args.code, options)?);
    let product = Product::of(&mut compiled, args.warn_on_spills, args.warn_on_local_memory_usage);
    if let Some((cache, place)) = &place {
        cache.store(place, args, &product);
    }
    Ok(Made::Compiled(product, compiled))
}

/// What a [`Product`] does not hold is asked for: the compiler has to run.
fn needs_internals(args: &CompileArgs) -> bool {
    let dumps = !args.dump_after.is_empty() || args.dump_all.is_some() || args.dump_cfg.is_some() || args.dump_rpo;
    let reports = args.stats || args.pressure.is_some() || args.uniformity.is_some() || args.time_phases.is_some();
    dumps || reports || args.code.pass_limit.is_some()
}

/// Warnings and remarks of a file, and what is wrong with the cache.
fn say(args: &CompileArgs, input: &Path, notes: &[(Severity, String)], cache: Option<&Cache>) {
    let problem = cache.and_then(Cache::problem).map(|problem| (Severity::Warning, problem.to_owned()));
    let all: Vec<_> = notes.iter().cloned().chain(problem).filter(|_| !args.batch.quiet).collect();
    match args.batch.diagnostics {
        DiagnosticsForm::Text => {
            all.iter().for_each(|(severity, text)| console::say(format_args!("{}: {text}", severity.word())))
        }
        DiagnosticsForm::Json => {
            let record = |(severity, text)| Record::new(Some(input), severity, text);
            console::say_text(&diagnostics::lines(&all.into_iter().map(record).collect::<Vec<_>>()));
        }
    }
}

/// What `--pressure` is to write, by the file's name.
fn pressure_form(path: &Path) -> Result<pressure::Form, Failure> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => Ok(pressure::Form::Json),
        Some("svg") => Ok(pressure::Form::Svg),
        _ => Err(usage(format!("--pressure {}: the name must end in .json or .svg", path.display()))),
    }
}

/// The table of `--knob list=1`.
fn knobs() -> String {
    let header = format!("{:20} {:9} {:6} {:>10} meaning\n", "knob", "published", "type", "default");
    let line = |knob: &Knob| {
        let (published, kind) = (knob.published.unwrap_or("-"), knob.default.type_name());
        format!("{:20} {published:9} {kind:6} {:>10} {}\n", knob.name, knob.default, knob.meaning)
    };
    let lines = KNOBS.iter().map(line);
    std::iter::once(header).chain(lines).collect()
}

/// Options that say of LLVM IR what PTX says itself.
pub(crate) fn refuse_on_ptx(ir: &IrArgs) -> Result<(), Failure> {
    let cases = [
        (!ir.link.is_empty(), "--link: PTX is not linked, LLVM IR is"),
        (ir.ftz, "--ftz: acts on LLVM IR; PTX says .ftz itself"),
        (ir.no_prec_div, "--no-prec-div: acts on LLVM IR; PTX says .approx or .full itself"),
        (ir.no_prec_sqrt, "--no-prec-sqrt: acts on LLVM IR; PTX says .approx itself"),
    ];
    cases.iter().find(|(holds, _)| *holds).map_or(Ok(()), |(_, message)| Err(usage(message)))
}

/// Options that would change nothing here are mistakes.
pub(crate) fn refuse_what_cannot_act(args: &CompileArgs, output: Option<&Path>, is_llvm: bool) -> Result<(), Failure> {
    if !is_llvm {
        refuse_on_ptx(&args.code.ir)?;
    }
    let (code, ir) = (&args.code, &args.code.ir);
    let level = level(args);
    let contracts = |setting: &String| setting.split_once('=').is_some_and(|(name, _)| name == "contract");
    let explains = args.explain_schedule.is_some();
    let dumps = explains
        || args.stats
        || args.dump_rpo
        || !args.dump_after.is_empty()
        || args.dump_cfg.as_deref() == Some("-".as_ref());
    let prints = dumps || args.uniformity.is_some();
    let shows_code = !args.dump_after.is_empty() || args.dump_all.is_some() || args.dump_cfg.is_some();
    let cases = [
        (ir.no_fma && code.knob.iter().any(contracts), "--no-fma sets the knob 'contract': give one of the two"),
        (level == 0 && !code.knob.is_empty(), "--knob: no phase that goes by a knob runs at -O0"),
        (args.debug && code.opt_level.is_some_and(|level| level > 0), "-g compiles at -O0: give no other level"),
        (
            args.device_function_maxrregcount.is_some() && !args.relocatable,
            "--device-function-maxrregcount: acts on object files (-c)",
        ),
        (args.rot13 && !shows_code, "--rot13: needs --dump-after, --dump-all or --dump-cfg"),
        (
            dumps && args.uniformity == Some(UniformityForm::Json),
            "--uniformity=json: standard output cannot take both JSON and what else is printed",
        ),
        (
            prints && output == Some(Path::new("-")),
            "-o -: standard output cannot take both the cubin and what is printed",
        ),
    ];
    match cases.iter().find(|(holds, _)| *holds) {
        Some((_, message)) => Err(usage(message)),
        None => Ok(()),
    }
}

/// `--arch` of what compiles.
pub(crate) fn compile_target(name: &str) -> Result<oriole_cubin::Target, Failure> {
    oriole_codegen::target(name).map_err(|e| Failure::Rejected(format!("error: {e}")))
}

/// Compile PTX or LLVM IR given as bytes, with options that only change the code.
pub(crate) fn compile_bytes(path: &Path, bytes: &[u8], code: &CodeArgs) -> Result<Compiled, Failure> {
    compile_with(path, bytes, code, &options(path, code)?)
}

/// The same, with the Ori of each function after these phases.
pub(crate) fn compile_showing(
    path: &Path,
    bytes: &[u8],
    code: &CodeArgs,
    phases: &[String],
) -> Result<Compiled, Failure> {
    let options = CompileOptions { dump_after: phases.to_vec(), ..options(path, code)? };
    compile_with(path, bytes, code, &options)
}

/// With `-g` every line's code stays where it is: as with ptxas.
fn level(args: &CompileArgs) -> u8 {
    if args.debug { 0 } else { args.code.opt_level.unwrap_or(CompileOptions::default().opt_level) }
}

pub(crate) fn options_of(args: &CompileArgs, input: &Path) -> Result<CompileOptions, Failure> {
    Ok(CompileOptions {
        opt_level: level(args),
        dump_after: args.dump_after.clone(),
        dump_all: args.dump_all.is_some(),
        graphs: args.dump_cfg.is_some() || args.dump_rpo,
        pressure: args.pressure.is_some() || args.stats,
        uniformity: args.uniformity.is_some(),
        rot13: args.rot13,
        relocatable: args.relocatable,
        device_maxrregcount: args.device_function_maxrregcount,
        debug: match (args.debug, args.lineinfo) {
            (true, _) => DebugInfo::Full,
            (false, true) => DebugInfo::Lines,
            (false, false) => DebugInfo::None,
        },
        ..options(input, &args.code)?
    })
}

fn options(path: &Path, code: &CodeArgs) -> Result<CompileOptions, Failure> {
    let default = CompileOptions::default();
    let mut knobs = code.knob.clone();
    if code.ir.no_fma {
        knobs.push("contract=0".to_owned());
    }
    Ok(CompileOptions {
        target: code.arch.as_deref().map(compile_target).transpose()?,
        opt_level: code.opt_level.unwrap_or(default.opt_level),
        level_is_chosen: code.opt_level.is_some(),
        fast_compile: code.fast_compile.into(),
        maxrregcount: code.maxrregcount,
        register_usage_level: code.register_usage_level,
        entries: code.entry.clone(),
        knobs,
        jobs: code.jobs.map_or(default.jobs, usize::from),
        verify: code.verify || cfg!(debug_assertions),
        disabled_passes: code.disable_pass.clone(),
        pass_limit: code.pass_limit,
        file_name: path.display().to_string(),
        ..default
    })
}

fn compile_with(path: &Path, bytes: &[u8], code: &CodeArgs, options: &CompileOptions) -> Result<Compiled, Failure> {
    cuda_source::refuse(path, bytes)?;
    let session = super::bounds::session(code.memory)?;
    if nvptx::is_llvm(path, bytes) {
        let ast = nvptx::module(path, bytes, code, options, &session)?;
        let compiled = oriole_codegen::compile_module_in(&ast, options, &session);
        return compiled.map_err(|error| failure(path, None, error));
    }
    let text = super::ptx::text(path, bytes)?;
    oriole_codegen::compile_in(text, options, &session).map_err(|error| failure(path, Some(text), error))
}

/// `text` is the PTX that places in errors mean, where there is one.
fn failure(path: &Path, text: Option<&str>, error: CompileError) -> Failure {
    match (error, text) {
        (CompileError::Source(diagnostics), Some(text)) => super::ptx::failure(path, text, &diagnostics),
        (error @ (CompileError::Knob(_) | CompileError::Passes(_)), _) => usage(error),
        (other, _) => Failure::file(path, other),
    }
}

/// What the options show of a compilation, among the outputs of the call.
fn show(args: &CompileArgs, compiled: &Compiled, outputs: &mut Outputs) -> Result<(), Failure> {
    if let Some(folder) = &args.dump_all {
        files::make_folder(folder)?;
        for dump in &compiled.dumps {
            outputs.add(&folder.join(phase_index::file_name(dump)), dump.text.as_bytes())?;
        }
        let index = serde_json::to_vec_pretty(&Index::new(compiled)).map_err(|error| Failure::file(folder, error))?;
        outputs.add(&folder.join(phase_index::FILE), &index)?;
    }
    let wanted = compiled.dumps.iter().filter(|dump| args.dump_after.iter().any(|name| name == dump.pass));
    let mut printed: String =
        wanted.map(|d| format!("; {} after {:03}-{}\n{}\n", d.unit, d.number, d.pass, d.text)).collect();
    if let Some(path) = &args.dump_cfg {
        let graphs: String = compiled.graphs.iter().map(|graph| graph.dot.as_str()).collect();
        outputs.add(path, graphs.as_bytes())?;
    }
    if args.dump_rpo {
        printed.extend(compiled.graphs.iter().map(|graph| format!("; {}\n{}\n", graph.function, graph.rpo)));
    }
    if let Some(form) = args.uniformity {
        printed.push_str(&uniformity::report(&compiled.uniformity, form));
    }
    if args.stats {
        printed.push_str(&report::statistics(compiled));
    }
    outputs.print(&printed);
    Ok(())
}
