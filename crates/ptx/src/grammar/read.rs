//! Reads the data files. `docs/ptx-grammar.md` explains the notation.

use std::collections::HashMap;

use super::{
    AddressSpace, AddressSpec, Choice, ComboRule, Condition, Constants, Count, Effect, Form, Grammar, InstructionSpec,
    Kind, Need, OperandSpec, Slot, SpecialSpec, Target, Ty,
};
use crate::ast::{Modifier, Opcode, ScalarType, SpecialReg};

/// A fault of a data file.
#[derive(Debug, thiserror::Error)]
#[error("{file}.grammar:{line}: {reason}")]
pub(crate) struct ReadError {
    file: String,
    line: usize,
    reason: String,
}

type Read<T> = Result<T, String>;

/// Reads all data files, given by name and text.
pub(super) fn grammar(files: &[(&str, &str)]) -> Result<Grammar, ReadError> {
    let specials = vec![SpecialSpec::default(); SpecialReg::ALL.len()];
    let mut reader = Reader { specials, ..Reader::default() };
    for (file, text) in files {
        for (number, line) in text.lines().enumerate() {
            reader.line(line).map_err(|reason| ReadError { file: (*file).to_owned(), line: number + 1, reason })?;
        }
    }
    let mut by_opcode = vec![Vec::new(); Opcode::ALL.len()];
    for (at, instruction) in reader.instructions.iter().enumerate() {
        by_opcode[instruction.opcode as usize].push(at as u16);
    }
    for list in &mut by_opcode {
        list.sort_by_key(|&at: &u16| std::cmp::Reverse(reader.instructions[usize::from(at)].stem.len()));
    }
    Ok(Grammar {
        instructions: reader.instructions,
        by_opcode,
        specials: reader.specials,
        targets: reader.targets,
        versions: reader.versions,
        directives: reader.directives,
    })
}

#[derive(Default)]
struct Reader {
    sets: HashMap<String, Vec<Choice>>,
    instructions: Vec<InstructionSpec>,
    /// The instructions that the last `instr` line opened.
    open: std::ops::Range<usize>,
    specials: Vec<SpecialSpec>,
    targets: Vec<(String, (u32, u32))>,
    versions: Vec<(u32, u32)>,
    directives: HashMap<String, Need>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Read<()> {
        let line = line.split(" #").next().unwrap_or("").trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match word {
            "set" => self.set(rest),
            "instr" => self.instr(rest),
            "special" => self.special(rest),
            "target" => self.target(rest),
            "versions" => {
                for word in rest.split_whitespace() {
                    self.versions.push(version(word)?);
                }
                Ok(())
            }
            "directive" => self.directive(rest),
            "never" => {
                let when = self.conditions(rest)?;
                self.rule(|_| ComboRule { when: when(), effect: Effect::Never })
            }
            "only" => {
                let (left, right) = rest.split_once(" with ").ok_or("`only A with B`")?;
                let when = self.conditions(left)?;
                let required = self.modifiers(right.trim())?;
                self.rule(|_| ComboRule { when: when(), effect: Effect::Requires(required.clone()) })
            }
            "since" => {
                let (left, right) = rest.split_once('@').ok_or("`since A @ need`")?;
                let when = self.conditions(left)?;
                let need = need(right.split_whitespace())?;
                self.rule(|_| ComboRule { when: when(), effect: Effect::Needs(need.clone()) })
            }
            head => self.form(head, rest),
        }
    }

    /// `set NAME = a b(need) OTHER`
    fn set(&mut self, rest: &str) -> Read<()> {
        let (name, members) = rest.split_once('=').ok_or("a set needs `=`")?;
        let mut choices = Vec::new();
        for member in members.split_whitespace() {
            choices.extend(self.choices(member)?);
        }
        self.sets.insert(name.trim().to_owned(), choices);
        Ok(())
    }

    /// `instr mul.lo mul.hi "summary"`
    fn instr(&mut self, rest: &str) -> Read<()> {
        let (names, _summary) = rest.split_once('"').ok_or("an instruction needs a summary in quotes")?;
        let start = self.instructions.len();
        for name in names.split_whitespace() {
            let mut words = name.split('.');
            let opcode = words.next().and_then(Opcode::from_name).ok_or_else(|| format!("no opcode `{name}`"))?;
            let stem = words.map(modifier).collect::<Read<_>>()?;
            self.instructions.push(InstructionSpec { opcode, stem, forms: Vec::new(), rules: Vec::new() });
        }
        self.open = start..self.instructions.len();
        Ok(())
    }

    /// `special 16|32 x4 tid ntid @ need`
    fn special(&mut self, rest: &str) -> Read<()> {
        let (names, needs) = rest.split_once('@').unwrap_or((rest, ""));
        let mut spec = SpecialSpec { need: need(needs.split_whitespace())?, ..SpecialSpec::default() };
        let mut words = names.split_whitespace();
        for width in words.next().unwrap_or("").split('|') {
            spec.widths.push(width.parse().map_err(|_| format!("no width `{width}`"))?);
        }
        for name in words {
            match SpecialReg::from_name(name) {
                Some(register) => self.specials[register as usize] = spec.clone(),
                None if name == "x4" => spec.vector = true,
                None => return Err(format!("no special register `{name}`")),
            }
        }
        Ok(())
    }

    /// `target 7.8 sm_89 sm_90`
    fn target(&mut self, rest: &str) -> Read<()> {
        let mut words = rest.split_whitespace();
        let since = version(words.next().unwrap_or(""))?;
        self.targets.extend(words.map(|name| (name.to_owned(), since)));
        Ok(())
    }

    /// `directive noreturn @ 6.4`
    fn directive(&mut self, rest: &str) -> Read<()> {
        let (names, needs) = rest.split_once('@').ok_or("`directive NAME @ need`")?;
        let need = need(needs.split_whitespace())?;
        self.directives.extend(names.split_whitespace().map(|name| (name.to_owned(), need.clone())));
        Ok(())
    }

    /// Adds a rule to the open instructions.
    fn rule(&mut self, make: impl Fn(&InstructionSpec) -> ComboRule) -> Read<()> {
        for instruction in &mut self.instructions[self.open.clone()] {
            let rule = make(instruction);
            instruction.rules.push(rule);
        }
        Ok(())
    }

    /// `ftz + !sat + SET`: a recipe, for rules are made once per instruction.
    fn conditions(&self, text: &str) -> Read<impl Fn() -> Vec<Condition> + use<>> {
        let mut list = Vec::new();
        for part in text.split(" + ") {
            let part = part.trim();
            let (present, names) = part.strip_prefix('!').map_or((true, part), |names| (false, names));
            list.push((present, self.modifiers(names)?));
        }
        Ok(move || list.iter().map(|(present, any)| Condition { present: *present, any: any.clone() }).collect())
    }

    fn modifiers(&self, text: &str) -> Read<Vec<Modifier>> {
        Ok(self.choices(text)?.into_iter().map(|choice| choice.modifier).collect())
    }

    /// `a|b(7.8,sm_90)|SET`
    fn choices(&self, text: &str) -> Read<Vec<Choice>> {
        let mut found = Vec::new();
        for word in split_outside_parentheses(text, '|') {
            let (name, needs) = word.split_once('(').map_or((word, None), |(name, rest)| (name, Some(rest)));
            let extra = match needs {
                Some(rest) => need(rest.strip_suffix(')').ok_or("`(` without `)`")?.split(','))?,
                None => Need::default(),
            };
            match self.sets.get(name) {
                Some(members) => found.extend(members.iter().map(|choice| match extra.is_nothing() {
                    true => choice.clone(),
                    false => Choice { modifier: choice.modifier, need: extra.clone() },
                })),
                None => found.push(Choice { modifier: modifier(name)?, need: extra }),
            }
        }
        Ok(found)
    }

    /// One operand, with the modifiers after a slash that it belongs to.
    fn operand(&self, text: &str) -> Read<OperandSpec> {
        match text.split_once('/') {
            Some((text, with)) => Ok(OperandSpec { with: self.modifiers(with)?, ..operand(text)? }),
            None => operand(text),
        }
    }

    /// `head.SET{.optional}  operands  @ need`
    fn form(&mut self, head: &str, rest: &str) -> Read<()> {
        let (operands, needs) = rest.split_once('@').map_or((rest, ""), |(a, b)| (a, b));
        let (operands, open) = operands.trim().strip_suffix("...").map_or((operands, false), |rest| (rest, true));
        let need = need(needs.split_whitespace())?;
        let groups = groups(head)?;
        let (opcode, groups) = groups.split_first().ok_or("an empty form")?;
        let mut used = false;
        for at in self.open.clone() {
            let (stem_opcode, stem) = (self.instructions[at].opcode, self.instructions[at].stem.clone());
            if opcode.1 != stem_opcode.as_str() || groups.len() < stem.len() {
                continue;
            }
            let (fixed, free) = groups.split_at(stem.len());
            let names = fixed.iter().map(|(_, text)| self.modifiers(text)).collect::<Read<Vec<_>>>()?;
            if !names.iter().zip(&stem).all(|(names, word)| names.contains(word)) {
                continue;
            }
            let slots = free
                .iter()
                .map(|(optional, text)| Ok(Slot { optional: *optional, choices: self.choices(text)? }))
                .collect::<Read<_>>()?;
            let operands = operands.split_whitespace().map(|text| self.operand(text)).collect::<Read<_>>()?;
            self.instructions[at].forms.push(Form { slots, operands, open, need: need.clone() });
            used = true;
        }
        if used { Ok(()) } else { Err(format!("`{head}` belongs to no instruction opened here")) }
    }
}

/// Splits `add{.rn|rz}.f32` into its groups; true for those in braces.
fn groups(head: &str) -> Read<Vec<(bool, &str)>> {
    let mut found = Vec::new();
    let mut rest = head;
    while !rest.is_empty() {
        let optional = rest.starts_with('{');
        let body = rest.strip_prefix('{').unwrap_or(rest);
        let body = if found.is_empty() { body } else { body.strip_prefix('.').ok_or("a group starts with a dot")? };
        let end = match optional {
            true => body.find('}').ok_or("`{` without `}`")?,
            // A need in parentheses has dots of its own.
            false => end_of_group(body),
        };
        found.push((optional, &body[..end]));
        rest = &body[end + usize::from(optional)..];
    }
    Ok(found)
}

fn end_of_group(body: &str) -> usize {
    let mut depth = 0;
    for (at, c) in body.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            '.' | '{' if depth == 0 => return at,
            _ => {}
        }
    }
    body.len()
}

/// Splits at a separator, but not within parentheses.
fn split_outside_parentheses(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0 && c == separator
    })
}

fn modifier(name: &str) -> Read<Modifier> {
    Modifier::from_name(name).ok_or_else(|| format!("no modifier `{name}`"))
}

/// `7.8`
fn version(word: &str) -> Read<(u32, u32)> {
    let number = |text: &str| text.parse().map_err(|_| format!("no version `{word}`"));
    let (major, minor) = word.split_once('.').ok_or_else(|| format!("no version `{word}`"))?;
    Ok((number(major)?, number(minor)?))
}

/// `7.8 sm_90`, `8.6 sm_100f|sm_120a`
fn need<'a>(words: impl Iterator<Item = &'a str>) -> Read<Need> {
    let mut need = Need::default();
    for word in words {
        match word.contains('.') {
            true => need.version = version(word)?,
            false => {
                for name in word.split('|') {
                    need.targets.push(Target::from_name(name).ok_or_else(|| format!("no target `{name}`"))?);
                }
            }
        }
    }
    Ok(need)
}

/// One operand without what follows a slash: `[=] kind flags [?]`.
fn operand(text: &str) -> Read<OperandSpec> {
    let (result, text) = text.strip_prefix('=').map_or((false, text), |rest| (true, rest));
    let (optional, text) = text.strip_suffix('?').map_or((false, text), |rest| (true, rest));
    let (kind, mut flags) = kind(text)?;
    let mut found = OperandSpec {
        kind,
        result,
        optional,
        constants: Constants::Allowed,
        range: None,
        wider: false,
        sink: false,
        negated: false,
        symbol: false,
        special: false,
        with: Vec::new(),
        pair: None,
    };
    while let Some(flag) = flags.chars().next() {
        flags = &flags[1..];
        match flag {
            '!' => found.constants = Constants::Refused,
            '#' => found.constants = Constants::Required,
            '~' => found.wider = true,
            '_' => found.sink = true,
            '-' => found.negated = true,
            '&' => found.symbol = true,
            '%' => found.special = true,
            '|' | '+' => {
                let end = flags.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(flags.len());
                found.pair = Some((ty(&flags[..end])?, flag == '+'));
                flags = &flags[end..];
            }
            '(' => {
                let (bounds, rest) = flags.split_once(')').ok_or("`(` without `)`")?;
                found.range = Some(range(bounds)?);
                flags = rest;
            }
            other => return Err(format!("no operand flag `{other}`")),
        }
    }
    Ok(found)
}

fn range(bounds: &str) -> Read<(i64, i64)> {
    let (low, high) = bounds.split_once("..").ok_or("a range is `low..high`")?;
    let number = |text: &str| text.parse().map_err(|_| format!("no number `{text}`"));
    Ok((number(low)?, number(high)?))
}

/// The kind of operand at the start of `text`, and the flags after it.
fn kind(text: &str) -> Read<(Kind, &str)> {
    let closed = |close: char| text[1..].split_once(close).ok_or_else(|| format!("no `{close}`"));
    match text.as_bytes().first() {
        Some(b'{') => {
            let (inner, flags) = closed('}')?;
            let (element, count) = match inner.split_once(':') {
                Some((element, count)) => (element, self::count(count)?),
                None => (inner, Count::Any),
            };
            Ok((Kind::Vector(ty(element)?, count), flags))
        }
        Some(b'<') => {
            let (inner, flags) = closed('>')?;
            Ok((Kind::Elements(ty(inner)?), flags))
        }
        Some(b'[') => {
            let (inner, flags) = closed(']')?;
            Ok((Kind::Address(address(inner)?), flags))
        }
        _ => {
            let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '*').unwrap_or(text.len());
            let (name, flags) = text.split_at(end);
            Ok(match name {
                "label" => (Kind::Label, flags),
                "any" => (Kind::Any, flags),
                "pack" => (Kind::Pack(Ty::Nth(0)), flags),
                name => (Kind::Value(ty(name)?), flags),
            })
        }
    }
}

/// `4`, `x2` (twice the number of `.x4`) or `n2` (a half of the shape's n).
fn count(text: &str) -> Read<Count> {
    let number = |text: &str| text.parse().map_err(|_| format!("no length `{text}`"));
    Ok(match text.as_bytes().first() {
        Some(b'x') => Count::TimesX(number(&text[1..])?),
        Some(b'n') => Count::PartOfN(number(&text[1..])?),
        _ => Count::Is(number(text)?),
    })
}

/// `S`, `S2`, `global`, `tex`, each with `,n` or `,n..m` operands after it.
fn address(inner: &str) -> Read<AddressSpec> {
    let (space, rest) = inner.split_once(',').map_or((inner, None), |(space, rest)| (space, Some(rest)));
    let number = |text: &str| text.parse::<u8>().map_err(|_| format!("no number `{text}`"));
    let rest = match rest.map(|rest| rest.split_once("..").unwrap_or((rest, rest))) {
        Some((low, high)) => (number(low)?, number(high)?),
        None => (0, 0),
    };
    let space = match space {
        "S" => AddressSpace::Nth(0),
        "S2" => AddressSpace::Nth(1),
        "tex" => AddressSpace::Opaque(&[ScalarType::Texref]),
        "samp" => AddressSpace::Opaque(&[ScalarType::Samplerref]),
        "texsamp" => AddressSpace::Opaque(&[ScalarType::Texref, ScalarType::Samplerref]),
        "surf" => AddressSpace::Opaque(&[ScalarType::Surfref]),
        "tmem" => AddressSpace::Tensor,
        "any" => AddressSpace::Any,
        name => match Modifier::from_name(name) {
            Some(Modifier::Space(space)) => AddressSpace::Is(space),
            _ => return Err(format!("no state space `{name}`")),
        },
    };
    Ok(AddressSpec { space, rest })
}

/// `T`, `T2`, `T*2` (twice the width) or a type's name.
fn ty(name: &str) -> Read<Ty> {
    Ok(match name {
        "T" => Ty::Nth(0),
        "T2" => Ty::Nth(1),
        "T3" => Ty::Nth(2),
        "T4" => Ty::Nth(3),
        "T*2" => Ty::Double(0),
        name => match Modifier::from_name(name) {
            Some(Modifier::Type(ty)) => Ty::Is(ty),
            _ => return Err(format!("no type `{name}`")),
        },
    })
}
