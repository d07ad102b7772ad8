//! From arguments to a cubin: what ptxas does, in its order.

use crate::arguments::{Arguments, Input};
use crate::host::{Caller, Failure, Host};
use crate::messages::{Kind, Message, Messages, Tally};
use crate::options::Name;
use crate::settings::{self, Goal, Settings};
use crate::source::{Joined, Source};
use crate::wording;
use oriole_codegen::{CompileError, Compiled, Limits, Report, Session, memory_warnings};
use oriole_ptx::ast::{Block, Instruction, Module, ScalarType, Statement};
use oriole_ptx::diag::{Diagnostic, Rule, SourceMap};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// What is said last where a module is wrong.
const ABORTED: &str = "Ptx assembly aborted due to errors";
/// What a module of an unknown version begins with.
const VERSION: &str = ".version";

/// What a command line asks for.
#[derive(Debug)]
pub enum Asked {
    /// That [`help`](crate::help) is printed.
    Help,
    /// That [`version`](crate::version) is printed.
    Version,
    /// That [`versions_of_ptx`](crate::versions_of_ptx) is printed.
    VersionsOfPtx,
    /// A compilation.
    Compilation(Box<Request>),
}

/// A compilation that options ask for.
#[derive(Debug)]
pub struct Request {
    settings: Settings,
    inputs: Vec<Input>,
    tally: Tally,
    caller: Caller,
    start: Instant,
}

impl Asked {
    /// Reads the words of a command line, without the program's name, and says what is to be said of them.
    ///
    /// # Errors
    /// [`Failure::Arguments`]: they are wrong.
    pub fn read(words: impl IntoIterator<Item = String>, host: &mut dyn Host) -> Result<Asked, Failure> {
        let (start, messages) = (Instant::now(), &mut Messages::new(host, Tally::default()));
        let arguments = arguments(words, Caller::Command, messages)?;
        let prints = [
            (arguments.has(Name::Help), Asked::Help),
            (arguments.has(Name::Version), Asked::Version),
            (arguments.has(Name::ListVersion), Asked::VersionsOfPtx),
            (arguments.inputs.is_empty(), Asked::Help),
        ];
        match prints.into_iter().find(|(asked, _)| *asked) {
            Some((_, print)) => Ok(print),
            None => Request::new(arguments, Caller::Command, start, messages)
                .map(|request| Asked::Compilation(Box::new(request))),
        }
    }
}

fn arguments(
    words: impl IntoIterator<Item = String>,
    caller: Caller,
    messages: &mut Messages<'_>,
) -> Result<Arguments, Failure> {
    let arguments = Arguments::read(words, caller, &mut |name| messages.options_file(name));
    let arguments = arguments.and_then(|arguments| settings::goal(&arguments, caller).map(|_| arguments));
    arguments.map_err(|text| fatal(messages, &text, Failure::Arguments))
}

impl Request {
    /// Reads the options of a program that calls a library, as it calls nvPTXCompiler: there are no inputs and outputs among
    /// them. Without `--gpu-name` the module's own target holds; an option that takes no value may have `=true`, or `=false`,
    /// which takes it back; `-O` may have its level as the next word; and no times are told, so that the same call gives the same
    /// messages.
    ///
    /// # Errors
    /// [`Failure::Arguments`]: they are wrong.
    pub fn read(words: impl IntoIterator<Item = String>, host: &mut dyn Host) -> Result<Request, Failure> {
        let (start, messages) = (Instant::now(), &mut Messages::new(host, Tally::default()));
        let arguments = arguments(words, Caller::Library, messages)?;
        Request::new(arguments, Caller::Library, start, messages)
    }

    fn new(
        arguments: Arguments,
        caller: Caller,
        start: Instant,
        messages: &mut Messages<'_>,
    ) -> Result<Request, Failure> {
        messages.tally = Tally {
            no_warnings: arguments.has(Name::NoWarnings),
            warnings_are_errors: arguments.has(Name::WarningsAreErrors),
            verbose: arguments.has(Name::Verbose),
            failed: false,
        };
        arguments.warnings.iter().for_each(|warning| messages.say(Kind::Warning, warning));
        let settings = Settings::new(&arguments, caller, messages);
        let settings = settings.map_err(|text| fatal(messages, &text, Failure::Arguments))?;
        Ok(Request { settings, inputs: arguments.inputs, tally: messages.tally, caller, start })
    }

    /// The inputs that the arguments name, in their order.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The file that the cubin is to go to.
    pub fn output(&self) -> &str {
        &self.settings.output
    }

    /// The name of the target that the arguments give, such as `sm_90a`.
    pub fn target(&self) -> Option<String> {
        match &self.settings.goal {
            Goal::Code(target) => target.map(|target| target.to_string()),
            Goal::Check(target) => Some(target.clone()),
        }
    }

    /// The level of `--opt-level`, 0 to 3.
    pub fn opt_level(&self) -> u8 {
        self.settings.options.opt_level
    }

    /// The bound of `--maxrregcount`.
    pub fn max_registers(&self) -> Option<u32> {
        self.settings.options.maxrregcount
    }

    /// Whether products and sums may be fused.
    pub fn fuses(&self) -> bool {
        self.settings.fuses
    }

    /// Whether debuggers are told of lines.
    pub fn has_lines(&self) -> bool {
        self.settings.options.debug != oriole_codegen::DebugInfo::None
    }

    /// Compiles modules, all into one cubin; of one that could not be read there is what is to be said of it ([`Input::source`]).
    /// It ends soon after `cancelled` becomes true. There is no cubin where the arguments ask for a check alone (`compute_XX`).
    ///
    /// # Errors
    /// What went wrong; why was said.
    pub fn compile(
        &self,
        modules: impl IntoIterator<Item = Result<Source, String>>,
        cancelled: Option<&AtomicBool>,
        host: &mut dyn Host,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let mut work = Work { request: self, messages: Messages::new(host, self.tally) };
        let joined = work.sources(modules.into_iter().collect())?;
        if let Goal::Check(_) = self.settings.goal {
            return Ok(None);
        }
        let compiled = work.compiled(&joined, cancelled)?;
        work.finished(&compiled)?;
        Ok(Some(compiled.cubin))
    }
}

fn fatal(messages: &mut Messages<'_>, text: &str, failure: Failure) -> Failure {
    messages.say(Kind::Fatal, text);
    failure
}

/// One compilation under way.
struct Work<'a> {
    request: &'a Request,
    messages: Messages<'a>,
}

impl Work<'_> {
    fn fatal(&mut self, text: &str, failure: Failure) -> Failure {
        fatal(&mut self.messages, text, failure)
    }

    /// All modules as one, as they are to be compiled; what is wrong with each is said.
    fn sources(&mut self, modules: Vec<Result<Source, String>>) -> Result<Joined, Failure> {
        let mut failure = if self.request.tally.failed { Failure::Arguments } else { Failure::Module };
        let (count, mut sources) = (modules.len(), Vec::new());
        for module in modules {
            match module {
                Ok(source) => match source.wrong_version() {
                    Some(wrong) => {
                        failure = wrong.failure;
                        self.messages.say_at((&source.name, wrong.line), Kind::Fatal, &wrong.text);
                    }
                    None => sources.push(source),
                },
                Err(text) => self.messages.say(Kind::Fatal, &text),
            }
        }
        let settings = &self.request.settings;
        let is_one = sources.len() == 1 && count == 1;
        let checks = matches!(settings.goal, Goal::Check(_)) || settings.warns_of_doubles;
        if !is_one || checks || settings.changes.any() {
            for source in &mut sources {
                self.changed(source)?;
            }
        }
        if self.messages.tally.failed {
            return Err(self.fatal(ABORTED, failure));
        }
        Ok(Joined::of(sources))
    }

    /// Check a module alone, and make the changes that options ask for.
    fn changed(&mut self, source: &mut Source) -> Result<(), Failure> {
        let settings = &self.request.settings;
        let load = if settings.options.relocatable { oriole_ptx::load_object } else { oriole_ptx::load };
        let map = SourceMap::new(&source.name, &source.text);
        let place = |at| (source.name.as_str(), map.line_column(at).0);
        let module = match load(&source.text) {
            Ok(module) => module,
            Err(errors) => {
                self.say_all(&source.text, &map, place, &errors);
                return Ok(());
            }
        };
        if let Some(text) = self.request.target().and_then(|target| wrong_target(&module, &target)) {
            return Err(self.fatal(&text, Failure::Module));
        }
        if settings.warns_of_doubles {
            const DOUBLES: &str = "Program is doing double precision computations.";
            let messages = &mut self.messages;
            each_double(&module, |inst| messages.say_at(place(inst.span.start), Kind::Warning, DOUBLES));
        }
        for warning in settings.changes.beyond_a_block(&module) {
            self.messages.say(Kind::Warning, &warning);
        }
        if settings.changes.any() {
            source.text = settings.changes.apply(&module, &source.text);
        }
        Ok(())
    }

    fn compiled(&mut self, joined: &Joined, cancelled: Option<&AtomicBool>) -> Result<Compiled, Failure> {
        let mut options = self.request.settings.options.clone();
        options.file_name = joined.name().to_owned();
        let session = Session::new(None, cancelled, Limits::default());
        oriole_codegen::compile_in(&joined.text, &options, &session).map_err(|error| {
            let failure = match error {
                CompileError::Cancelled => Failure::Cancelled,
                CompileError::Internal { .. } => Failure::Internal,
                _ => Failure::Module,
            };
            match error {
                CompileError::Source(errors) => self.rejected(joined, &errors),
                CompileError::NoEntry { name, .. } => self.fatal(&format!("Unknown function {name}"), failure),
                CompileError::Allocation(error) => self.fatal(&format!("Register allocation failed: {error}"), failure),
                other => self.fatal(&other.to_string(), failure),
            }
        })
    }

    /// Say why a module is not compiled.
    fn rejected(&mut self, joined: &Joined, errors: &[Diagnostic]) -> Failure {
        if let (Some(target), [error]) = (self.request.target(), errors)
            && error.rule == Some(Rule::Target)
            && let Ok(module) = oriole_ptx::load(&joined.text)
            && let Some(text) = wrong_target(&module, &target)
        {
            return self.fatal(&text, Failure::Module);
        }
        let unresolved = errors.iter().filter(|error| error.rule == Some(Rule::Linkage));
        let names: Vec<&str> = unresolved.filter_map(|error| spanned(joined, error)).collect();
        if names.len() == errors.len() && !names.is_empty() {
            let texts = names.iter().map(|name| format!("Unresolved extern function '{name}'"));
            texts.for_each(|text| self.messages.say(Kind::Fatal, &text));
            return Failure::Module;
        }
        let places = joined.places();
        self.say_all(&joined.text, places.map(), |at| places.of(at), errors);
        let is_version = |error: &Diagnostic| {
            error.rule == Some(Rule::Version) && spanned(joined, error).is_some_and(|text| text.starts_with(VERSION))
        };
        self.fatal(ABORTED, if errors.iter().any(is_version) { Failure::Version } else { Failure::Module })
    }

    fn say_all<'a>(
        &mut self,
        text: &str,
        map: &SourceMap<'_>,
        place: impl Fn(u32) -> (&'a str, usize),
        errors: &[Diagnostic],
    ) {
        for error in errors {
            let (name, line) = place(error.span.start);
            self.messages.give(Message {
                kind: Kind::Error,
                place: Some((name.to_owned(), line)),
                text: wording::of(error, text),
                quoted: Some(map.render(error)),
            });
        }
    }

    /// Warnings, and the lines of `-v`.
    fn finished(&mut self, compiled: &Compiled) -> Result<(), Failure> {
        let (settings, messages) = (&self.request.settings, &mut self.messages);
        compiled.allocation.warnings().for_each(|warning| messages.say(Kind::Warning, warning));
        if messages.tally.failed {
            return Err(self.fatal(ABORTED, Failure::Module));
        }
        for warning in memory_warnings(compiled, settings.warns_of_spills, settings.warns_of_local) {
            messages.say(Kind::Warning, &warning);
        }
        compiled.counts.remarks().for_each(|remark| messages.say(Kind::Info, remark));
        if messages.tally.verbose {
            let time = (self.request.caller == Caller::Command).then(|| self.request.start.elapsed());
            Report::of(compiled).texts(time).iter().for_each(|text| messages.say(Kind::Info, text));
        }
        if messages.tally.failed { Err(Failure::Module) } else { Ok(()) }
    }
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

/// Why a module's `.target` does not go with the one that is asked for, if it does not.
fn wrong_target(module: &Module, asked: &str) -> Option<String> {
    oriole_ptx::check_target(module, asked).err()?;
    let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0u32);
    let named = module.target.first().map_or("", String::as_str);
    Some(match digits(named) > digits(asked) {
        true => "SM version specified by .target is higher than default SM version assumed".to_owned(),
        false => format!("Program with .target '{named}' cannot be compiled to future architecture"),
    })
}

fn spanned<'a>(joined: &'a Joined, error: &Diagnostic) -> Option<&'a str> {
    joined.text.get(error.span.start as usize..error.span.end as usize)
}
