//! What a campaign has done and found: in words, and as JSON.

use crate::commands::failure::{Failure, rejected};
use crate::commands::shard::Part;
use crate::fuzz::{Finding, Tally};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// The object of `--json`.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::commands) struct Report {
    /// Which part it is of what other machines do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shard: Option<Part>,
    pub(super) seed: u64,
    /// Number of the first program, and how many.
    pub(super) first: u64,
    pub(super) count: u64,
    pub(super) seconds: f64,
    /// Where programs are mutants.
    pub(super) mutants: Option<Mutated>,
    /// Where they are mutants with guards.
    pub(super) guards: Option<Guarded>,
    /// In the order of the programs.
    pub(super) findings: Vec<Found>,
}

/// How many mutants came how far: see [`Tally`].
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Mutated {
    modules: u64,
    compiled: u64,
    run: u64,
}

/// Forms under a guard that is false in half of the lanes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Guarded {
    /// How many were compared.
    compared: u64,
    /// The others, by the reason; the names are sorted.
    not_compared: BTreeMap<String, Vec<String>>,
}

/// A program on which the sides differ.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Found {
    number: u64,
    difference: String,
    /// Only optimised code of ptxas differs.
    of_ptxas: bool,
    /// The program's file.
    program: String,
}

impl From<Finding> for Found {
    fn from(Finding { number, case, difference, is_ptxas }: Finding) -> Found {
        Found { number, difference, of_ptxas: is_ptxas, program: case.to_string() }
    }
}

impl From<&Tally> for Mutated {
    fn from(tally: &Tally) -> Mutated {
        let [modules, compiled, run] =
            [&tally.modules, &tally.taken, &tally.compared].map(|count| count.load(Ordering::Relaxed));
        Mutated { modules, compiled, run }
    }
}

impl From<&Tally> for Guarded {
    fn from(tally: &Tally) -> Guarded {
        let mut not_compared = tally.not_halved.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // They came in the order in which threads were ready.
        not_compared.values_mut().for_each(|names| names.sort());
        Guarded { compared: tally.halved.load(Ordering::Relaxed), not_compared }
    }
}

impl Report {
    /// The report of a whole run, from those of its shards in order.
    pub(super) fn whole(shards: Vec<Report>) -> Option<Report> {
        shards.into_iter().reduce(Report::and).map(|whole| Report { shard: None, ..whole })
    }

    /// With what the next shard says.
    fn and(mut self, next: Report) -> Report {
        self.count += next.count;
        self.seconds += next.seconds;
        self.findings.extend(next.findings);
        if let (Some(mutants), Some(more)) = (&mut self.mutants, next.mutants) {
            mutants.modules += more.modules;
            mutants.compiled += more.compiled;
            mutants.run += more.run;
        }
        if let (Some(guards), Some(more)) = (&mut self.guards, next.guards) {
            guards.compared += more.compared;
            for (reason, names) in more.not_compared {
                let all = guards.not_compared.entry(reason).or_default();
                all.extend(names);
                all.sort();
            }
        }
        self
    }

    /// How many findings are not of ptxas alone.
    fn ours(&self) -> usize {
        self.findings.iter().filter(|found| !found.of_ptxas).count()
    }

    /// The last lines that are printed.
    pub(super) fn text(&self) -> String {
        let Report { seed, count, seconds, findings, .. } = self;
        let mut text = match &self.mutants {
            None => {
                let (ours, of_ptxas) = (self.ours(), findings.len() - self.ours());
                format!(
                    "{count} programs, {ours} findings, {of_ptxas} of optimised ptxas, seed {seed}, {seconds:.1} s\n"
                )
            }
            Some(Mutated { modules, compiled, run }) => format!(
                "{modules} modules, {compiled} compiled, {run} run, {} findings, seed {seed}, {seconds:.1} s\n",
                findings.len()
            ),
        };
        if let Some(Guarded { compared, not_compared }) = &self.guards {
            let all = compared + not_compared.values().map(|names| names.len() as u64).sum::<u64>();
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                text,
                "{all} with a launch, {compared} compared under a guard that is false in half of the lanes"
            );
            for (reason, names) in not_compared {
                let _ = writeln!(text, "{:6} not: {reason}", names.len());
            }
        }
        text
    }

    /// Which forms were not compared under a guard, and why: a line each.
    pub(super) fn not_compared(&self) -> String {
        let reasons = self.guards.iter().flat_map(|guards| &guards.not_compared);
        reasons.flat_map(|(reason, names)| names.iter().map(move |name| format!("{name}\t{reason}\n"))).collect()
    }

    /// All of it.
    pub(super) fn json(&self) -> Result<String, Failure> {
        serde_json::to_string_pretty(self).map(|text| text + "\n").map_err(rejected)
    }

    /// Exit status 1 if anything was found.
    pub(super) fn verdict(&self) -> Result<(), Failure> {
        match (self.ours(), &self.mutants) {
            (0, _) => Ok(()),
            (ours, None) => Err(Failure::Rejected(format!("error: the sides differ on {ours} programs"))),
            (count, Some(_)) => Err(Failure::Rejected(format!("error: {count} findings"))),
        }
    }
}
