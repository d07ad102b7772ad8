//! What came of passes.

use crate::{Changed, Pass, Tally};
use std::time::Duration;

/// A unit as text after a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// The unit's name.
    pub unit: String,
    /// The pass's published number; its place in the pipeline where there are none.
    pub number: u16,
    /// The pass's name.
    pub pass: &'static str,
    /// The unit.
    pub text: String,
}

/// A part of a compilation, with the time that it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// A stage, a pass.
    pub name: String,
    /// Time on the host, of all threads together.
    pub time: Duration,
    /// How often a pass ran; 0 of what is no pass.
    pub runs: u64,
    /// How many of these runs changed something.
    pub changed: u64,
    /// Rewrites by rule, those that there were.
    pub rewrites: Vec<(&'static str, u64)>,
    /// The parts of which it is.
    pub parts: Vec<Timing>,
}

impl Timing {
    /// A stage without parts.
    pub fn stage(name: &str, time: Duration) -> Timing {
        Timing { name: name.to_owned(), time, ..Timing::default() }
    }

    /// A stage whose time is that of its parts.
    pub fn of_parts(name: &str, parts: Vec<Timing>) -> Timing {
        let time = parts.iter().map(|part| part.time).sum();
        Timing { name: name.to_owned(), time, parts, ..Timing::default() }
    }
}

/// What one entry of a pipeline did on all units.
#[derive(Clone, Debug, Default)]
struct Line {
    time: Duration,
    runs: u64,
    changed: u64,
    rewrites: Vec<u64>,
}

/// What the passes of a pipeline did.
#[derive(Clone, Debug, Default)]
pub struct Record {
    lines: Vec<Line>,
    /// The units that were asked for as text, in order.
    pub dumps: Vec<Dump>,
    /// Of the last run within a limit, if it is here: its rewrites, and the rule of the last one.
    pub last: Option<(u64, Option<&'static str>)>,
}

impl Record {
    /// Notes a run of the pass that is entry `at` of its list.
    pub fn note<R>(&mut self, at: usize, pass: &Pass<R>, changed: Changed, time: Duration, tally: &Tally) {
        if self.lines.len() <= at {
            self.lines.resize(at + 1, Line::default());
        }
        let line = &mut self.lines[at];
        line.time += time;
        line.runs += 1;
        line.changed += u64::from(changed == Changed::Yes);
        if tally.last().is_some() {
            line.rewrites.resize(pass.rules.len(), 0);
            line.rewrites.iter_mut().zip(tally.counts()).for_each(|(sum, count)| *sum += count);
        }
    }

    /// Adds what was noted on other units of the same pipeline.
    pub fn add(&mut self, other: Record) {
        if self.lines.len() < other.lines.len() {
            self.lines.resize(other.lines.len(), Line::default());
        }
        for (line, more) in self.lines.iter_mut().zip(other.lines) {
            line.time += more.time;
            line.runs += more.runs;
            line.changed += more.changed;
            line.rewrites.resize(line.rewrites.len().max(more.rewrites.len()), 0);
            line.rewrites.iter_mut().zip(more.rewrites).for_each(|(sum, count)| *sum += count);
        }
        self.dumps.extend(other.dumps);
        self.last = self.last.or(other.last);
    }

    /// The passes that ran, in order, with times and counts.
    pub fn timings<R>(&self, list: &[Pass<R>]) -> Vec<Timing> {
        let ran = list.iter().zip(&self.lines).filter(|(_, line)| line.runs > 0);
        ran.map(|(pass, line)| {
            let counted = pass.rules.iter().copied().zip(line.rewrites.iter().copied());
            Timing {
                runs: line.runs,
                changed: line.changed,
                rewrites: counted.filter(|(_, count)| *count > 0).collect(),
                ..Timing::stage(pass.name, line.time)
            }
        })
        .collect()
    }
}
