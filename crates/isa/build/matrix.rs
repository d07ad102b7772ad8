//! The classes of matrix products, by the fields that `spec/latency/matrix.tsv` names.

use crate::emit::camel;
use crate::latency::variant;
use crate::model::{EnumDef, EnumValue, Spec};
use crate::tsv::{Line, Tsv};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The field that tells a sparse product.
const SPARSE: &str = "mma_sp";
/// The class of a product without one of its own.
const ANY: &str = "MMA";

/// A field that tells classes apart.
struct Part<'a> {
    field: &'a str,
    /// What each of its values adds to the name of the class.
    texts: Vec<String>,
    /// Only the first of these that adds something does.
    is_kind: bool,
}

/// The static that `src/latency/matrix.rs` includes: for each opcode its fields and the class at each
/// combination of their values, the last field counting fastest.
pub(crate) fn table(spec: &Spec, tsv: &Tsv, earlier: &BTreeSet<&str>) -> Result<String, String> {
    let lines = tsv.rows::<4>()?;
    let mut out = format!("static SHAPES: [Shapes; {}] = [\n", lines.len());
    for line in &lines {
        let opcode = line.cells[0];
        let parts = parts(spec, line).map_err(|e| format!("{}: {opcode}: {e}", line.place))?;
        let fields = parts.iter().map(|part| format!("(FieldId::{}, {})", camel(part.field), part.texts.len()));
        let fields: Vec<String> = fields.collect();
        let classes = names(line, &parts).into_iter().map(|name| {
            let class = if earlier.contains(name.as_str()) { name.as_str() } else { ANY };
            format!("Earlier::{}", variant(class))
        });
        let classes: Vec<String> = classes.collect();
        let (fields, classes) = (fields.join(", "), classes.join(", "));
        let _ = writeln!(out, "    Shapes {{ opcode: Opcode::{opcode}, fields: &[{fields}], classes: &[{classes}] }},");
    }
    out.push_str("];\n");
    Ok(out)
}

fn parts<'a>(spec: &'a Spec, line: &Line<'a, 4>) -> Result<Vec<Part<'a>>, String> {
    let [opcode, _, shape, kinds] = line.cells;
    let instr = spec.instrs.get(opcode).ok_or("no such instruction")?;
    let part = |field, text: &dyn Fn(&EnumValue) -> String| {
        let of = spec.enum_of(field)?;
        Ok::<_, String>(Part { field, texts: by_code(of, text), is_kind: false })
    };
    let mut parts = Vec::new();
    let (dense, sparse) = shape.split_once('/').unwrap_or_default();
    if instr.fields.iter().any(|(name, _)| name == SPARSE) {
        parts.push(part(SPARSE, &|v| if v.code == 0 { dense.to_owned() } else { format!("SP.{sparse}") })?);
    }
    if !shape.contains('/') {
        parts.push(part(shape, &|v| v.text.clone())?);
    }
    for kind in kinds.split(' ').filter(|kind| *kind != "-") {
        let (field, endings) = kind.split_once(':').ok_or("expected FIELD:VALUE=ENDING")?;
        let ending = |v: &EnumValue| {
            let found = endings.split(',').filter_map(|e| e.split_once('=')).find(|(name, _)| *name == v.name);
            found.map_or(String::new(), |(_, ending)| format!(".{ending}"))
        };
        parts.push(Part { is_kind: true, ..part(field, &ending)? });
    }
    Ok(parts)
}

/// A text for each code of an enum, empty where it has no value.
fn by_code(of: &EnumDef, text: &dyn Fn(&EnumValue) -> String) -> Vec<String> {
    let last = of.values.iter().map(|v| v.code).max().unwrap_or(0);
    (0..=last).map(|code| of.values.iter().find(|v| v.code == code).map_or(String::new(), text)).collect()
}

/// The names of the classes at all combinations of values.
fn names(line: &Line<'_, 4>, parts: &[Part<'_>]) -> Vec<String> {
    // Name without kind, and kind.
    let mut names = vec![(format!("{}.", line.cells[1]), String::new())];
    for part in parts {
        let with = |(name, kind): &(String, String), text: &String| match part.is_kind {
            false => (format!("{name}{text}"), kind.clone()),
            true => (name.clone(), if kind.is_empty() { text.clone() } else { kind.clone() }),
        };
        names = names.iter().flat_map(|name| part.texts.iter().map(|text| with(name, text))).collect();
    }
    names.into_iter().map(|(name, kind)| name + &kind).collect()
}
