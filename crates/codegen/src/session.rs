//! What the caller of a compilation sees of it, and how it ends it early.

use crate::bounds::Bounds;
use crate::error::CompileError;
use oriole_checkpoint::{Ended, unwatched, watched};
use oriole_isa::Arch;
use oriole_opt::pipeline::Code;
use oriole_opt::{PhaseError, Watcher};
use oriole_ori::verify::verify;
use oriole_ori::{Function, Module};
use oriole_passes::{Changed, Pass, Tally};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How much one compilation may do; no limit where a field is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Functions with a body that the module may have.
    pub functions: Option<usize>,
    /// Instructions that the module's functions may have together, after lowering and after optimisation.
    pub instructions: Option<usize>,
    /// Time on the host from the start.
    pub time: Option<Duration>,
    /// Bytes by which the process may grow from the start on, on Linux. It is looked at now and then, so that it may be more for
    /// some milliseconds; all threads of the process count.
    pub memory: Option<u64>,
}

/// One function after one pass.
#[derive(Clone, Copy, Debug)]
pub struct PassEvent<'a> {
    /// The pass's published number.
    pub number: u16,
    /// Its name.
    pub name: &'a str,
    /// The function as the pass left it.
    pub function: &'a Function,
    /// Whether the pass changed it.
    pub changed: bool,
    /// How long the pass took on this function, where that is known of the function alone.
    pub time: Option<Duration>,
}

/// What is called after each pass: by several threads at a time where there are several jobs.
pub type Observer<'a> = dyn Fn(&PassEvent<'_>) + Sync + 'a;

/// What a pass of the caller's own makes of a function's name, its generation (`sm_90`) and its text: the new text, if it is another.
pub type Rewrite<'a> = dyn Fn(&str, &str, &str) -> Result<Option<String>, String> + Sync + 'a;

/// A pass of the caller's own.
#[derive(Clone, Copy)]
pub struct UserPass<'a> {
    /// The pass at whose place it runs, behind it.
    pub place: &'a str,
    /// What it does.
    pub rewrite: &'a Rewrite<'a>,
}

/// One compilation as its caller follows it.
pub struct Session<'a> {
    observer: Option<&'a Observer<'a>>,
    passes: Vec<UserPass<'a>>,
    bounds: Arc<Bounds>,
}

impl Default for Session<'_> {
    /// Nobody looks, nothing is limited.
    fn default() -> Self {
        Session::new(None, None, Limits::default())
    }
}

impl<'a> Session<'a> {
    /// A compilation that begins now; it ends soon after `cancelled` becomes true.
    pub fn new(observer: Option<&'a Observer<'a>>, cancelled: Option<Arc<AtomicBool>>, limits: Limits) -> Self {
        Session { observer, passes: Vec::new(), bounds: Arc::new(Bounds::new(cancelled, limits)) }
    }

    /// The same with passes of the caller's own; several at one place run in this order.
    pub fn with_passes(self, passes: Vec<UserPass<'a>>) -> Self {
        Session { passes, ..self }
    }

    /// Why the compilation must not go on, if it must not.
    ///
    /// # Errors
    /// It was cancelled, its time is over, or the process has grown too much.
    pub fn poll(&self) -> Result<(), CompileError> {
        self.bounds.poll()
    }

    /// Does a part of the compilation, which ends at the next checkpoint once it must not go on ([`oriole_checkpoint`]).
    ///
    /// # Errors
    /// Why it was ended; see [`Session::poll`].
    pub fn watched<T>(&self, work: impl FnOnce() -> T) -> Result<T, CompileError> {
        if self.bounds.are_open() {
            return Ok(work());
        }
        let bounds = self.bounds.clone();
        watched(Arc::new(move || bounds.poll().is_err()), work)
            .map_err(|Ended| self.poll().err().unwrap_or(CompileError::Cancelled))
    }

    pub(crate) fn check_functions(&self, ast: &oriole_ptx::ast::Module) -> Result<(), CompileError> {
        let Some(limit) = self.bounds.limits.functions else { return Ok(()) };
        let count = ast.functions().filter(|function| function.body.is_some()).count();
        within("functions", count, limit)
    }

    pub(crate) fn check_instructions(&self, module: &Module) -> Result<(), CompileError> {
        let Some(limit) = self.bounds.limits.instructions else { return Ok(()) };
        within("instructions", module.functions.values().map(|func| func.iter_insts().count()).sum(), limit)
    }

    pub(crate) fn after_pass(
        &self,
        number: u16,
        name: &str,
        function: &Function,
        changed: Changed,
        time: Option<Duration>,
    ) {
        if let Some(observer) = self.observer {
            unwatched(|| observer(&PassEvent { number, name, function, changed: changed == Changed::Yes, time }));
        }
    }
}

impl Watcher for Session<'_> {
    fn after(&self, pass: &Pass<Code>, func: &Function, changed: Changed, time: Option<Duration>, _: &Tally) {
        self.after_pass(pass.number(), pass.name, func, changed, time);
    }

    fn rewrite(&self, pass: &Pass<Code>, arch: Arch, func: &mut Function) -> Result<Changed, PhaseError> {
        let mut changed = Changed::No;
        for user in self.passes.iter().filter(|user| user.place == pass.name) {
            let wrong =
                |reason: String| PhaseError::User { function: func.name().to_owned(), place: pass.name, reason };
            let text = func.to_string();
            let text = unwatched(|| (user.rewrite)(func.name(), &arch.to_string(), &text));
            if let Some(text) = text.map_err(wrong)? {
                *func = read_back(func, arch, &text).map_err(wrong)?;
                changed = Changed::Yes;
            }
        }
        Ok(changed)
    }

    fn is_stopped(&self) -> bool {
        self.poll().is_err()
    }
}

/// The function that the text is, if it can stand in the place of the other.
fn read_back(before: &Function, arch: Arch, text: &str) -> Result<Function, String> {
    let func: Function = text.parse().map_err(|error: oriole_ori::text::ParseError| error.to_string())?;
    if (func.name(), func.kind()) != (before.name(), before.kind()) {
        return Err("it must stay what it is: name and kind".to_owned());
    }
    verify(&func, arch).map_err(|faults| faults.first().map_or_else(String::new, ToString::to_string))?;
    Ok(func)
}

fn within(what: &'static str, count: usize, limit: usize) -> Result<(), CompileError> {
    if count <= limit { Ok(()) } else { Err(CompileError::Limit { what, count, limit }) }
}
