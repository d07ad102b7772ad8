//! Reads spec files.

use crate::facts;
use crate::model::{
    EnumDef, EnumValue, FieldDef, InstrDef, Kind, Layout, Line, Neutral, OperandDef, Place, Spec, WidthCase, WidthRule,
    carries,
};
use crate::targets::{self, Targets};
use std::collections::BTreeMap;

/// What the indented lines that follow belong to.
enum Open {
    Nothing,
    Layout(String),
    Instr(String),
    /// The last of `Spec::extensions`.
    Extension,
}

/// What holds for the rest of a file.
struct Context {
    family: String,
    targets: Targets,
    /// Facts of the instructions that do not state them.
    defaults: BTreeMap<String, String>,
}

/// Add the contents of one file to `spec`.
pub(crate) fn file(spec: &mut Spec, name: &str, text: &str) -> Result<(), String> {
    let mut open = Open::Nothing;
    let mut context = Context { family: String::new(), targets: targets::DEFAULT, defaults: BTreeMap::new() };
    for (number, raw) in text.lines().enumerate() {
        let place = Place(format!("{name}:{}", number + 1));
        let line = strip_comment(raw).trim_end();
        if line.trim().is_empty() {
            continue;
        }
        let result = if line.starts_with(' ') {
            attribute(spec, &open, &place, line.trim())
        } else {
            top(spec, &mut open, &mut context, &place, line)
        };
        result.map_err(|e| format!("{}: {e}", place.0))?;
    }
    Ok(())
}

fn strip_comment(line: &str) -> &str {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => return &line[..at],
            _ => {}
        }
    }
    line
}

fn top(spec: &mut Spec, open: &mut Open, context: &mut Context, place: &Place, line: &str) -> Result<(), String> {
    let (word, rest) = split_word(line);
    *open = Open::Nothing;
    match word {
        "family" => context.family = rest.to_owned(),
        "targets" => context.targets = targets::list(rest)?,
        "default" => {
            for text in rest.split_whitespace() {
                let (word, value) = text.split_once('=').ok_or("expected: default WORD=VALUE …")?;
                if !facts::WORDS.contains(&word) {
                    return Err(format!("no fact '{word}'"));
                }
                context.defaults.insert(word.to_owned(), value.to_owned());
            }
        }
        "turned" => turned(spec, rest)?,
        "enum" => {
            let (name, rest) = split_word(rest);
            let (doc, rest) = take_doc(rest)?;
            add_enum(spec, name, doc, rest)?;
        }
        "phrase" => {
            let (name, text) = split_word(rest);
            if spec.phrases.insert(name.to_owned(), text.to_owned()).is_some() {
                return Err(format!("phrase '{name}' is defined twice"));
            }
        }
        "field" => add_field(spec, rest)?,
        "flag" => add_flag(spec, rest)?,
        "layout" => {
            let layout = Layout { lines: Vec::new() };
            if spec.layouts.insert(rest.to_owned(), layout).is_some() {
                return Err(format!("layout '{rest}' is defined twice"));
            }
            *open = Open::Layout(rest.to_owned());
        }
        "instr" => {
            let (rest, targets) = take_targets(rest, context.targets)?;
            let (name, rest) = split_word(rest);
            let (doc, rest) = take_doc(rest)?;
            if doc.is_empty() || !rest.is_empty() {
                return Err("expected: instr NAME \"meaning\" [targets]".to_owned());
            }
            let instr = InstrDef {
                name: name.to_owned(),
                doc,
                place: place.clone(),
                targets,
                family: context.family.clone(),
                facts: context.defaults.clone(),
                ..Default::default()
            };
            if spec.instrs.insert(name.to_owned(), instr).is_some() {
                return Err(format!("instruction '{name}' is defined twice"));
            }
            *open = Open::Instr(name.to_owned());
        }
        "extend" => {
            let (name, targets) = take_targets(rest, context.targets)?;
            let extension = InstrDef { name: name.to_owned(), place: place.clone(), targets, ..Default::default() };
            spec.extensions.push(extension);
            *open = Open::Extension;
        }
        _ => return Err(format!("unknown paragraph '{word}'")),
    }
    Ok(())
}

fn attribute(spec: &mut Spec, open: &Open, place: &Place, line: &str) -> Result<(), String> {
    match open {
        Open::Nothing => Err("an indented line that belongs to nothing".to_owned()),
        Open::Layout(name) => {
            let (text, targets) = take_targets(line, Targets::MAX)?;
            let layout = spec.layouts.get_mut(name).ok_or("no layout is open")?;
            layout.lines.push(Line { place: place.clone(), text: text.to_owned(), targets });
            Ok(())
        }
        Open::Instr(name) => {
            let instr = spec.instrs.get_mut(name).ok_or("no instruction is open")?;
            instr_attribute(instr, place, line)
        }
        Open::Extension => {
            let instr = spec.extensions.last_mut().ok_or("no extension is open")?;
            match split_word(line).0 {
                "sig" | "fields" | "syntax" | "encode" => instr_attribute(instr, place, line),
                word => Err(format!("an extension cannot have '{word}'")),
            }
        }
    }
}

fn instr_attribute(instr: &mut InstrDef, place: &Place, line: &str) -> Result<(), String> {
    let (word, rest) = split_word(line);
    match word {
        "number" => instr.number = Some(rest.parse().map_err(|_| format!("bad number '{rest}'"))?),
        "category" => instr.category = Some(category(rest).ok_or_else(|| format!("bad category '{rest}'"))?),
        "pipe" => instr.pipe = rest.to_owned(),
        "latency" => instr.latency = rest.to_owned(),
        "control" => instr.control = Some(carries(rest.split_whitespace())?),
        _ if facts::WORDS.contains(&word) => {
            instr.facts.insert(word.to_owned(), rest.to_owned());
        }
        "variant" if rest == "a" => instr.specific = true,
        "guard" if rest == "UP" => instr.guard_uniform = true,
        "guard" if rest == "none" => instr.unguarded = true,
        "sig" => {
            for text in rest.split_whitespace() {
                instr.operands.push(operand(text)?);
            }
        }
        "fields" => {
            for text in rest.split_whitespace() {
                let (name, default) = match text.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (text, None),
                };
                instr.fields.push((name.to_owned(), default));
            }
        }
        "syntax" | "encode" => {
            let (text, targets) = take_targets(rest, instr.targets)?;
            let line = Line { place: place.clone(), text: text.to_owned(), targets };
            if word == "syntax" { instr.syntax.push(line) } else { instr.encode.push(line) }
        }
        _ => return Err(format!("unknown attribute '{word}'")),
    }
    Ok(())
}

/// `turned FIELD A:B C D:-`: where the operands of the comparison change places A and B change into each other, C stays,
/// and nothing stands for D.
fn turned(spec: &mut Spec, text: &str) -> Result<(), String> {
    let (field, rest) = split_word(text);
    let mut turned = BTreeMap::new();
    for word in rest.split_whitespace() {
        let (from, to) = word.split_once(':').unwrap_or((word, word));
        turned.insert(from.to_owned(), to.to_owned());
        if to != "-" {
            turned.insert(to.to_owned(), from.to_owned());
        }
    }
    match spec.turned.insert(field.to_owned(), turned) {
        None => Ok(()),
        Some(_) => Err(format!("turned '{field}' stands twice")),
    }
}

/// `489` or `449..456`.
fn category(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// `NAME[=CODE][/TEXT]…`; codes count up from the last one.
fn add_enum(spec: &mut Spec, name: &str, doc: String, text: &str) -> Result<(), String> {
    let mut values = Vec::new();
    let mut next = 0u8;
    for word in text.split_whitespace() {
        let (head, shown) = match word.split_once('/') {
            Some((head, shown)) => (head, Some(shown)),
            None => (word, None),
        };
        let (value, code) = match head.split_once('=') {
            Some((value, code)) => (value, code.parse().map_err(|_| format!("bad code '{code}'"))?),
            None => (head, next),
        };
        next = code.wrapping_add(1);
        values.push(EnumValue { name: value.to_owned(), code, text: shown.unwrap_or(value).to_owned() });
    }
    if values.is_empty() {
        return Err(format!("enum '{name}' has no values"));
    }
    let def = EnumDef { name: name.to_owned(), doc, values };
    match spec.enums.insert(name.to_owned(), def) {
        None => Ok(()),
        Some(_) => Err(format!("enum '{name}' is defined twice")),
    }
}

/// `field NAME "doc" = ENUM` or `field NAME "doc" VALUES…`, which makes an enum of that name.
fn add_field(spec: &mut Spec, text: &str) -> Result<(), String> {
    let (name, rest) = split_word(text);
    let (doc, rest) = take_doc(rest)?;
    let of = match rest.strip_prefix('=') {
        Some(of) => of.trim().to_owned(),
        None => {
            add_enum(spec, name, doc.clone(), rest)?;
            name.to_owned()
        }
    };
    insert_field(spec, FieldDef { name: name.to_owned(), doc, of, is_flag: false })
}

/// `flag NAME "doc" [TEXT]`: off, or on and printed as TEXT (the name in upper case).
fn add_flag(spec: &mut Spec, text: &str) -> Result<(), String> {
    let (name, rest) = split_word(text);
    let (doc, shown) = take_doc(rest)?;
    let shown = if shown.is_empty() { name.to_uppercase() } else { shown.to_owned() };
    add_enum(spec, name, doc.clone(), &format!("OFF/ ON/{}", shown.trim_start_matches('/')))?;
    insert_field(spec, FieldDef { name: name.to_owned(), doc, of: name.to_owned(), is_flag: true })
}

fn insert_field(spec: &mut Spec, field: FieldDef) -> Result<(), String> {
    let name = field.name.clone();
    match spec.fields.insert(name.clone(), field) {
        None => Ok(()),
        Some(_) => Err(format!("field '{name}' is defined twice")),
    }
}

/// `[=|+]ROLE:KINDS[(flags)][*WIDTH][?NEUTRAL]`.
fn operand(text: &str) -> Result<OperandDef, String> {
    let bad = || format!("bad operand '{text}'");
    let (is_def, is_use, rest) = match (text.strip_prefix('='), text.strip_prefix('+')) {
        (Some(rest), _) => (true, false, rest),
        (_, Some(rest)) => (true, true, rest),
        (None, None) => (false, true, text),
    };
    let (role, rest) = rest.split_once(':').ok_or_else(bad)?;
    let (rest, neutral) = match rest.split_once('?') {
        Some((rest, neutral)) => (rest, neutral_value(neutral)?),
        None => (rest, Neutral::Required),
    };
    let (rest, width, width_by) = match rest.split_once('*') {
        Some((rest, width)) => {
            let (width, by) = operand_width(width)?;
            (rest, width, by)
        }
        None => (rest, 1, Vec::new()),
    };
    let (kinds, flags) = match rest.split_once('(') {
        Some((kinds, flags)) => (kinds, flags.strip_suffix(')').ok_or_else(bad)?),
        None => (rest, ""),
    };
    Ok(OperandDef {
        role: role.to_owned(),
        is_def,
        is_use,
        kinds: kinds.split(',').map(kind).collect::<Result<_, _>>()?,
        flags: flags.split(',').filter(|f| !f.is_empty()).map(str::to_owned).collect(),
        width,
        width_by,
        neutral,
    })
}

/// `2` or `[field:VALUE=2,VALUE=4]` (1 elsewhere) or `2[field:…]` (2 elsewhere), with several brackets
/// of which the first with a case for the field's value decides; numbers after `+` add to what follows,
/// those after `*` and `/` multiply and divide the whole.
fn operand_width(text: &str) -> Result<(u8, Vec<WidthRule>), String> {
    let bad = || format!("bad width '{text}'");
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (fixed, mut rest) = text.split_at(end);
    let fixed = if fixed.is_empty() { 1 } else { fixed.parse().map_err(|_| bad())? };
    let mut rules = Vec::new();
    while !rest.is_empty() {
        let (operator, bracket) = rest.split_once('[').ok_or_else(bad)?;
        let step = match operator {
            "" => "Is",
            "+" => "Add",
            "*" => "Multiply",
            "/" => "Divide",
            _ => return Err(bad()),
        };
        let (inner, after) = bracket.split_once(']').ok_or_else(bad)?;
        let (field, list) = inner.split_once(':').ok_or_else(bad)?;
        let cases = list.split(',').map(width_case).collect::<Option<_>>().ok_or_else(bad)?;
        rules.push(WidthRule { field: field.to_owned(), step, cases });
        rest = after;
    }
    Ok((fixed, rules))
}

/// `VALUE=2` or `FIRST..LAST=4..128`.
fn width_case(text: &str) -> Option<WidthCase> {
    let (values, numbers) = text.split_once('=')?;
    let (first, last) = values.split_once("..").unwrap_or((values, values));
    let (from, to) = numbers.split_once("..").unwrap_or((numbers, numbers));
    Some(WidthCase { first: first.to_owned(), last: last.to_owned(), from: from.parse().ok()?, to: to.parse().ok()? })
}

/// The kind that a name in a signature or a slot stands for.
pub(crate) fn kind(text: &str) -> Result<Kind, String> {
    Ok(match text {
        "R" => Kind::R,
        "U" => Kind::UR,
        "P" => Kind::P,
        "UP" => Kind::UP,
        "B" => Kind::B,
        "SB" => Kind::SB,
        "C" => Kind::Const,
        "CX" => Kind::Bindless,
        "SR" => Kind::Special,
        "L" => Kind::Label,
        _ => {
            let digits = text.find(|c: char| c.is_ascii_digit()).ok_or_else(|| format!("unknown kind '{text}'"))?;
            let (format, bits) = text.split_at(digits);
            if !["S", "U", "F", "H", "D", "W"].contains(&format) {
                return Err(format!("unknown kind '{text}'"));
            }
            Kind::Imm(format.to_owned(), bits.parse().map_err(|_| format!("unknown kind '{text}'"))?)
        }
    })
}

/// `PT`, `!PT`, `RZ`, a number …
pub(crate) fn neutral_value(text: &str) -> Result<Neutral, String> {
    let (not, name) = match text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let register = |file, number| Neutral::Reg { file, number, not };
    Ok(match name {
        "none" => Neutral::None,
        "PT" => register(Kind::P, 7),
        "UPT" => register(Kind::UP, 7),
        "RZ" => register(Kind::R, 255),
        "URZ" => register(Kind::UR, 255),
        _ if name.starts_with('B') => {
            register(Kind::B, name[1..].parse().map_err(|_| format!("unknown neutral value '{text}'"))?)
        }
        _ => Neutral::Imm(name.parse().map_err(|_| format!("unknown neutral value '{text}'"))?),
    })
}

fn split_word(text: &str) -> (&str, &str) {
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (text, ""),
    }
}

/// A leading quoted text, if there is one.
fn take_doc(text: &str) -> Result<(String, &str), String> {
    let Some(rest) = text.strip_prefix('"') else { return Ok((String::new(), text)) };
    let (doc, rest) = rest.split_once('"').ok_or("the quote does not end")?;
    Ok((doc.to_owned(), rest.trim()))
}

/// A trailing `[sm_80 sm_90..]`, if there is one; `default` otherwise.
fn take_targets(text: &str, default: Targets) -> Result<(&str, Targets), String> {
    let found = text.strip_suffix(']').and_then(|t| t.rsplit_once('['));
    let is_list = |list: &str| list.starts_with("sm_") || list.starts_with("..");
    let Some((head, list)) = found.filter(|(_, list)| is_list(list)) else { return Ok((text, default)) };
    Ok((head.trim_end(), targets::list(list)?))
}
