//! One compilation: what ptxas does with modules, in its order.

use crate::filter::Messages;
use crate::host::Failure;
use crate::messages::{Kind, Message};
use crate::settings::{Goal, Settings};
use crate::source::{Joined, Source};
use crate::wording;
use oriole_codegen::{AllocError, CompileError, Compiled, Report, Session, memory_warnings};
use oriole_ptx::ast::{Block, Instruction, Module, ScalarType, Statement};
use oriole_ptx::diag::{Diagnostic, Rule, SourceMap};
use std::time::Instant;

/// What is said last where a module is wrong.
const ABORTED: &str = "Ptx assembly aborted due to errors";
/// What a module of an unknown version begins with.
const VERSION: &str = ".version";

/// One compilation under way.
pub(crate) struct Work<'a> {
    pub(crate) settings: &'a Settings,
    /// When it began, where that is told.
    pub(crate) start: Option<Instant>,
    pub(crate) messages: Messages<'a>,
}

impl Work<'_> {
    /// From modules to a cubin.
    pub(crate) fn run(
        mut self,
        modules: Vec<Result<Source, String>>,
        session: &Session<'_>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let joined = session.watched(|| self.sources(modules));
        let joined = joined.unwrap_or_else(|ended| Err(self.failed(&ended)))?;
        if let Goal::Check(_) = self.settings.goal {
            return Ok(None);
        }
        let compiled = self.compiled(&joined, session)?;
        self.finished(&compiled)?;
        Ok(Some(compiled.cubin))
    }

    /// All modules as one, as they are to be compiled; what is wrong with each is said.
    fn sources(&mut self, modules: Vec<Result<Source, String>>) -> Result<Joined, Failure> {
        let mut failure = if self.messages.tally.failed { Failure::Arguments } else { Failure::Module };
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
        let settings = self.settings;
        let is_one = sources.len() == 1 && count == 1;
        let checks = matches!(settings.goal, Goal::Check(_)) || settings.warns_of_doubles;
        if !is_one || checks || settings.changes.any() {
            for source in &mut sources {
                self.changed(source)?;
            }
        }
        if self.messages.tally.failed {
            return Err(self.messages.fatal(ABORTED, failure));
        }
        Ok(Joined::of(sources))
    }

    /// Check a module alone, and make the changes that options ask for.
    fn changed(&mut self, source: &mut Source) -> Result<(), Failure> {
        let settings = self.settings;
        let map = SourceMap::new(&source.name, &source.text);
        let place = |at| (source.name.as_str(), map.line_column(at).0);
        let module = match oriole_ptx::load_with(&source.text, settings.options.leeway()) {
            Ok(module) => module,
            Err(errors) => {
                self.say_all(&source.text, &map, place, &errors);
                return Ok(());
            }
        };
        if let Some(text) = self.settings.goal.target().and_then(|target| wrong_target(&module, &target)) {
            return Err(self.messages.fatal(&text, Failure::Module));
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

    fn compiled(&mut self, joined: &Joined, session: &Session<'_>) -> Result<Compiled, Failure> {
        let mut options = self.settings.options.clone();
        options.file_name = joined.name().to_owned();
        oriole_codegen::compile_in(&joined.text, &options, session).map_err(|error| match error {
            CompileError::Source(errors) => self.rejected(joined, &errors),
            other => self.failed(&other),
        })
    }

    /// Say why there is no cubin, where no place in the module is to blame.
    fn failed(&mut self, error: &CompileError) -> Failure {
        let failure = match error {
            CompileError::Cancelled => Failure::Cancelled,
            CompileError::Time(_) => Failure::Time,
            CompileError::Memory(_) => Failure::Memory,
            CompileError::Internal { .. } => Failure::Internal,
            _ => Failure::Module,
        };
        let text = match error {
            CompileError::NoEntry { name, .. } => format!("Unknown function {name}"),
            CompileError::Allocation(AllocError::OutOfRegisters(shortage)) => shortage.to_string(),
            CompileError::Allocation(error) => format!("Register allocation failed: {error}"),
            other => other.to_string(),
        };
        self.messages.fatal(&text, failure)
    }

    /// Say why a module is not compiled.
    fn rejected(&mut self, joined: &Joined, errors: &[Diagnostic]) -> Failure {
        if let (Some(target), [error]) = (self.settings.goal.target(), errors)
            && error.rule == Some(Rule::Target)
            && let Ok(module) = oriole_ptx::load(&joined.text)
            && let Some(text) = wrong_target(&module, &target)
        {
            return self.messages.fatal(&text, Failure::Module);
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
        self.messages.fatal(ABORTED, if errors.iter().any(is_version) { Failure::Version } else { Failure::Module })
    }

    fn say_all<'t>(
        &mut self,
        text: &str,
        map: &SourceMap<'_>,
        place: impl Fn(u32) -> (&'t str, usize),
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
        let (settings, messages) = (self.settings, &mut self.messages);
        compiled.warnings().for_each(|warning| messages.say(Kind::Warning, warning));
        if messages.tally.failed {
            return Err(self.messages.fatal(ABORTED, Failure::Module));
        }
        for warning in memory_warnings(compiled, settings.warns_of_spills, settings.warns_of_local) {
            messages.say(Kind::Warning, &warning);
        }
        compiled.counts.remarks().for_each(|remark| messages.say(Kind::Info, remark));
        if messages.tally.verbose {
            let (time, report) = (self.start.map(|start| start.elapsed()), Report::of(compiled));
            for name in report.names.iter().filter(|_| settings.names_functions) {
                messages.say(Kind::Info, &format!("Processing {name}"));
            }
            report.texts(time).iter().for_each(|text| messages.say(Kind::Info, text));
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
