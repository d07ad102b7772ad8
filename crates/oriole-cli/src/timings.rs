//! What `--time-phases` prints: a tree of stages, passes, rules.

use crate::console;
use oriole_codegen::Timing;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

/// Columns that names take, with two more for each level of the tree.
const NAMES: usize = 40;

/// The tree as a table: stages and passes with times, shares of all, runs, runs that changed something; rules with rewrites.
pub(crate) fn text(times: &[Timing]) -> String {
    let total: Duration = times.iter().map(|part| part.time).sum();
    let mut out =
        format!("{:NAMES$} {:>12} {:>6} {:>7} {:>7} {:>8}\n", "phase", "time", "share", "runs", "changed", "rewrites");
    times.iter().for_each(|part| lines(&mut out, part, 0, total));
    let _ = writeln!(out, "{:NAMES$} {:>9.3} ms", "all", total.as_secs_f64() * 1e3);
    out
}

fn lines(out: &mut String, part: &Timing, depth: usize, total: Duration) {
    let share = 100.0 * part.time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
    let milliseconds = part.time.as_secs_f64() * 1e3;
    let name = format!("{:1$}{2}", "", 2 * depth, part.name);
    let _ = write!(out, "{name:NAMES$} {milliseconds:>9.3} ms {share:>5.1}%");
    if part.runs > 0 {
        let _ = write!(out, " {:>7} {:>7}", part.runs, part.changed);
        let rewrites: u64 = part.rewrites.iter().map(|(_, count)| count).sum();
        if rewrites > 0 {
            let _ = write!(out, " {rewrites:>8}");
        }
    }
    out.push('\n');
    for (rule, count) in &part.rewrites {
        let name = format!("{:1$}{rule}", "", 2 * depth + 2);
        let _ = writeln!(out, "{name:NAMES$} {count:>44}");
    }
    part.parts.iter().for_each(|inner| lines(out, inner, depth + 1, total));
}

/// The tree as JSON: `name`, `seconds`, and where it is a pass `runs`, `changed` and `rewrites` by rule; `parts`.
pub(crate) fn json(times: &[Timing]) -> Value {
    times.iter().map(part_json).collect()
}

fn part_json(part: &Timing) -> Value {
    let mut object = json!({ "name": part.name, "seconds": part.time.as_secs_f64() });
    if part.runs > 0 {
        let rewrites: serde_json::Map<String, Value> =
            part.rewrites.iter().map(|(rule, count)| ((*rule).to_owned(), (*count).into())).collect();
        object["runs"] = part.runs.into();
        object["changed"] = part.changed.into();
        object["rewrites"] = rewrites.into();
    }
    if !part.parts.is_empty() {
        object["parts"] = json(&part.parts);
    }
    object
}

/// In the form that was asked for.
pub(crate) fn print(times: &[Timing], form: TimesForm) {
    match form {
        TimesForm::Text => console::say_text(&text(times)),
        TimesForm::Json => console::say(format_args!("{:#}", json(times))),
    }
}

/// How `--time-phases` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TimesForm {
    /// A table.
    Text,
    /// JSON.
    Json,
}
