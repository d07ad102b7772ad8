//! What arguments ask for.

use crate::arguments::{Arguments, Input};
use crate::filter::{Messages, Tally};
use crate::host::{Caller, Failure, Host};
use crate::messages::Kind;
use crate::options::Name;
use crate::settings::{self, Settings};
use crate::source::Source;
use crate::work::Work;
use oriole_codegen::{Limits, Session};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// What a command line asks for.
#[derive(Debug)]
pub enum Asked {
    /// That [`help`](crate::help) is printed.
    Help,
    /// That [`version`](crate::version) is printed.
    Version,
    /// That [`versions_of_ptx`](crate::versions_of_ptx) is printed.
    VersionsOfPtx,
    /// That [`targets`](crate::targets) is printed.
    Targets,
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
            (arguments.has(Name::ListArch), Asked::Targets),
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
    arguments.map_err(|text| messages.fatal(&text, Failure::Arguments))
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
            verbose: arguments.has(Name::Verbose) || arguments.has(Name::Verbose2),
            failed: false,
        };
        arguments.warnings.iter().for_each(|warning| messages.say(Kind::Warning, warning));
        let settings = Settings::new(&arguments, caller, messages);
        let settings = settings.map_err(|text| messages.fatal(&text, Failure::Arguments))?;
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
        self.settings.goal.target()
    }

    /// The level of `--opt-level`, 0 to 3.
    pub fn opt_level(&self) -> u8 {
        self.settings.options.opt_level
    }

    /// The bound of `--maxrregcount`.
    pub fn max_registers(&self) -> Option<u32> {
        self.settings.options.maxrregcount
    }

    /// How many threads `--split-compile` asks for.
    pub fn jobs(&self) -> usize {
        self.settings.options.jobs
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
        cancelled: Option<Arc<AtomicBool>>,
        host: &mut dyn Host,
    ) -> Result<Option<Vec<u8>>, Failure> {
        self.compile_within(modules, cancelled, Limits::default(), host)
    }

    /// [`Request::compile`] with bounds of what it may cost.
    ///
    /// # Errors
    /// The same.
    pub fn compile_within(
        &self,
        modules: impl IntoIterator<Item = Result<Source, String>>,
        cancelled: Option<Arc<AtomicBool>>,
        limits: Limits,
        host: &mut dyn Host,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let session = Session::new(None, cancelled, limits);
        let messages = Messages::new(host, self.tally);
        let start = (self.caller == Caller::Command).then_some(self.start);
        Work { settings: &self.settings, start, messages }.run(modules.into_iter().collect(), &session)
    }
}
