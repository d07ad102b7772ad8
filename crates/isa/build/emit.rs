//! Writes the names that the rest of the workspace uses: opcodes, roles, families, pipes.

use crate::facts::Facts;
use crate::forms::Form;
use crate::model::{InstrDef, Kind, Neutral, OperandDef, Spec, WidthRule};
use crate::targets::Targets;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// `names.rs`: the public enums, and one row of facts per opcode.
pub(crate) fn names(spec: &Spec, forms: &[Form]) -> Result<String, String> {
    let mut out = String::new();
    enumeration(
        &mut out,
        "Opcode",
        "A SASS mnemonic.",
        "u16",
        spec.instrs.values().map(|i| (i.name.clone(), i.doc.clone(), i.name.clone())),
    );
    let roles: BTreeSet<&String> = spec.instrs.values().flat_map(|i| i.operands.iter().map(|o| &o.role)).collect();
    enumeration(
        &mut out,
        "Role",
        "What an operand is to its instruction, as the signature names it.",
        "u8",
        roles.into_iter().map(|r| (r.clone(), format!("`{r}`"), r.clone())),
    );
    let names = |of: fn(&InstrDef) -> &String| spec.instrs.values().map(of).collect::<BTreeSet<_>>().into_iter();
    let item = |name: &String| (camel(name), format!("`{name}`"), name.clone());
    let families = names(|instr| &instr.family).map(item);
    enumeration(&mut out, "Family", "What an instruction works on: a chapter of the manual.", "u8", families);
    let pipes = names(|instr| &instr.pipe).map(item);
    enumeration(&mut out, "Pipe", "The unit that executes an instruction.", "u8", pipes);
    rows(&mut out, spec, forms)?;
    Ok(out)
}

/// A fieldless enum with `ALL`, `COUNT` and `name`; items are (identifier, doc, name).
pub(crate) fn enumeration(
    out: &mut String,
    name: &str,
    doc: &str,
    repr: &str,
    items: impl Iterator<Item = (String, String, String)>,
) {
    let items: Vec<_> = items.collect();
    let _ = writeln!(
        out,
        "/// {doc}\n#[allow(non_camel_case_types, clippy::upper_case_acronyms)]\n#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]\n#[repr({repr})]\npub enum {name} {{"
    );
    for (ident, doc, _) in &items {
        let doc = if doc.is_empty() { format!("`{ident}`") } else { doc.clone() };
        let _ = writeln!(out, "    /// {doc}\n    {ident},");
    }
    let _ =
        writeln!(out, "}}\nimpl {name} {{\n    /// How many there are.\n    pub const COUNT: usize = {};", items.len());
    let _ = writeln!(out, "    /// All of them, in order.\n    pub const ALL: [{name}; {}] = [", items.len());
    for (ident, _, _) in &items {
        let _ = writeln!(out, "        {name}::{ident},");
    }
    let _ = writeln!(out, "    ];\n    const NAMES: [&'static str; {}] = [", items.len());
    for (_, _, text) in &items {
        let _ = writeln!(out, "        {text:?},");
    }
    let _ = writeln!(
        out,
        "    ];\n    /// The name in the spec.\n    pub fn name(self) -> &'static str {{\n        Self::NAMES[self as usize]\n    }}\n}}\n"
    );
}

fn rows(out: &mut String, spec: &Spec, forms: &[Form]) -> Result<(), String> {
    let mut targets: BTreeMap<&str, Targets> = BTreeMap::new();
    for form in forms {
        *targets.entry(&form.opcode).or_default() |= form.targets;
    }
    let _ = writeln!(out, "pub(crate) static INFO: [OpcodeInfo; {}] = [", spec.instrs.len());
    for instr in spec.instrs.values() {
        let targets = targets.get(instr.name.as_str()).copied().unwrap_or(0);
        row(out, spec, instr, targets).map_err(|e| format!("{}: {e}", instr.place.0))?;
    }
    let _ = writeln!(out, "];");
    Ok(())
}

fn row(out: &mut String, spec: &Spec, instr: &InstrDef, targets: Targets) -> Result<(), String> {
    let operands: Vec<String> = instr.operands.iter().map(|o| operand(spec, o)).collect::<Result<_, _>>()?;
    let mut fields: Vec<(String, u8)> = Vec::new();
    for (field, default) in &instr.fields {
        let of = spec.enum_of(field)?;
        let value = default.as_ref().and_then(|d| of.code(d)).unwrap_or(of.values[0].code);
        fields.push((field.clone(), value));
    }
    fields.sort();
    let fields: Vec<String> = fields.iter().map(|(f, v)| format!("(FieldId::{}, {v})", camel(f))).collect();
    let facts = Facts::of(spec, instr)?;
    let effects = facts.effects.iter().fold("Effects::NONE".to_owned(), |all, e| format!("{all}.with(Effects::{e})"));
    let twin = format!("U{}", instr.name);
    let uniform = if spec.instrs.contains_key(&twin) { format!("Some(Opcode::{twin})") } else { "None".to_owned() };
    let _ = writeln!(
        out,
        "    OpcodeInfo {{ meaning: {:?}, family: Family::{}, pipe: Pipe::{}, latency: LatencyClass::{}, number: {:?}, category: {:?}, targets: {}, specific: {}, guard_uniform: {}, unguarded: {}, effects: {effects}, uniform: {uniform}, rot13: {:?}, signature: &[{}], fields: &[{}] }},",
        instr.doc,
        camel(&instr.family),
        camel(&instr.pipe),
        camel(&instr.latency),
        instr.number,
        instr.category,
        targets,
        instr.specific,
        instr.guard_uniform,
        instr.unguarded,
        rot13(&instr.name),
        operands.join(", "),
        fields.join(", "),
    );
    Ok(())
}

fn operand(spec: &Spec, def: &OperandDef) -> Result<String, String> {
    let mut kinds = def.kinds.iter().map(kind_name).collect::<Vec<_>>();
    if def.neutral == Neutral::None {
        kinds.push("NONE");
    }
    let kinds = kinds.iter().fold("Kinds::EMPTY".to_owned(), |all, k| format!("{all}.with(Kinds::{k})"));
    let mut flags = "OperandFlags::empty()".to_owned();
    for flag in &def.flags {
        if !["neg", "abs", "not", "reuse"].contains(&flag.as_str()) {
            return Err(format!("unknown operand flag '{flag}'"));
        }
        flags = format!("{flags}.with(OperandFlags::{})", flag.to_uppercase());
    }
    let width = match def.width_by.as_slice() {
        [] => format!("Width::Fixed({})", def.width),
        rules => {
            let rules: Vec<String> = rules.iter().map(|rule| width_rule(spec, rule)).collect::<Result<_, _>>()?;
            format!("Width::By {{ rules: &[{}], otherwise: {} }}", rules.join(", "), def.width)
        }
    };
    Ok(format!(
        "OperandSpec {{ role: Role::{}, kinds: {kinds}, is_def: {}, flags: {flags}, width: {width}, imm: {}, neutral: {} }}",
        def.role,
        def.is_def,
        immediate_format(def),
        neutral(&def.neutral)
    ))
}

fn width_rule(spec: &Spec, rule: &WidthRule) -> Result<String, String> {
    let values = &spec.enum_of(&rule.field)?.values;
    let mut cases = Vec::new();
    for case in &rule.cases {
        let at =
            |name: &String| values.iter().position(|v| v.name == *name).ok_or_else(|| format!("no value '{name}'"));
        let (first, last) = (at(&case.first)?, at(&case.last)?);
        let steps = last.saturating_sub(first).max(1);
        let rise = usize::from(case.to).checked_sub(case.from.into()).filter(|rise| rise % steps == 0);
        let rise = rise.ok_or_else(|| format!("no equal steps from {} to {}", case.from, case.to))?;
        let number = |value: usize| usize::from(case.from) + rise / steps * (value - first);
        cases.extend((first..=last).map(|value| format!("({}, {})", values[value].code, number(value))));
    }
    Ok(format!(
        "WidthRule {{ field: FieldId::{}, step: WidthStep::{}, cases: &[{}] }}",
        camel(&rule.field),
        rule.step,
        cases.join(", ")
    ))
}

/// How the operand's immediate is printed.
fn immediate_format(def: &OperandDef) -> String {
    let found = def.kinds.iter().find_map(|k| match k {
        Kind::Imm(format, bits) => Some((format.as_str(), *bits)),
        _ => None,
    });
    match found {
        None => "ImmFormat::Unsigned(0)".to_owned(),
        Some(("S", bits)) => format!("ImmFormat::Signed({bits})"),
        Some(("F", _)) => "ImmFormat::F32".to_owned(),
        Some(("D", _)) => "ImmFormat::F64".to_owned(),
        Some(("W", _)) => "ImmFormat::Swizzle".to_owned(),
        Some(("H", _)) => "ImmFormat::Half".to_owned(),
        Some((_, bits)) => format!("ImmFormat::Unsigned({bits})"),
    }
}

/// The `Kinds` constant of a kind.
pub(crate) fn kind_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::R => "R",
        Kind::UR => "UR",
        Kind::P => "P",
        Kind::UP => "UP",
        Kind::B => "B",
        Kind::SB => "SB",
        Kind::Const => "CONST",
        Kind::Bindless => "CONST_BINDLESS",
        Kind::Special => "SPECIAL",
        Kind::Label => "LABEL",
        Kind::Imm(..) => "IMM",
    }
}

/// The operand that stands where none is given, as an expression.
pub(crate) fn neutral(value: &Neutral) -> String {
    match value {
        Neutral::Required => "None".to_owned(),
        Neutral::None => "Some(Operand::NONE)".to_owned(),
        Neutral::Imm(bits) => format!("Some(Operand::imm({bits}))"),
        Neutral::Reg { file, number, not } => {
            let register = format!("Operand::reg(RegFile::{}, {number})", kind_name(file));
            if *not { format!("Some({register}.with(OperandFlags::NOT))") } else { format!("Some({register})") }
        }
    }
}

/// `src_fmt` to `SrcFmt`.
pub(crate) fn camel(name: &str) -> String {
    name.split('_')
        .map(|part| {
            let mut chars = part.chars();
            chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
        })
        .collect()
}

fn rot13(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            'A'..='Z' => char::from((c as u8 - b'A' + 13) % 26 + b'A'),
            _ => c,
        })
        .collect()
}
