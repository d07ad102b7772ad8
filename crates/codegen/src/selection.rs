//! Which phases run and which are shown: what `--disable-pass`, `--pass-limit` and `--dump-after` name.
//!
//! To find the phase that breaks a program, a search over `--pass-limit` switches the runs of optional
//! phases on one after the other. Runs are numbered from 1 over the whole module, the same way whatever
//! else is switched off: the functions in the order of their calls, callees first, each with its phases
//! in the order of the table; then the reordering of each function's instructions.

use crate::error::CompileError;
use crate::pipeline::CompileOptions;
use oriole_opt::pipeline::{Code, PIPELINE};
use oriole_passes::{Pass, PassInfo, Repetition};

const fn stage(name: &'static str, slots: &'static [u16], level: u8, needed: bool) -> PassInfo {
    Pass { name, slots, level, needed, repetition: Repetition::Once, run: () }
}

/// The allocator.
pub(crate) const ALLOCATION: PassInfo = stage("AdvancedPhaseAllocReg", &[101], 0, true);
/// The reordering of instructions. Without it they keep their places and only get control words.
pub(crate) const SCHEDULING: PassInfo = stage("AdvancedPhasePostSched", &[106], 1, false);

/// All passes between lowering and encoding, in the order in which they run.
pub fn passes() -> impl Iterator<Item = PassInfo> {
    PIPELINE.iter().map(Pass::info).chain([ALLOCATION, SCHEDULING])
}

/// The highest `-O` level.
const HIGHEST_LEVEL: u8 = 3;

/// Names of what [`CompileOptions::disabled_passes`] can name where the level is at least 1.
pub fn optional_passes() -> impl Iterator<Item = &'static str> {
    passes().filter(|pass| !pass.needed).map(|pass| pass.name)
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
        let runs = |level: u8| PIPELINE.iter().filter(move |pass| pass.level <= level);
        let stages = [ALLOCATION.name, SCHEDULING.name];
        let shown: Vec<&str> = runs(options.opt_level).map(|pass| pass.name).chain(stages).collect();
        check("to show at this level", &options.dump_after, &shown)?;
        let at_level: Vec<&str> = optional_passes().filter(|_| options.opt_level > 0).collect();
        check("to leave out at this level", &options.disabled_passes, &at_level)?;
        if options.pass_limit.is_some() && at_level.is_empty() {
            return Err(CompileError::PassLimit);
        }
        let phases = runs(options.opt_level).filter(|pass| !pass.needed).map(|pass| pass.name).collect();
        Ok(Selection {
            disabled: options.disabled_passes.clone(),
            limit: options.pass_limit.unwrap_or(u64::MAX),
            phases,
        })
    }

    /// Whether an optional phase may run on the function that is optimised as number `function`, from 0.
    pub(crate) fn admits(&self, function: usize, phase: &Pass<Code>) -> bool {
        let Some(at) = self.phases.iter().position(|name| *name == phase.name) else { return false };
        self.enabled(phase.name) && ((function * self.phases.len() + at) as u64) < self.limit
    }

    /// Whether the instructions of the function that is scheduled as number `function` of `all` may change places.
    pub(crate) fn reorders(&self, function: usize, all: usize) -> bool {
        !self.phases.is_empty()
            && self.enabled(SCHEDULING.name)
            && ((all * self.phases.len() + function) as u64) < self.limit
    }

    /// What the limit let run, of functions optimised and scheduled in these orders.
    pub(crate) fn count(&self, optimised: &[&str], scheduled: &[&str]) -> PassCount {
        let phases = optimised.iter().flat_map(|function| self.phases.iter().map(move |phase| (*phase, *function)));
        let reordering =
            scheduled.iter().filter(|_| !self.phases.is_empty()).map(|function| (SCHEDULING.name, *function));
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
