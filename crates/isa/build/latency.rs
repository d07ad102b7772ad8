//! The latency class of every instruction, from `spec/latency/classes.tsv`.

use crate::model::Spec;
use crate::targets;
use std::collections::BTreeMap;
use std::fmt::Write;

struct Class<'a> {
    group: &'a str,
    variable: targets::Targets,
}

/// The table that `src/latency/class.rs` includes: a row per opcode. An instruction whose class the
/// file `name` lacks is an error.
pub(crate) fn table(spec: &Spec, name: &str, text: &str) -> Result<String, String> {
    let classes = classes(name, text)?;
    let mut out = format!("static CLASSES: [Class; {}] = [\n", spec.instrs.len());
    for instr in spec.instrs.values() {
        let class = classes.get(instr.latency.as_str()).ok_or_else(|| {
            format!("{}: {}: no latency class '{}' in {name}", instr.place.0, instr.name, instr.latency)
        })?;
        let _ = writeln!(out, "    Class {{ group: Group::{}, variable: {} }},", class.group, class.variable);
    }
    out.push_str("];\n");
    Ok(out)
}

fn classes<'a>(name: &str, text: &'a str) -> Result<BTreeMap<&'a str, Class<'a>>, String> {
    let mut classes = BTreeMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')).skip(1) {
        let place = || format!("{name}:{}", number + 1);
        let cells: Vec<&str> = line.split('\t').collect();
        let [class, group, variable, meaning] = cells[..] else {
            return Err(format!("{}: four cells expected", place()));
        };
        if meaning.is_empty() {
            return Err(format!("{}: '{class}' has no meaning", place()));
        }
        let variable = match variable {
            "all" => "..",
            "-" => "",
            list => list,
        };
        let variable = targets::list(variable).map_err(|e| format!("{}: {e}", place()))?;
        if classes.insert(class, Class { group, variable }).is_some() {
            return Err(format!("{}: '{class}' twice", place()));
        }
    }
    Ok(classes)
}
