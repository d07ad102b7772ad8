//! `oriole diff`: what each phase did to each function, from a folder that `compile --dump-all` wrote.

use super::args::DiffArgs;
use super::failure::{Failure, usage};
use super::files;
use crate::difference::unified;
use crate::phase_index::{self, FigureEntry, FunctionEntry, Index, PhaseEntry, RegisterEntry};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Columns of the phase's name, and of each figure before and behind it.
const NAMES: usize = 26;
const CELL: usize = 14;
/// The figures, as the table heads them.
const HEADS: [&str; 7] = ["instructions", "R", "UR", "live R", "live UR", "live P", "cycles"];

/// Print a table for each function, or what one phase changed.
pub(crate) fn run(args: &DiffArgs) -> Result<(), Failure> {
    let index = read(&args.folder)?;
    let functions = chosen(&index, args)?;
    let steps: Vec<Function<'_>> = functions.into_iter().map(|function| steps(function, args)).collect();
    let texts = match &args.phase {
        Some(_) => Some(Texts::read(&args.folder, &steps)?),
        None => None,
    };
    let text = match (args.json, &texts) {
        (true, _) => format!("{:#}\n", json(&index.target, &steps, texts.as_ref())),
        (false, Some(texts)) => texts.0.iter().flatten().map(String::as_str).collect(),
        (false, None) => steps.iter().map(|function| table(&index.target, function)).collect(),
    };
    files::print(&text)
}

/// A function with the phases that are shown, each with what stood before it.
struct Function<'i> {
    entry: &'i FunctionEntry,
    steps: Vec<(&'i PhaseEntry, &'i PhaseEntry)>,
}

fn read(folder: &Path) -> Result<Index, Failure> {
    let path = folder.join(phase_index::FILE);
    if !path.exists() {
        let made = "compile --dump-all DIR makes such a folder";
        let why = if folder.is_dir() { "has no phases.json" } else { "there is no such folder" };
        return Err(Failure::file(folder, format!("{why}; {made}")));
    }
    let index: Index = serde_json::from_slice(&files::read(&path)?)
        .map_err(|error| Failure::file(&path, format!("malformed: {error}")))?;
    let mut names = index.functions.iter().flat_map(|function| &function.phases).map(|phase| phase.file.as_str());
    match names.find(|name| Path::new(name).file_name() != Some(name.as_ref())) {
        Some(name) => Err(Failure::file(&path, format!("malformed: '{name}' names no file of the folder"))),
        None => Ok(index),
    }
}

/// The functions that are asked for, all of which have names that there are.
fn chosen<'i>(index: &'i Index, args: &DiffArgs) -> Result<Vec<&'i FunctionEntry>, Failure> {
    let names: Vec<&str> = index.functions.iter().map(|function| function.function.as_str()).collect();
    if let Some(name) = args.function.iter().find(|name| !names.contains(&name.as_str())) {
        let why = format!("no function '{name}'; the folder has: {}", names.join(", "));
        return Err(Failure::file(&args.folder, why));
    }
    let functions = index.functions.iter();
    let functions = functions.filter(|entry| args.function.is_empty() || args.function.contains(&entry.function));
    let functions: Vec<&FunctionEntry> = functions.collect();
    if let Some(name) = &args.phase {
        let mut phases: Vec<&str> = Vec::new();
        for (_, step) in functions.iter().flat_map(|function| function.steps()) {
            phases.extend((!phases.contains(&step.phase.as_str())).then_some(step.phase.as_str()));
        }
        if !phases.contains(&name.as_str()) {
            let known = phases.join(" ");
            return Err(usage(format!("there is no phase '{name}' in {}; there are: {known}", args.folder.display())));
        }
    }
    Ok(functions)
}

fn steps<'i>(entry: &'i FunctionEntry, args: &DiffArgs) -> Function<'i> {
    let is_shown = |step: &PhaseEntry| match &args.phase {
        Some(name) => step.phase == *name,
        None => args.all || step.changed,
    };
    Function { entry, steps: entry.steps().filter(|(_, step)| is_shown(step)).collect() }
}

/// For each function and each of its phases that are shown: the unified difference.
struct Texts(Vec<Vec<String>>);

impl Texts {
    fn read(folder: &Path, functions: &[Function<'_>]) -> Result<Texts, Failure> {
        let text = |phase: &PhaseEntry| {
            let path = folder.join(&phase.file);
            String::from_utf8(files::read(&path)?).map_err(|_| Failure::file(&path, "is no text"))
        };
        let difference = |(before, after): &(&PhaseEntry, &PhaseEntry)| {
            Ok(unified((&before.file, &text(before)?), (&after.file, &text(after)?)))
        };
        let of_function = |function: &Function<'_>| function.steps.iter().map(difference).collect();
        functions.iter().map(of_function).collect::<Result<_, Failure>>().map(Texts)
    }
}

/// A function's phases, a line each, the rules that fired below it.
fn table(target: &str, function: &Function<'_>) -> String {
    let kind = if function.entry.kernel { "kernel" } else { "function" };
    let mut out = format!("{kind} {} for {target}\n{:NAMES$}", function.entry.function, "phase");
    HEADS.iter().for_each(|head| cell(&mut out, head));
    out.push('\n');
    for (before, after) in &function.steps {
        line(&mut out, &after.phase, &before.figures, &after.figures);
        let mut rules: Vec<(&String, &u64)> = after.rules.iter().collect();
        rules.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (rule, count) in rules {
            // Writing to a `String` cannot fail.
            let _ = writeln!(out, "{count:>10} {rule}");
        }
    }
    if let [first, .., last] = &function.entry.phases[..] {
        line(&mut out, "all of them", &first.figures, &last.figures);
    }
    out.push('\n');
    out
}

fn line(out: &mut String, name: &str, before: &FigureEntry, after: &FigureEntry) {
    // Writing to a `String` cannot fail.
    let _ = write!(out, "{name:NAMES$}");
    for (before, after) in shown(before).iter().zip(&shown(after)) {
        let text = if before == after { after.clone() } else { format!("{before} -> {after}") };
        cell(out, &text);
    }
    out.push('\n');
}

fn cell(out: &mut String, text: &str) {
    let _ = write!(out, " {text:>CELL$}");
}

/// The figures of [`HEADS`].
fn shown(figures: &FigureEntry) -> [String; HEADS.len()] {
    let registers =
        |of: fn(&RegisterEntry) -> u32| figures.registers.as_ref().map_or("-".to_owned(), |r| of(r).to_string());
    let pressure = &figures.pressure;
    [
        figures.instructions.to_string(),
        registers(|registers| registers.r),
        registers(|registers| registers.ur),
        pressure.r.to_string(),
        pressure.ur.to_string(),
        pressure.p.to_string(),
        format!("{:.0}", figures.cycles),
    ]
}

fn json(target: &str, functions: &[Function<'_>], texts: Option<&Texts>) -> Value {
    let functions = functions.iter().enumerate().map(|(at, function)| {
        let steps = function.steps.iter().enumerate().map(|(step, (before, after))| {
            let mut object = json!({
                "phase": after.phase,
                "slot": after.slot,
                "changed": after.changed,
                "rules": after.rules,
                "before": before.figures,
                "after": after.figures,
            });
            if let Some(text) = texts.and_then(|texts| texts.0.get(at)?.get(step)) {
                object["difference"] = text.as_str().into();
            }
            object
        });
        let phases: Vec<Value> = steps.collect();
        json!({ "function": function.entry.function, "kernel": function.entry.kernel, "target": target, "phases": phases })
    });
    functions.collect()
}
