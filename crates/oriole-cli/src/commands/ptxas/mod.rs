//! `oriole ptxas`, or the program under the name `ptxas`: in place of NVIDIA's. What ptxas 13.0.88 does was found by running it;
//! see `docs/ptxas.md`.

mod arguments;
mod banner;
mod edits;
mod messages;
mod options;
mod settings;
mod source;
mod wording;

use super::failure::Failure;
use super::files;
use crate::report;
use arguments::Arguments;
use messages::{Kind, Messages};
use options::Name;
use oriole_codegen::{CompileError, Compiled};
use oriole_ptx::ast::{Block, Instruction, Module, ScalarType, Statement};
use oriole_ptx::diag::{Diagnostic, Rule, SourceMap};
use settings::{Goal, Settings};
use source::{Joined, Source};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// What ptxas takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Words {
    /// Options and files of PTX, as ptxas takes them; `oriole ptxas --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}

/// The exit status of whatever goes wrong.
const FAILED: u8 = 255;
/// What is said last where a module is wrong.
const ABORTED: &str = "Ptx assembly aborted due to errors";

/// It has been said why it fails.
struct Said;

/// Do as ptxas with these arguments.
pub(crate) fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut messages = Messages::default();
    match work(words, &mut messages) {
        Ok(()) if !messages.failed() => ExitCode::SUCCESS,
        Ok(()) | Err(Said) => ExitCode::from(FAILED),
    }
}

fn work(words: impl IntoIterator<Item = OsString>, messages: &mut Messages) -> Result<(), Said> {
    let start = Instant::now();
    let words: Result<Vec<String>, OsString> = words.into_iter().map(OsString::into_string).collect();
    let words = words.map_err(|word| fatal(messages, &format!("Argument {word:?} is no UTF-8 text")))?;
    let arguments = Arguments::read(words).map_err(|error| fatal(messages, &error))?;
    settings::goal(&arguments).map_err(|error| fatal(messages, &error))?;
    let prints = [
        (arguments.has(Name::Help), banner::help as fn() -> String),
        (arguments.has(Name::Version), banner::version),
        (arguments.has(Name::ListVersion), banner::versions_of_ptx),
        (arguments.inputs.is_empty(), banner::help),
    ];
    if let Some((_, print)) = prints.into_iter().find(|(asked, _)| *asked) {
        return written(messages, "-", files::write(Path::new("-"), print().as_bytes()));
    }
    messages.no_warnings = arguments.has(Name::NoWarnings);
    messages.warnings_are_errors = arguments.has(Name::WarningsAreErrors);
    messages.verbose = arguments.has(Name::Verbose);
    arguments.warnings.iter().for_each(|warning| messages.say(Kind::Warning, warning));
    let settings = Settings::new(&arguments, messages).map_err(|error| fatal(messages, &error))?;
    let joined = sources(&arguments, &settings, messages)?;
    if messages.failed() {
        return Err(fatal(messages, ABORTED));
    }
    if let Goal::Check(_) = settings.goal {
        return Ok(());
    }
    let compiled = compile(&settings, &joined, messages)?;
    compiled.allocation.warnings().for_each(|warning| messages.say(Kind::Warning, warning));
    if messages.failed() {
        return Err(fatal(messages, ABORTED));
    }
    report(&settings, &compiled, start, messages);
    if messages.failed() {
        return Err(Said);
    }
    written(messages, &settings.output, files::write(Path::new(&settings.output), &compiled.cubin))
}

fn fatal(messages: &mut Messages, text: &str) -> Said {
    messages.say(Kind::Fatal, text);
    Said
}

fn written(messages: &mut Messages, name: &str, done: Result<(), Failure>) -> Result<(), Said> {
    done.map_err(|_| fatal(messages, &format!("Output file '{name}' could not be opened")))
}

/// All modules as one, as they are to be compiled; what is wrong with each is said.
fn sources(arguments: &Arguments, settings: &Settings, messages: &mut Messages) -> Result<Joined, Said> {
    let mut sources = Vec::new();
    for input in &arguments.inputs {
        match Source::read(input) {
            Ok(source) => match source.wrong_version() {
                Some((line, error)) => messages.say_at(&source.name, line, Kind::Fatal, &error),
                None => sources.push(source),
            },
            Err(error) => messages.say(Kind::Fatal, &error),
        }
    }
    let is_one = sources.len() == 1 && arguments.inputs.len() == 1;
    let compiles = matches!(settings.goal, Goal::Code(_));
    if is_one && compiles && !settings.changes.any() && !settings.warns_of_doubles {
        return Ok(Joined::of(sources));
    }
    for source in &mut sources {
        changed(source, settings, messages)?;
    }
    Ok(Joined::of(sources))
}

/// Check a module alone, and make the changes that options ask for.
fn changed(source: &mut Source, settings: &Settings, messages: &mut Messages) -> Result<(), Said> {
    let load = if settings.options.relocatable { oriole_ptx::load_object } else { oriole_ptx::load };
    let map = SourceMap::new(&source.name, &source.text);
    let place = |at| (source.name.as_str(), map.line_column(at).0);
    let module = match load(&source.text) {
        Ok(module) => module,
        Err(errors) => {
            say_all(&source.text, place, &errors, messages);
            return Ok(());
        }
    };
    let target = match &settings.goal {
        Goal::Code(target) => target.to_string(),
        Goal::Check(target) => target.clone(),
    };
    if oriole_ptx::check_target(&module, &target).is_err() {
        return Err(fatal(messages, &wrong_target(&module, &target)));
    }
    if settings.warns_of_doubles {
        let warn = |inst: &Instruction| {
            let (name, line) = place(inst.span.start);
            messages.say_at(name, line, Kind::Warning, "Program is doing double precision computations.");
        };
        each_double(&module, warn);
    }
    for warning in settings.changes.beyond_a_block(&module) {
        messages.say(Kind::Warning, &warning);
    }
    if settings.changes.any() {
        source.text = settings.changes.apply(&module, &source.text);
    }
    Ok(())
}

/// Every instruction on doubles.
fn each_double(module: &Module, mut visit: impl FnMut(&Instruction)) {
    fn in_block(block: &Block, visit: &mut impl FnMut(&Instruction)) {
        for statement in &block.statements {
            match statement {
                Statement::Block(inner) => in_block(inner, visit),
                Statement::Instruction(inst) if inst.types().any(|ty| ty == ScalarType::F64) => visit(inst),
                _ => {}
            }
        }
    }
    module.functions().filter_map(|function| function.body.as_ref()).for_each(|body| in_block(body, &mut visit));
}

/// Why a module's `.target` does not go with the one that is asked for.
fn wrong_target(module: &Module, asked: &str) -> String {
    let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0u32);
    let named = module.target.first().map_or("", String::as_str);
    match digits(named) > digits(asked) {
        true => "SM version specified by .target is higher than default SM version assumed".to_owned(),
        false => format!("Program with .target '{named}' cannot be compiled to future architecture"),
    }
}

fn compile(settings: &Settings, joined: &Joined, messages: &mut Messages) -> Result<Compiled, Said> {
    let mut options = settings.options.clone();
    options.file_name = joined.name().to_owned();
    oriole_codegen::compile(&joined.text, &options).map_err(|error| match error {
        CompileError::Source(errors) => rejected(settings, joined, &errors, messages),
        CompileError::NoEntry { name, .. } => fatal(messages, &format!("Unknown function {name}")),
        CompileError::Allocation(error) => fatal(messages, &format!("Register allocation failed: {error}")),
        other => fatal(messages, &other.to_string()),
    })
}

/// Say why a module is not compiled.
fn rejected(settings: &Settings, joined: &Joined, errors: &[Diagnostic], messages: &mut Messages) -> Said {
    if let (Goal::Code(target), [error]) = (&settings.goal, errors)
        && error.rule == Some(Rule::Target)
        && let Ok(module) = oriole_ptx::load(&joined.text)
        && oriole_ptx::check_target(&module, &target.to_string()).is_err()
    {
        return fatal(messages, &wrong_target(&module, &target.to_string()));
    }
    let unresolved = errors.iter().filter(|error| error.rule == Some(Rule::Linkage));
    let names: Vec<&str> = unresolved.filter_map(|error| spanned(joined, error)).collect();
    if names.len() == errors.len() && !names.is_empty() {
        names.iter().for_each(|name| messages.say(Kind::Fatal, &format!("Unresolved extern function '{name}'")));
        return Said;
    }
    let places = joined.places();
    say_all(&joined.text, |at| places.of(at), errors, messages);
    fatal(messages, ABORTED)
}

fn spanned<'a>(joined: &'a Joined, error: &Diagnostic) -> Option<&'a str> {
    joined.text.get(error.span.start as usize..error.span.end as usize)
}

fn say_all<'a>(text: &str, place: impl Fn(u32) -> (&'a str, usize), errors: &[Diagnostic], messages: &mut Messages) {
    for error in errors {
        let (name, line) = place(error.span.start);
        messages.say_at(name, line, Kind::Error, &wording::of(error, text));
    }
}

/// Warnings, and the lines of `-v`.
fn report(settings: &Settings, compiled: &Compiled, start: Instant, messages: &mut Messages) {
    for warning in report::memory_warnings(compiled, settings.warns_of_spills, settings.warns_of_local) {
        messages.say(Kind::Warning, &warning);
    }
    for remark in compiled.counts.remarks() {
        messages.say(Kind::Info, remark);
    }
    if messages.verbose {
        eprint!("{}", report::Verbose::of(compiled, settings.options.relocatable).text(start.elapsed()));
    }
}
