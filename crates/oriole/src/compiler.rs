//! The compiler and its settings.

use crate::compiled::{self, Compiled};
use crate::error::{CompileError, SettingError};
use crate::function::{self, Function, OwnPass};
use crate::limits::{CancelToken, Limits};
use crate::observer::Pass;
use oriole_codegen::{CompileOptions, Session, UserPass};
use oriole_ptx::diag::SourceMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// What the cubin tells debuggers and profilers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DebugInfo {
    /// Stack frames only.
    #[default]
    None,
    /// Source lines too.
    Lines,
    /// Source lines and functions. As with ptxas it goes with level 0, where every line's code stays where it is.
    Full,
}

/// How much of a level is left out so that compiling takes less time, as ptxas's `--Ofast-compile` has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FastCompile {
    /// Nothing.
    #[default]
    Off,
    /// What takes much time for little.
    Min,
    /// What takes time, where much of what it is good for stays.
    Mid,
    /// All that does not save as much time behind it as it takes.
    Max,
}

/// What messages call PTX that the caller gave no name.
const UNNAMED_PTX: &str = "<ptx>";

/// What observers are.
pub(crate) type Observer = dyn Fn(&Pass<'_>) + Send + Sync;

/// Compiles modules, any number of them and from any number of threads at a time.
///
/// The same input and settings give the same bytes, on every machine and with any number of jobs.
#[derive(Clone)]
pub struct Compiler {
    pub(crate) options: CompileOptions,
    limits: Limits,
    cancel: Option<CancelToken>,
    observer: Option<Arc<Observer>>,
    /// Each with the name of the pass behind which it runs.
    passes: Vec<(String, Arc<OwnPass>)>,
    /// Whether the registers that hold values are counted.
    pub(crate) live: bool,
}

impl Compiler {
    /// Settings to start from: level 3, the target and all kernels of the module.
    pub fn builder() -> CompilerBuilder {
        CompilerBuilder {
            target: None,
            compiler: Compiler {
                options: CompileOptions::default(),
                limits: Limits::default(),
                cancel: None,
                observer: None,
                passes: Vec::new(),
                live: false,
            },
        }
    }

    /// Compiles PTX.
    ///
    /// # Errors
    /// Everything that is wrong with the text, each with its place; or why there is no code for it.
    pub fn compile_ptx(&self, ptx: &str) -> Result<Compiled, CompileError> {
        let name = self.file_name_or(UNNAMED_PTX);
        let source = SourceMap::new(name, ptx);
        self.in_session(|session| {
            let compiled = oriole_codegen::compile_in(ptx, &self.options, session);
            let mut compiled = compiled.map_err(|error| CompileError::from_codegen(error, Some(&source)))?;
            compiled::describe(&mut compiled, Some(name), self.live)
        })
    }

    /// What messages call the input.
    pub(crate) fn file_name_or<'a>(&'a self, unnamed: &'a str) -> &'a str {
        if self.options.file_name.is_empty() { unnamed } else { &self.options.file_name }
    }

    /// Does `work`, and ends it where the compilation must not go on.
    pub(crate) fn in_session<T>(
        &self,
        work: impl FnOnce(&Session<'_>) -> Result<T, CompileError>,
    ) -> Result<T, CompileError> {
        let forward = self
            .observer
            .as_deref()
            .map(|observer| move |event: &oriole_codegen::PassEvent<'_>| observer(&Pass::new(event)));
        let observer = forward.as_ref().map(|forward| forward as &oriole_codegen::Observer<'_>);
        let cancelled = self.cancel.as_ref().map(|token| token.0.clone());
        let rewrites: Vec<_> = self.passes.iter().map(|(_, pass)| function::rewrite(&**pass)).collect();
        let own = self.passes.iter().zip(&rewrites).map(|((place, _), rewrite)| UserPass { place, rewrite });
        let session = Session::new(observer, cancelled, self.limits.inner()).with_passes(own.collect());
        session.watched(|| work(&session)).map_err(|error| CompileError::from_codegen(error, None))?
    }
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Compiler");
        out.field("options", &self.options).field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Settings of a [`Compiler`].
#[derive(Clone, Debug)]
#[must_use]
pub struct CompilerBuilder {
    target: Option<String>,
    compiler: Compiler,
}

impl CompilerBuilder {
    /// The target, such as `sm_90a`; else the module's own.
    pub fn target(mut self, name: impl Into<String>) -> Self {
        self.target = Some(name.into());
        self
    }

    /// `-O` level, 0 to 3; else 3.
    pub fn opt_level(mut self, level: u8) -> Self {
        self.compiler.options.opt_level = level;
        self.compiler.options.level_is_chosen = true;
        self
    }

    /// Upper bound of general registers per thread.
    pub fn max_registers(mut self, count: u32) -> Self {
        self.compiler.options.maxrregcount = Some(count);
        self
    }

    /// Compiles this kernel, and no others but those that are named likewise.
    pub fn entry(mut self, name: impl Into<String>) -> Self {
        self.compiler.options.entries.push(name.into());
        self
    }

    /// How much of the level is left out so that compiling takes less time; else nothing.
    pub fn fast_compile(mut self, how_much: FastCompile) -> Self {
        self.compiler.options.fast_compile = match how_much {
            FastCompile::Off => oriole_codegen::FastCompile::Off,
            FastCompile::Min => oriole_codegen::FastCompile::Min,
            FastCompile::Mid => oriole_codegen::FastCompile::Mid,
            FastCompile::Max => oriole_codegen::FastCompile::Max,
        };
        self
    }

    /// Sets what can be tuned to an integer, a decimal number or a truth value; `oriole compile --knob list=1` prints all with
    /// their types.
    pub fn knob(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.compiler.options.knobs.push(format!("{name}={value}"));
        self
    }

    /// Leaves out an optional pass, by its published name.
    pub fn disable_pass(mut self, name: impl Into<String>) -> Self {
        self.compiler.options.disabled_passes.push(name.into());
        self
    }

    /// Threads that work on the functions of one module side by side, 1024 at most; else the caller's own alone.
    pub fn jobs(mut self, jobs: NonZeroUsize) -> Self {
        self.compiler.options.jobs = jobs.get();
        self
    }

    /// Proves the code after every pass, and the allocation; what does not hold is an internal error.
    pub fn verify(mut self, verify: bool) -> Self {
        self.compiler.options.verify = verify;
        self
    }

    /// What the cubin tells debuggers.
    pub fn debug_info(mut self, debug: DebugInfo) -> Self {
        self.compiler.options.debug = match debug {
            DebugInfo::None => oriole_codegen::DebugInfo::None,
            DebugInfo::Lines => oriole_codegen::DebugInfo::Lines,
            DebugInfo::Full => oriole_codegen::DebugInfo::Full,
        };
        self
    }

    /// Tells of each kernel how many registers hold values at each instruction ([`Kernel::live`](crate::Kernel::live)). The
    /// cubin does not depend on it.
    pub fn live_registers(mut self, live: bool) -> Self {
        self.compiler.live = live;
        self
    }

    /// What messages and line information call the input; messages call one without a name `<ptx>` or `<llvm>`.
    pub fn file_name(mut self, name: impl Into<String>) -> Self {
        self.compiler.options.file_name = name.into();
        self
    }

    /// Makes an object file for a linker.
    pub fn relocatable(mut self, relocatable: bool) -> Self {
        self.compiler.options.relocatable = relocatable;
        self
    }

    /// Static shared memory may be as large as a block can have (`--enable-extended-smem` of ptxas), as CUDA Tile's kernels need it.
    pub fn extended_shared(mut self, extended: bool) -> Self {
        self.compiler.options.extended_shared = extended;
        self
    }

    /// What each compilation may cost.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.compiler.limits = limits;
        self
    }

    /// Ends compilations soon after the token is cancelled; in programs whose panics do not unwind, behind the pass that they are in.
    pub fn cancel(mut self, token: CancelToken) -> Self {
        self.compiler.cancel = Some(token);
        self
    }

    /// Calls `observer` after each pass on each function. With several jobs it is called by several threads at a time;
    /// the passes of one function come in their order always.
    pub fn observe(mut self, observer: impl Fn(&Pass<'_>) + Send + Sync + 'static) -> Self {
        self.compiler.observer = Some(Arc::new(observer));
        self
    }

    /// Runs a pass of the caller's own on each function, behind the pass of that published name (`oriole phases --pipeline` lists
    /// them; up to slot 107, before allocation), whether that one runs or not. Several at one place run in the order in which
    /// they were given. What it leaves is verified. With several jobs it is called by several threads at a time.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { bar.sync 0; bar.sync 0; ret; }";
    /// // Of two barriers one after the other, one is enough.
    /// let compiler = oriole::Compiler::builder().pass("OriBranchOpt", |function| {
    ///     let barriers: Vec<_> = function.instructions().filter(|inst| inst.opcode() == "BAR").map(|inst| inst.place()).collect();
    ///     for two in barriers.windows(2).filter(|two| two[0].is_next_to(two[1])) {
    ///         function.remove(two[1]);
    ///     }
    ///     Ok(())
    /// });
    /// let compiled = compiler.build()?.compile_ptx(ptx)?;
    /// assert_eq!(oriole::disassemble(compiled.cubin.as_bytes())?.matches("BAR").count(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn pass(
        mut self,
        behind: impl Into<String>,
        pass: impl Fn(&mut Function) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.compiler.passes.push((behind.into(), Arc::new(pass)));
        self
    }

    /// The compiler.
    ///
    /// # Errors
    /// A setting that makes no sense: an unknown target, level, knob or pass.
    pub fn build(mut self) -> Result<Compiler, SettingError> {
        let wrong = |error: oriole_codegen::CompileError| SettingError(error.to_string());
        let target = self.target.as_deref().map(oriole_codegen::target).transpose().map_err(wrong)?;
        self.compiler.options.target = target;
        self.compiler.options.check().map_err(wrong)?;
        let places: Vec<&str> = oriole_codegen::places(self.compiler.options.opt_level).collect();
        if let Some((place, _)) = self.compiler.passes.iter().find(|(place, _)| !places.contains(&place.as_str())) {
            let known = places.join(" ");
            return Err(SettingError(format!(
                "no phase '{place}' to run a pass behind at this level; there are: {known}"
            )));
        }
        Ok(self.compiler)
    }
}
