//! How long each opcode makes the next instruction wait, from `spec/latency/stalls.tsv`.

use crate::latency::{Classes, class_of};
use crate::model::Spec;
use crate::targets::{self, Targets};
use crate::tsv::{Line, Tsv};

/// A row: the instructions, the targets, and the cycles.
struct Rule<'a> {
    instructions: Vec<&'a str>,
    targets: Targets,
    cycles: u8,
}

impl Rule<'_> {
    fn fits(&self, opcode: &str, group: &str) -> bool {
        let fits = |name: &&str| match name.strip_prefix('@') {
            Some(name) => name == group,
            None => *name == "*" || *name == opcode,
        };
        self.instructions.iter().any(fits)
    }
}

/// The static that `src/latency.rs` includes: cycles by target and opcode. One without a row is an error.
pub(crate) fn table(spec: &Spec, tsv: &Tsv, classes: &Classes<'_>) -> Result<String, String> {
    let rules: Vec<Rule<'_>> = tsv.rows()?.iter().map(rule).collect::<Result<_, _>>()?;
    let known = |name: &str| name == "*" || name.starts_with('@') || spec.instrs.contains_key(name);
    if let Some(name) = rules.iter().flat_map(|rule| &rule.instructions).find(|name| !known(name)) {
        return Err(format!("{}: no instruction '{name}'", tsv.path));
    }
    let mut groups = Vec::new();
    for instr in spec.instrs.values() {
        groups.push((instr.name.as_str(), class_of(instr, classes)?.group));
    }
    let mut rows = Vec::new();
    for (target, name) in targets::NAMES.iter().enumerate() {
        let cycles = |(opcode, group): &(&str, &str)| {
            let rule = rules.iter().find(|rule| rule.targets >> target & 1 == 1 && rule.fits(opcode, group));
            rule.map(|rule| rule.cycles).ok_or_else(|| format!("{}: no row for {opcode} on {name}", tsv.path))
        };
        rows.push(groups.iter().map(cycles).collect::<Result<Vec<u8>, _>>()?);
    }
    Ok(format!("static STALLS: [[u8; Opcode::COUNT]; {}] = {rows:?};\n", targets::NAMES.len()))
}

fn rule<'a>(line: &Line<'a, 4>) -> Result<Rule<'a>, String> {
    let [instructions, targets, cycles, _] = line.cells;
    let cycles = cycles.parse().map_err(|_| format!("{}: '{cycles}' is no number of cycles", line.place))?;
    let targets = targets::list(targets).map_err(|e| format!("{}: {e}", line.place))?;
    Ok(Rule { instructions: instructions.split(' ').collect(), targets, cycles })
}
