//! Which phases run and which are shown: what `--disable-pass`, `--pass-limit` and `--dump-after` name.
//!
//! To find the phase that breaks a program, a search over `--pass-limit` switches the runs of optional
//! phases on one after the other. Runs are numbered from 1 over the whole module, the same way whatever
//! else is switched off: the functions in the order of their calls, callees first, each with its phases
//! in the order of the table; then the reordering of each function's instructions.

use crate::error::CompileError;
use crate::pipeline::CompileOptions;
use oriole_opt::table::{PHASES, Phase, Work};

/// The allocator, a stage of the back end that can be dumped after.
pub(crate) const ALLOCATION: (u16, &str) = (101, "AdvancedPhaseAllocReg");
/// The scheduler, another one. Without it instructions keep their order and only get control words.
pub(crate) const SCHEDULING: (u16, &str) = (106, "AdvancedPhasePostSched");

/// The highest `-O` level.
const HIGHEST_LEVEL: u8 = 3;

/// Names of what [`CompileOptions::disabled_passes`] can name where the level is at least 1.
pub fn optional_passes() -> impl Iterator<Item = &'static str> {
    PHASES.iter().filter(|phase| phase.is_optional()).map(|phase| phase.name).chain([SCHEDULING.1])
}

/// The phases that may run in a compilation.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    disabled: Vec<String>,
    limit: u64,
    /// Names of the optional phases that run in each function, in order.
    phases: Vec<&'static str>,
}

/// What `--pass-limit` let run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassCount {
    /// Runs of optional phases that the compilation has without a limit.
    pub all: u64,
    /// Those of them that are within the limit; the ones of phases that are left out count too.
    pub run: u64,
    /// Phase and function of the last run within the limit, if any is.
    pub last: Option<(&'static str, String)>,
}

impl Selection {
    /// The selection that the options ask for, if every name in them is one that has an effect.
    pub(crate) fn new(options: &CompileOptions) -> Result<Self, CompileError> {
        if options.opt_level > HIGHEST_LEVEL {
            return Err(CompileError::Level(options.opt_level));
        }
        let runs =
            |level: u8| PHASES.iter().filter(move |p| matches!(p.work, Work::Run { level: from, .. } if from <= level));
        let stages = [ALLOCATION.1, SCHEDULING.1];
        let shown: Vec<&str> = runs(options.opt_level).map(|p| p.name).chain(stages).collect();
        check("to show at this level", &options.dump_after, &shown)?;
        let at_level: Vec<&str> = optional_passes().filter(|_| options.opt_level > 0).collect();
        check("to leave out at this level", &options.disabled_passes, &at_level)?;
        if options.pass_limit.is_some() && at_level.is_empty() {
            return Err(CompileError::PassLimit);
        }
        let phases = runs(options.opt_level).filter(|p| p.is_optional()).map(|p| p.name).collect();
        Ok(Selection {
            disabled: options.disabled_passes.clone(),
            limit: options.pass_limit.unwrap_or(u64::MAX),
            phases,
        })
    }

    /// Whether an optional phase may run on the function that is optimised as number `function`, from 0.
    pub(crate) fn admits(&self, function: usize, phase: &Phase) -> bool {
        let Some(at) = self.phases.iter().position(|name| *name == phase.name) else { return false };
        self.enabled(phase.name) && ((function * self.phases.len() + at) as u64) < self.limit
    }

    /// Whether the instructions of the function that is scheduled as number `function` of `all` may change places.
    pub(crate) fn reorders(&self, function: usize, all: usize) -> bool {
        !self.phases.is_empty()
            && self.enabled(SCHEDULING.1)
            && ((all * self.phases.len() + function) as u64) < self.limit
    }

    /// What the limit let run, of functions optimised and scheduled in these orders.
    pub(crate) fn count(&self, optimised: &[&str], scheduled: &[&str]) -> PassCount {
        let phases = optimised.iter().flat_map(|function| self.phases.iter().map(move |phase| (*phase, *function)));
        let reordering = scheduled.iter().filter(|_| !self.phases.is_empty()).map(|function| (SCHEDULING.1, *function));
        let runs: Vec<(&'static str, &str)> = phases.chain(reordering).collect();
        let within = usize::try_from(self.limit).unwrap_or(runs.len()).min(runs.len());
        let last = runs[..within].last().map(|(phase, function)| (*phase, (*function).to_owned()));
        PassCount { all: runs.len() as u64, run: within as u64, last }
    }

    fn enabled(&self, name: &str) -> bool {
        !self.disabled.iter().any(|disabled| disabled == name)
    }
}

fn check(what: &'static str, wanted: &[String], known: &[&str]) -> Result<(), CompileError> {
    match wanted.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(CompileError::NoPhase { name: name.clone(), what, known: known.join(" ") }),
        None => Ok(()),
    }
}
