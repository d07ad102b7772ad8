//! What the caller of a compilation sees of it, and how it ends it early.

use crate::error::CompileError;
use oriole_isa::Arch;
use oriole_opt::pipeline::Code;
use oriole_opt::{PhaseError, Watcher};
use oriole_ori::{Function, Module};
use oriole_passes::{Changed, Pass};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How much one compilation may do; no limit where a field is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Functions with a body that the module may have.
    pub functions: Option<usize>,
    /// Instructions that the module's functions may have together, after lowering and after optimisation.
    pub instructions: Option<usize>,
    /// Time on the host from the start.
    pub time: Option<Duration>,
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

/// One compilation as its caller follows it.
pub struct Session<'a> {
    observer: Option<&'a Observer<'a>>,
    cancelled: Option<&'a AtomicBool>,
    limits: Limits,
    start: Instant,
}

impl Default for Session<'_> {
    /// Nobody looks, nothing is limited.
    fn default() -> Self {
        Session::new(None, None, Limits::default())
    }
}

impl<'a> Session<'a> {
    /// A compilation that begins now; it ends soon after `cancelled` becomes true.
    pub fn new(observer: Option<&'a Observer<'a>>, cancelled: Option<&'a AtomicBool>, limits: Limits) -> Self {
        Session { observer, cancelled, limits, start: Instant::now() }
    }

    /// Why the compilation must not go on, if it must not.
    ///
    /// # Errors
    /// It was cancelled, or its time is over.
    pub fn poll(&self) -> Result<(), CompileError> {
        if self.cancelled.is_some_and(|cancelled| cancelled.load(Ordering::Relaxed)) {
            return Err(CompileError::Cancelled);
        }
        match self.limits.time.filter(|limit| self.start.elapsed() >= *limit) {
            Some(limit) => Err(CompileError::Time(limit)),
            None => Ok(()),
        }
    }

    pub(crate) fn check_functions(&self, ast: &oriole_ptx::ast::Module) -> Result<(), CompileError> {
        let Some(limit) = self.limits.functions else { return Ok(()) };
        let count = ast.functions().filter(|function| function.body.is_some()).count();
        within("functions", count, limit)
    }

    pub(crate) fn check_instructions(&self, module: &Module) -> Result<(), CompileError> {
        let Some(limit) = self.limits.instructions else { return Ok(()) };
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
            observer(&PassEvent { number, name, function, changed: changed == Changed::Yes, time });
        }
    }
}

impl Watcher for Session<'_> {
    fn after(&self, pass: &Pass<Code>, func: &Function, changed: Changed, time: Option<Duration>) {
        self.after_pass(pass.number(), pass.name, func, changed, time);
    }

    fn rewrite(&self, _: &Pass<Code>, _: Arch, _: &mut Function) -> Result<Changed, PhaseError> {
        Ok(Changed::No)
    }

    fn is_stopped(&self) -> bool {
        self.poll().is_err()
    }
}

fn within(what: &'static str, count: usize, limit: usize) -> Result<(), CompileError> {
    if count <= limit { Ok(()) } else { Err(CompileError::Limit { what, count, limit }) }
}
