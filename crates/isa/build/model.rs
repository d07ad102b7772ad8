//! The spec as parsed: enums, fields, layouts, instructions.

use crate::facts::Facts;
use crate::targets::Targets;
use std::collections::{BTreeMap, BTreeSet};

/// A place in a spec file, for messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place(pub String);

/// One value of an enum.
#[derive(Clone, Debug)]
pub(crate) struct EnumValue {
    pub name: String,
    pub code: u8,
    pub text: String,
}

#[derive(Clone, Debug)]
pub(crate) struct EnumDef {
    pub name: String,
    pub doc: String,
    pub values: Vec<EnumValue>,
}

impl EnumDef {
    pub(crate) fn code(&self, name: &str) -> Option<u8> {
        self.values.iter().find(|v| v.name == name).map(|v| v.code)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct FieldDef {
    pub name: String,
    pub doc: String,
    pub of: String,
    /// Off or on.
    pub is_flag: bool,
}

/// A register, constant … class that an operand may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    R,
    UR,
    P,
    UP,
    B,
    SB,
    Const,
    Bindless,
    Special,
    Label,
    /// Immediate: format letter(s) and width in bits.
    Imm(String, u32),
}

/// The words of a `control` line, and their bits in `Carries`.
const CONTROL: [(&str, u8); 3] = [("write", 1), ("read", 2), ("wait", 4)];

/// All of them.
pub(crate) const ALL_CONTROL: u8 = 7;

/// The bits of a list of words, `-` for none.
pub(crate) fn carries<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<u8, String> {
    words.try_fold(0, |bits, word| match CONTROL.iter().find(|(name, _)| *name == word) {
        Some((_, bit)) => Ok(bits | bit),
        None if word == "-" => Ok(bits),
        None => Err(format!("control '{word}': write, read, wait or -")),
    })
}

/// Value of an operand where the text or the form does not give one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Neutral {
    /// It must be given.
    Required,
    None,
    Reg {
        file: Kind,
        number: u16,
        not: bool,
    },
    Imm(u64),
}

#[derive(Clone, Debug)]
pub(crate) struct OperandDef {
    pub role: String,
    pub is_def: bool,
    /// It is read: what is written is not, unless `+` says that the instruction changes it.
    pub is_use: bool,
    pub kinds: Vec<Kind>,
    pub flags: BTreeSet<String>,
    pub width: u8,
    /// How fields change the width.
    pub width_by: Vec<WidthRule>,
    pub neutral: Neutral,
}

/// `[field:VALUE=2]`: numbers at some values of a field, and what they do to the width.
#[derive(Clone, Debug)]
pub(crate) struct WidthRule {
    pub field: String,
    /// The variant of `WidthStep`, by what stands before the bracket: nothing, `+`, `*`, `/`.
    pub step: &'static str,
    pub cases: Vec<WidthCase>,
}

/// `VALUE=2`, or `FIRST..LAST=4..128`: equal steps over the values in the order of the enum.
#[derive(Clone, Debug)]
pub(crate) struct WidthCase {
    pub first: String,
    pub last: String,
    pub from: u8,
    pub to: u8,
}

/// A line with a restriction to targets.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub place: Place,
    pub text: String,
    pub targets: Targets,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct InstrDef {
    pub name: String,
    pub doc: String,
    pub place: Place,
    /// Targets of lines that name none.
    pub targets: Targets,
    /// Only the architecture-specific variants (`sm_90a`) have it.
    pub specific: bool,
    pub number: Option<u16>,
    /// First and last published encoding category.
    pub category: Option<(u16, u16)>,
    pub family: String,
    pub pipe: String,
    pub latency: String,
    /// What it states of itself, or its file for it: the words of [`crate::facts::WORDS`] with what stands after them.
    pub facts: BTreeMap<String, String>,
    /// What its control word may carry, as [`carries`] makes it; every instruction says it.
    pub control: Option<u8>,
    pub guard_uniform: bool,
    pub unguarded: bool,
    pub operands: Vec<OperandDef>,
    /// Field name and the default value's name.
    pub fields: Vec<(String, Option<String>)>,
    pub syntax: Vec<Line>,
    pub encode: Vec<Line>,
}

#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub lines: Vec<Line>,
}

#[derive(Default)]
pub(crate) struct Spec {
    pub(crate) enums: BTreeMap<String, EnumDef>,
    pub fields: BTreeMap<String, FieldDef>,
    /// `turned` lines: the value of a comparison that stands for each where the operands change places, or `-`.
    pub turned: BTreeMap<String, BTreeMap<String, String>>,
    pub layouts: BTreeMap<String, Layout>,
    pub instrs: BTreeMap<String, InstrDef>,
    /// `extend` paragraphs: what they add to the instruction of that name.
    pub extensions: Vec<InstrDef>,
    /// `phrase` paragraphs: what `$NAME` in layouts, templates and encodings stands for.
    pub phrases: BTreeMap<String, String>,
}

impl Spec {
    /// The enum of a field.
    pub(crate) fn enum_of(&self, field: &str) -> Result<&EnumDef, String> {
        let def = self.fields.get(field).ok_or_else(|| format!("no field '{field}'"))?;
        self.enums.get(&def.of).ok_or_else(|| format!("field '{field}': no enum '{}'", def.of))
    }

    /// Add what `extend` paragraphs say to their instructions.
    pub(crate) fn apply_extensions(&mut self) -> Result<(), String> {
        for extension in std::mem::take(&mut self.extensions) {
            let instr = self
                .instrs
                .get_mut(&extension.name)
                .ok_or_else(|| format!("{}: no instruction '{}' to extend", extension.place.0, extension.name))?;
            instr.operands.extend(extension.operands);
            instr.fields.extend(extension.fields);
            instr.syntax.extend(extension.syntax);
            instr.encode.extend(extension.encode);
        }
        Ok(())
    }

    /// Put the texts of phrases in place of their names.
    pub(crate) fn expand_phrases(&mut self) -> Result<(), String> {
        let phrases = std::mem::take(&mut self.phrases);
        let layouts = self.layouts.values_mut().flat_map(|layout| &mut layout.lines);
        let instrs = self.instrs.values_mut().flat_map(|instr| instr.syntax.iter_mut().chain(&mut instr.encode));
        for line in layouts.chain(instrs) {
            line.text = with_phrases(&phrases, &line.text).map_err(|e| format!("{}: {e}", line.place.0))?;
        }
        Ok(())
    }

    /// Names used before or without their definition.
    pub(crate) fn check(&self) -> Result<(), String> {
        for field in self.fields.keys() {
            self.enum_of(field)?;
        }
        for (field, turned) in &self.turned {
            let of = self.enum_of(field)?;
            if let Some(value) = of.values.iter().find(|value| !turned.contains_key(&value.name)) {
                return Err(format!("turned {field}: '{}' is missing", value.name));
            }
            for name in turned.iter().flat_map(|(from, to)| [from, to]).filter(|name| *name != "-") {
                of.code(name).ok_or_else(|| format!("turned {field}: no value '{name}'"))?;
            }
        }
        for instr in self.instrs.values() {
            self.check_instr(instr).map_err(|e| format!("{}: {}: {e}", instr.place.0, instr.name))?;
        }
        Ok(())
    }

    fn check_instr(&self, instr: &InstrDef) -> Result<(), String> {
        for (word, given) in [("pipe", &instr.pipe), ("latency", &instr.latency), ("family", &instr.family)] {
            if given.is_empty() {
                return Err(format!("no '{word}'"));
            }
        }
        Facts::of(self, instr)?;
        instr.control.ok_or("no 'control' line: write, read, wait or -")?;
        for (field, default) in &instr.fields {
            let of = self.enum_of(field)?;
            if let Some(value) = default {
                of.code(value).ok_or_else(|| format!("field '{field}' has no value '{value}'"))?;
            }
        }
        let rules = instr.operands.iter().flat_map(|o| o.width_by.iter().map(move |rule| (o, rule)));
        for (operand, WidthRule { field, cases, .. }) in rules {
            if !instr.fields.iter().any(|(name, _)| name == field) {
                return Err(format!("width of {} by a field '{field}' that it lacks", operand.role));
            }
            let of = self.enum_of(field)?;
            for value in cases.iter().flat_map(|case| [&case.first, &case.last]) {
                of.code(value).ok_or_else(|| format!("field '{field}' has no value '{value}'"))?;
            }
        }
        Ok(())
    }
}

/// `text` with every `$NAME` replaced.
fn with_phrases(phrases: &BTreeMap<String, String>, text: &str) -> Result<String, String> {
    let mut parts = text.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        out.push_str(phrases.get(name).ok_or_else(|| format!("no phrase '{name}'"))?);
        out.push_str(rest);
    }
    Ok(out)
}
