//! What is said of a search: a table for people, JSON for programs.

use super::bench::{Measured, Timed, Unit};
use super::options::line;
use super::search::{Best, Refused, Step, Tried};
use super::space::Point;
use crate::commands::failure::{Failure, rejected};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

/// A search that has ended.
pub(super) struct Outcome<'a> {
    pub(super) input: String,
    pub(super) target: String,
    pub(super) seed: u64,
    pub(super) names: Vec<&'a str>,
    /// What costs are counted in.
    pub(super) unit: Unit,
    pub(super) plain: (Measured, Vec<u32>),
    pub(super) best: Best,
    pub(super) tried: Tried,
    pub(super) seconds: Duration,
    /// Someone ended it.
    pub(super) is_interrupted: bool,
    /// The options of `oriole compile` for a candidate.
    pub(super) options: &'a dyn Fn(&Point) -> Vec<String>,
}

/// By how many per cent of `plain` a cost is less.
pub(super) fn gain(plain: u64, cost: u64) -> f64 {
    100.0 * (1.0 - cost as f64 / plain.max(1) as f64)
}

impl Outcome<'_> {
    /// The table.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a `String` cannot fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let (plain, best) = (&self.plain.0, &self.best.measured);
        let launches =
            if self.names.len() == 1 { "1 launch".to_owned() } else { format!("{} launches", self.names.len()) };
        let Tried { candidates, codes, .. } = &self.tried;
        let (seconds, end) = (self.seconds.as_secs_f64(), if self.is_interrupted { ", interrupted" } else { "" });
        writeln!(
            out,
            "{} for {}, {launches}: {candidates} candidates, {codes} codes, {seconds:.1} s{end}",
            self.input, self.target
        )?;
        let unit = self.unit.name();
        writeln!(out, "  {:<7} {unit:>9}  registers  occupancy", "")?;
        let mut row = |name: &str, measured: &Measured, registers: &[u32]| {
            let each = |parts: Vec<String>| {
                let mut parts = parts;
                parts.dedup();
                parts.join(" ")
            };
            let registers = each(registers.iter().map(u32::to_string).collect());
            let warps =
                |launch: &Timed| launch.occupancy.map_or("-".to_owned(), |part| format!("{:.1}%", 100.0 * part));
            let warps = each(measured.launches.iter().map(warps).collect());
            let width = unit.len().max(9);
            writeln!(out, "  {name:<7} {:>width$}  {registers:>9}  {warps:>9}", measured.cost())
        };
        row("plain", plain, &self.plain.1)?;
        row("best", best, &self.best.code.registers)?;
        let gained = gain(plain.cost(), best.cost());
        match gained > 0.0 {
            true => writeln!(out, "{gained:.2}% fewer {unit} with: {}", line(&(self.options)(&self.best.point)))?,
            false => writeln!(out, "nothing is better than plain -O3: {}", line(&(self.options)(&self.best.point)))?,
        }
        for (reason, count, first) in self.tried.by_reason() {
            writeln!(
                out,
                "refused: {count} {}, such as: {}",
                reason.words(),
                first.lines().next().unwrap_or_default()
            )?;
        }
        Ok(())
    }

    /// All of it.
    pub(super) fn json(&self) -> Result<String, Failure> {
        let (plain, registers) = &self.plain;
        let best = &self.best;
        let mut steps: Vec<Value> = Vec::new();
        for Step { trial, point, measured, registers } in &self.tried.steps {
            let mut step = self.figures(point, measured, registers);
            step["trial"] = (*trial).into();
            steps.push(step);
        }
        let refused = |Refused { point, refusal }: &Refused| json!({ "reason": refusal.reason, "message": refusal.message, "options": (self.options)(point) });
        let report = json!({
            "input": self.input,
            "target": self.target,
            "seed": self.seed,
            "seconds": self.seconds.as_secs_f64(),
            "interrupted": self.is_interrupted,
            "launches": self.names,
            "candidates": self.tried.candidates,
            "codes": self.tried.codes,
            "plain": self.figures(&Point::default(), plain, registers),
            "improvements": steps,
            "best": self.figures(&best.point, &best.measured, &best.code.registers),
            "refused": self.tried.refused.iter().map(refused).collect::<Vec<_>>(),
        });
        serde_json::to_string_pretty(&report).map(|text| text + "\n").map_err(rejected)
    }

    /// What there is to say of a candidate.
    fn figures(&self, point: &Point, measured: &Measured, registers: &[u32]) -> Value {
        let unit = self.unit.name();
        let launch = |(name, Timed { cost, occupancy }): (&&str, &Timed)| json!({ "name": name, unit: cost, "occupancy": occupancy });
        json!({
            "options": (self.options)(point),
            unit: measured.cost(),
            "gain_percent": gain(self.plain.0.cost(), measured.cost()),
            "registers": registers,
            "launches": self.names.iter().zip(&measured.launches).map(launch).collect::<Vec<_>>(),
        })
    }
}
