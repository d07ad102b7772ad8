//! The latency classes of instructions, from `spec/latency/{classes,groups}.tsv`: what `src/latency/class.rs` includes.

use crate::emit::{camel, enumeration};
use crate::model::{InstrDef, Spec};
use crate::targets;
use crate::tsv::Tsv;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The kind of unit that an instruction runs on, and under which classes its registers stand in the tables.
pub(crate) struct Group<'a> {
    name: &'a str,
    meaning: &'a str,
    result: &'a str,
    source: &'a str,
    uniform: &'a str,
    guard: &'a str,
    predicate: &'a str,
    /// Of fixed and of variable latency.
    write: [&'a str; 2],
    /// The same.
    read: [&'a str; 2],
}

impl<'a> Group<'a> {
    fn of(cells: [&'a str; 11]) -> Self {
        let [name, meaning, result, source, uniform, guard, predicate, write, write_variable, read, read_variable] =
            cells;
        let (write, read) = ([write, write_variable], [read, read_variable]);
        Group { name, meaning, result, source, uniform, guard, predicate, write, read }
    }

    /// Its first classes.
    pub(crate) fn earlier(&self) -> impl Iterator<Item = &'a str> {
        [self.result, self.guard, self.read[0], self.read[1]].into_iter()
    }

    /// Its second classes.
    pub(crate) fn later(&self) -> impl Iterator<Item = &'a str> {
        [self.source, self.uniform, self.guard, self.predicate, self.write[0], self.write[1]].into_iter()
    }
}

/// The rows of `groups.tsv`.
pub(crate) fn groups(tsv: &Tsv) -> Result<Vec<Group<'_>>, String> {
    Ok(tsv.rows()?.into_iter().map(|line| Group::of(line.cells)).collect())
}

/// A row of `classes.tsv`.
pub(crate) struct Class<'a> {
    /// The name of its group.
    pub(crate) group: &'a str,
    variable: targets::Targets,
    meaning: &'a str,
}

/// `latency_class.rs`: the enum `LatencyClass`.
pub(crate) fn class_names(classes: &Classes<'_>) -> String {
    let mut out = String::new();
    let items = classes.iter().map(|(name, class)| (camel(name), class.meaning.to_owned(), (*name).to_owned()));
    let doc = "A class of `spec/latency/classes.tsv`, which the `latency` lines of the spec name.";
    enumeration(&mut out, "LatencyClass", doc, "u8", items);
    out
}

/// `latency_classes.rs`: the enum `Group`, a row per opcode and a row per group. An instruction whose class the file
/// lacks is an error.
pub(crate) fn classes(spec: &Spec, classes: &Classes<'_>, groups: &[Group<'_>]) -> Result<String, String> {
    let mut out = String::new();
    write_groups(&mut out, groups);
    let _ = writeln!(out, "static CLASSES: [Class; {}] = [", spec.instrs.len());
    for instr in spec.instrs.values() {
        let class = class_of(instr, classes)?;
        let _ = writeln!(out, "    Class {{ group: Group::{}, variable: {} }},", class.group, class.variable);
    }
    out.push_str("];\n");
    Ok(out)
}

/// The class of an instruction.
pub(crate) fn class_of<'c, 'a>(instr: &InstrDef, classes: &'c Classes<'a>) -> Result<&'c Class<'a>, String> {
    let class = classes.get(instr.latency.as_str());
    class.ok_or_else(|| format!("{}: {}: no latency class '{}'", instr.place.0, instr.name, instr.latency))
}

/// The rows of `classes.tsv` by name.
pub(crate) type Classes<'a> = BTreeMap<&'a str, Class<'a>>;

/// Reads them.
pub(crate) fn read_classes<'a>(tsv: &'a Tsv, groups: &[Group<'_>]) -> Result<Classes<'a>, String> {
    let mut classes = BTreeMap::new();
    for line in tsv.rows()? {
        let (place, [class, group, variable, meaning]) = (line.place, line.cells);
        if meaning.is_empty() {
            return Err(format!("{place}: '{class}' has no meaning"));
        }
        if !groups.iter().any(|known| known.name == group) {
            return Err(format!("{place}: no group '{group}' in groups.tsv"));
        }
        let variable = targets::list(variable).map_err(|e| format!("{place}: {e}"))?;
        if classes.insert(class, Class { group, variable, meaning }).is_some() {
            return Err(format!("{place}: '{class}' twice"));
        }
    }
    Ok(classes)
}

fn write_groups(out: &mut String, groups: &[Group<'_>]) {
    out.push_str("/// What kind of unit an instruction runs on, as far as latencies tell kinds apart.\n");
    out.push_str("#[derive(Clone, Copy, Debug, PartialEq, Eq)]\n#[repr(u8)]\npub(crate) enum Group {\n");
    for group in groups {
        let _ = writeln!(out, "    /// {}\n    {},", group.meaning, group.name);
    }
    let _ = writeln!(out, "}}\n\nstatic GROUPS: [Classes; {}] = [", groups.len());
    for group in groups {
        let (earlier, later) =
            (|name| format!("Earlier::{}", variant(name)), |name| format!("Later::{}", variant(name)));
        let _ = writeln!(
            out,
            "    Classes {{ result: {}, source: {}, uniform: {}, guard: {}, guard_read: {}, predicate: {}, write: [{}, {}], read: [{}, {}] }},",
            earlier(group.result),
            later(group.source),
            later(group.uniform),
            later(group.guard),
            earlier(group.guard),
            later(group.predicate),
            later(group.write[0]),
            later(group.write[1]),
            earlier(group.read[0]),
            earlier(group.read[1]),
        );
    }
    out.push_str("];\n\n");
}

/// The variant for the name of a class in the tables: `WIDE c hi` is `WideCHi`, `@ALU` `GuardAlu`, `mem!` `MemVariable`
/// and `*` `Any`.
pub(crate) fn variant(name: &str) -> String {
    let mut out = String::new();
    if name.starts_with('@') {
        out.push_str("Guard");
    }
    for part in name.split(|c: char| !c.is_ascii_alphanumeric()) {
        let (first, rest) = part.split_at(part.len().min(1));
        out += &first.to_ascii_uppercase();
        out += &rest.to_ascii_lowercase();
    }
    match name {
        "*" => "Any".to_owned(),
        _ if name.ends_with('!') => out + "Variable",
        _ => out,
    }
}
