//! Numbers of runs, for `--pass-limit`: to find the pass that breaks a program, a search switches the runs of optional
//! passes on one after the other. Runs are numbered from 1 over all that a compilation does, the same way whatever else
//! is left out: what comes before the limit does not depend on it.

use crate::{Limit, Settings};

/// What `--pass-limit` let run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassCount {
    /// Runs of optional passes that the compilation has without a limit.
    pub all: u64,
    /// Those of them that are within the limit; the ones of passes that are left out count too.
    pub run: u64,
    /// The last run within the limit, if any is.
    pub last: Option<LastRun>,
}

impl PassCount {
    /// The count of a compilation whose second half is `behind`.
    pub fn then(self, behind: PassCount) -> PassCount {
        PassCount { all: self.all + behind.all, run: self.run + behind.run, last: behind.last.or(self.last) }
    }
}

/// The last run within the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastRun {
    /// The pass.
    pub pass: &'static str,
    /// The unit that it ran on.
    pub unit: String,
    /// Rewrites that it made, where it counts them.
    pub rewrites: u64,
    /// The rule of the last of them.
    pub rule: Option<&'static str>,
}

/// Gives out the numbers of runs.
#[derive(Debug)]
pub struct Numbering {
    limit: Limit,
    next: u64,
    last: Option<LastRun>,
}

impl Numbering {
    /// Numbers from 1 on, with the limit of the settings.
    pub fn new(settings: &Settings) -> Numbering {
        Numbering { limit: settings.limit.unwrap_or(Limit::runs(u64::MAX)), next: 0, last: None }
    }

    /// Numbers for the optional passes `names` on each of the units, unit by unit: how many runs come before them.
    pub fn open(&mut self, names: &[&'static str], units: &[&str]) -> u64 {
        let (first, count) = (self.next, (names.len() * units.len()) as u64);
        self.next += count;
        let at = self.limit.runs.min(self.next).checked_sub(first + 1);
        // Below the number of runs, which is a `usize`.
        if let Some(at) = at.map(|at| at as usize) {
            let (unit, pass) = (units[at / names.len()].to_owned(), names[at % names.len()]);
            self.last = Some(LastRun { pass, unit, rewrites: 0, rule: None });
        }
        first
    }

    /// What the last run within the limit did, as some record has it.
    pub fn note(&mut self, did: Option<(u64, Option<&'static str>)>) {
        if let (Some(last), Some((rewrites, rule))) = (&mut self.last, did) {
            (last.rewrites, last.rule) = (rewrites, rule);
        }
    }

    /// All of it.
    pub fn count(self) -> PassCount {
        PassCount { all: self.next, run: self.next.min(self.limit.runs), last: self.last }
    }
}
