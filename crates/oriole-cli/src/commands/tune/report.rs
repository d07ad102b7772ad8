//! What is said of searches: a table for people, JSON for programs.

use super::bench::{Measured, Reason, Timed, Unit};
use super::options::line;
use super::search::{Best, Refused, Step, Tried};
use super::space::Point;
use crate::commands::failure::{Failure, rejected};
use crate::commands::shard::Part;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::time::Duration;

/// What searches for one program have in common.
pub(super) struct Subject<'a> {
    pub(super) input: String,
    pub(super) target: String,
    /// Of the launches.
    pub(super) names: Vec<String>,
    /// What costs are counted in.
    pub(super) unit: Unit,
    pub(super) plain: (Measured, Vec<u32>),
    /// The options of `oriole compile` for a candidate.
    pub(super) options: &'a dyn Fn(&Point) -> Vec<String>,
}

/// The object of `--report`: of one search, or of several.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::commands) struct Report {
    /// Which part it is of what other machines do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shard: Option<Part>,
    input: String,
    target: String,
    /// That of the first search.
    pub(super) seed: u64,
    searches: u64,
    seconds: f64,
    /// Someone ended it.
    interrupted: bool,
    launches: Vec<String>,
    /// How many were tried, and how many different codes each search found among them.
    candidates: u64,
    codes: u64,
    plain: Candidate,
    best: Candidate,
    /// The steps of each search.
    improvements: Vec<Candidate>,
    refused: Vec<Dropped>,
}

/// What there is to say of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Candidate {
    /// The seed of the search, and how many that had tried with it; of plain code none.
    seed: Option<u64>,
    trial: Option<u64>,
    options: Vec<String>,
    #[serde(flatten)]
    cost: Cost,
    gain_percent: f64,
    registers: Vec<u32>,
    launches: Vec<Launched>,
}

/// A launch with a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Launched {
    name: String,
    #[serde(flatten)]
    cost: Cost,
    occupancy: Option<f64>,
}

/// A cost under the name of its unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Cost {
    Cycles(u64),
    Nanoseconds(u64),
}

/// A candidate that does not count.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Dropped {
    seed: u64,
    reason: Reason,
    message: String,
    options: Vec<String>,
}

/// By how many per cent of `plain` a cost is less.
pub(super) fn gain(plain: u64, cost: u64) -> f64 {
    100.0 * (1.0 - cost as f64 / plain.max(1) as f64)
}

impl Cost {
    fn of(unit: Unit, cost: u64) -> Cost {
        match unit {
            Unit::Cycles => Cost::Cycles(cost),
            Unit::Nanoseconds => Cost::Nanoseconds(cost),
        }
    }

    fn value(self) -> u64 {
        let (Cost::Cycles(cost) | Cost::Nanoseconds(cost)) = self;
        cost
    }

    fn unit(self) -> Unit {
        match self {
            Cost::Cycles(_) => Unit::Cycles,
            Cost::Nanoseconds(_) => Unit::Nanoseconds,
        }
    }
}

impl Subject<'_> {
    /// Before any search, whose seeds begin with this.
    pub(super) fn report(&self, seed: u64, seconds: Duration) -> Report {
        let plain = self.candidate(None, &Point::default(), &self.plain.0, &self.plain.1);
        Report {
            shard: None,
            input: self.input.clone(),
            target: self.target.clone(),
            seed,
            searches: 0,
            seconds: seconds.as_secs_f64(),
            interrupted: false,
            launches: self.names.clone(),
            candidates: 0,
            codes: 0,
            best: plain.clone(),
            plain,
            improvements: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Of one search.
    pub(super) fn searched(
        &self,
        seed: u64,
        best: &Best,
        tried: &Tried,
        seconds: Duration,
        is_interrupted: bool,
    ) -> Report {
        let at = |trial| Some((seed, trial));
        let step =
            |Step { trial, point, measured, registers }: &Step| self.candidate(at(*trial), point, measured, registers);
        let refused = |Refused { point, refusal }: &Refused| Dropped {
            seed,
            reason: refusal.reason,
            message: refusal.message.clone(),
            options: (self.options)(point),
        };
        let found = tried.steps.last().and_then(|step| at(step.trial));
        Report {
            searches: 1,
            interrupted: is_interrupted,
            candidates: tried.candidates,
            codes: tried.codes,
            best: self.candidate(found, &best.point, &best.measured, &best.code.registers),
            improvements: tried.steps.iter().map(step).collect(),
            refused: tried.refused.iter().map(refused).collect(),
            ..self.report(seed, seconds)
        }
    }

    fn candidate(&self, at: Option<(u64, u64)>, point: &Point, measured: &Measured, registers: &[u32]) -> Candidate {
        let launch = |(name, Timed { cost, occupancy }): (&String, &Timed)| Launched {
            name: name.clone(),
            cost: Cost::of(self.unit, *cost),
            occupancy: *occupancy,
        };
        Candidate {
            seed: at.map(|(seed, _)| seed),
            trial: at.map(|(_, trial)| trial),
            options: (self.options)(point),
            cost: Cost::of(self.unit, measured.cost()),
            gain_percent: gain(self.plain.0.cost(), measured.cost()),
            registers: registers.to_vec(),
            launches: self.names.iter().zip(&measured.launches).map(launch).collect(),
        }
    }
}

impl Report {
    /// The report of a whole run, from those of its shards in order.
    ///
    /// # Errors
    /// They have measured different code.
    pub(super) fn whole(shards: Vec<Report>) -> Result<Option<Report>, Failure> {
        if shards.windows(2).any(|pair| pair[0].plain != pair[1].plain) {
            return Err(rejected("plain -O3 is not the same in all shards: are they of one build of Oriole?"));
        }
        Ok(shards.into_iter().reduce(Report::and).map(|whole| Report { shard: None, ..whole }))
    }

    /// With the searches of the next. Of equals the first is the best.
    pub(super) fn and(mut self, next: Report) -> Report {
        self.searches += next.searches;
        self.seconds += next.seconds;
        self.interrupted |= next.interrupted;
        self.candidates += next.candidates;
        self.codes += next.codes;
        if next.best.cost.value() < self.best.cost.value() {
            self.best = next.best;
        }
        self.improvements.extend(next.improvements);
        self.refused.extend(next.refused);
        self
    }

    /// The table.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a `String` cannot fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let Report { input, target, candidates, codes, seconds, plain, best, .. } = self;
        let counted = |count: u64, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
        let launches = counted(self.launches.len() as u64, "launch", "launches");
        let searches = if self.searches == 1 { String::new() } else { counted(self.searches, "", "searches, ") };
        let end = if self.interrupted { ", interrupted" } else { "" };
        writeln!(
            out,
            "{input} for {target}, {launches}: {searches}{candidates} candidates, {codes} codes, {seconds:.1} s{end}"
        )?;
        let unit = plain.cost.unit().name();
        writeln!(out, "  {:<7} {unit:>9}  registers  occupancy", "")?;
        plain.write(out, "plain")?;
        best.write(out, "best")?;
        let options = line(&best.options);
        match best.gain_percent > 0.0 {
            true => writeln!(out, "{:.2}% fewer {unit} with: {options}", best.gain_percent)?,
            false => writeln!(out, "nothing is better than plain -O3: {options}")?,
        }
        for (reason, count, first) in self.by_reason() {
            writeln!(
                out,
                "refused: {count} {}, such as: {}",
                reason.words(),
                first.lines().next().unwrap_or_default()
            )?;
        }
        Ok(())
    }

    /// How many do not count, by reason, with the message of the first.
    fn by_reason(&self) -> Vec<(Reason, usize, &str)> {
        let mut reasons: Vec<Reason> = self.refused.iter().map(|refused| refused.reason).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let of = |reason: Reason| {
            let mut all = self.refused.iter().filter(|refused| refused.reason == reason);
            let first = all.next().map_or("", |refused| refused.message.as_str());
            (reason, 1 + all.count(), first)
        };
        reasons.into_iter().map(of).collect()
    }

    /// All of it.
    pub(super) fn json(&self) -> Result<String, Failure> {
        serde_json::to_string_pretty(self).map(|text| text + "\n").map_err(rejected)
    }
}

impl Candidate {
    /// Its line of the table.
    fn write(&self, out: &mut String, name: &str) -> std::fmt::Result {
        let each = |mut parts: Vec<String>| {
            parts.dedup();
            parts.join(" ")
        };
        let registers = each(self.registers.iter().map(u32::to_string).collect());
        let warps = |launch: &Launched| launch.occupancy.map_or("-".to_owned(), |part| format!("{:.1}%", 100.0 * part));
        let warps = each(self.launches.iter().map(warps).collect());
        let width = self.cost.unit().name().len().max(9);
        writeln!(out, "  {name:<7} {:>width$}  {registers:>9}  {warps:>9}", self.cost.value())
    }
}
