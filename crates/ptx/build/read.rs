//! Reads the spec files. `docs/ptx-grammar.md` explains the notation.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::model::{Choice, Effect, Form, Instruction, Need, Operand, Rule, Slot, Spec, Special, Version, Vocabulary};
use super::operand::operand;
use super::target::Target;

pub(crate) type Read<T> = Result<T, String>;

/// What the bits of a type may mean.
const CLASSES: [&str; 6] = ["predicate", "unsigned", "signed", "bits", "float", "opaque"];

/// Reads all files, given by path and text.
pub(crate) fn spec(files: &[(String, String)]) -> Read<Spec> {
    let mut reader = Reader::default();
    for (file, text) in files {
        for (number, line) in text.lines().enumerate() {
            reader.line(file, line).map_err(|reason| format!("{file}:{}: {reason}", number + 1))?;
        }
    }
    match reader.spec.instructions.iter().find(|instruction| instruction.forms.is_empty()) {
        Some(instruction) => Err(format!("`{}` has no form", instruction.name())),
        None => Ok(reader.spec),
    }
}

#[derive(Default)]
struct Reader {
    spec: Spec,
    sets: HashMap<String, Vec<Choice>>,
    /// Plain words that a vocabulary has too.
    plain: BTreeSet<String>,
    /// The instructions that the last `instr` line opened.
    open: Range<usize>,
}

impl Reader {
    fn line(&mut self, file: &str, line: &str) -> Read<()> {
        let line = line.split(" #").next().unwrap_or("").trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if let Some(vocabulary) = Vocabulary::from_keyword(word) {
            return self.vocabulary(vocabulary, rest);
        }
        match word {
            "word" => {
                self.plain.extend(rest.split_whitespace().map(str::to_owned));
                self.spec.vocabulary_of.retain(|name, _| !self.plain.contains(name));
                Ok(())
            }
            "set" => self.set(rest),
            "instr" => self.instr(file, rest),
            "special" => self.special(rest),
            "target" => self.target(rest),
            "versions" => {
                let versions = rest.split_whitespace().map(version).collect::<Read<Vec<_>>>()?;
                self.spec.versions.extend(versions);
                Ok(())
            }
            "directive" => self.directive(rest),
            "never" => {
                let when = self.conditions(rest)?;
                self.rule(Rule { when, effect: Effect::Never })
            }
            "only" => {
                let (left, right) = rest.split_once(" with ").ok_or("`only A with B`")?;
                let when = self.conditions(left)?;
                let effect = Effect::Requires(self.known_modifiers(right.trim())?);
                self.rule(Rule { when, effect })
            }
            "since" => {
                let (left, right) = rest.split_once('@').ok_or("`since A @ need`")?;
                let of_all = left.trim().is_empty();
                let when = if of_all { Vec::new() } else { self.conditions(left)? };
                let effect = Effect::Needs(need(right.split_whitespace())?);
                self.rule(Rule { when, effect })
            }
            head => self.form(head, rest),
        }
    }

    /// `space reg sreg`, `type 32 float f32 tf32`
    fn vocabulary(&mut self, vocabulary: Vocabulary, rest: &str) -> Read<()> {
        let mut words = rest.split_whitespace();
        let facts = match vocabulary {
            Vocabulary::Type => {
                let bits = words.next().and_then(|word| word.parse().ok()).ok_or("a type needs its width in bits")?;
                let class = words.next().filter(|word| CLASSES.contains(word));
                Some((bits, class.ok_or_else(|| format!("a type needs its class: {}", CLASSES.join(", ")))?.to_owned()))
            }
            _ => None,
        };
        for name in words {
            if !self.plain.contains(name) && self.spec.vocabulary_of.insert(name.to_owned(), vocabulary).is_some() {
                return Err(format!("`{name}` is in a vocabulary already"));
            }
            self.spec.vocabularies.entry(vocabulary).or_default().push(name.to_owned());
            self.spec.types.extend(facts.clone());
        }
        Ok(())
    }

    /// `set NAME = a b(need) OTHER`
    fn set(&mut self, rest: &str) -> Read<()> {
        let (name, members) = rest.split_once('=').ok_or("a set needs `=`")?;
        let mut choices = Vec::new();
        for member in members.split_whitespace() {
            choices.extend(self.choices(member)?);
        }
        match self.sets.insert(name.trim().to_owned(), choices) {
            Some(_) => Err(format!("the set `{}` is defined twice", name.trim())),
            None => Ok(()),
        }
    }

    /// `instr mul.lo mul.hi "summary"`
    fn instr(&mut self, file: &str, rest: &str) -> Read<()> {
        let (names, _summary) = rest.split_once('"').ok_or("an instruction needs a summary in quotes")?;
        let start = self.spec.instructions.len();
        for name in names.split_whitespace() {
            let mut words = name.split('.').map(str::to_owned);
            let opcode = words.next().unwrap_or_default();
            let chapter = self.spec.chapters.entry(opcode.clone()).or_insert_with(|| file.to_owned());
            if chapter != file {
                return Err(format!("`{opcode}` stands in {chapter} already"));
            }
            let instruction = Instruction { opcode, stem: words.collect(), forms: Vec::new(), rules: Vec::new() };
            for word in &instruction.stem {
                self.note(word)?;
            }
            if self.spec.instructions.iter().any(|other| other.name() == instruction.name()) {
                return Err(format!("`{name}` is defined twice"));
            }
            self.spec.instructions.push(instruction);
        }
        self.open = start..self.spec.instructions.len();
        Ok(())
    }

    /// `special 16|32 x4 tid ntid @ need`
    fn special(&mut self, rest: &str) -> Read<()> {
        let (names, needs) = rest.split_once('@').unwrap_or((rest, ""));
        let mut shape = Special { need: need(needs.split_whitespace())?, ..Special::default() };
        let mut words = names.split_whitespace().peekable();
        for width in words.next().unwrap_or("").split('|') {
            shape.widths.push(width.parse().map_err(|_| format!("no width `{width}`"))?);
        }
        shape.vector = words.next_if_eq(&"x4").is_some();
        for name in words {
            if self.spec.specials.iter().any(|other| other.name == name) {
                return Err(format!("`{name}` is defined twice"));
            }
            self.spec.specials.push(Special { name: name.to_owned(), ..shape.clone() });
        }
        Ok(())
    }

    /// `target 7.8 sm_89 sm_90`
    fn target(&mut self, rest: &str) -> Read<()> {
        let mut words = rest.split_whitespace();
        let since = version(words.next().unwrap_or(""))?;
        for name in words {
            target(name)?;
            self.spec.targets.push((name.to_owned(), since));
        }
        Ok(())
    }

    /// `directive noreturn @ 6.4`
    fn directive(&mut self, rest: &str) -> Read<()> {
        let (names, needs) = rest.split_once('@').ok_or("`directive NAME @ need`")?;
        let need = need(needs.split_whitespace())?;
        self.spec.directives.extend(names.split_whitespace().map(|name| (name.to_owned(), need.clone())));
        Ok(())
    }

    /// Adds a rule to the open instructions.
    fn rule(&mut self, rule: Rule) -> Read<()> {
        let open = &mut self.spec.instructions[self.open.clone()];
        if open.is_empty() {
            return Err("a rule before the first instruction".to_owned());
        }
        open.iter_mut().for_each(|instruction| instruction.rules.push(rule.clone()));
        Ok(())
    }

    /// `ftz + !sat + SET`
    fn conditions(&self, text: &str) -> Read<Vec<(bool, Vec<String>)>> {
        let part = |part: &str| {
            let part = part.trim();
            let (present, names) = part.strip_prefix('!').map_or((true, part), |names| (false, names));
            Ok((present, self.known_modifiers(names)?))
        };
        text.split(" + ").map(part).collect()
    }

    /// Modifiers that forms or names have, for a rule is about those.
    fn known_modifiers(&self, text: &str) -> Read<Vec<String>> {
        let names = self.modifiers(text)?;
        let known = |name: &String| self.spec.words.contains(name) || !self.spec.is_plain(name);
        match names.iter().find(|name| !known(name)) {
            Some(name) => Err(format!("`{name}` stands in no form before this line")),
            None => Ok(names),
        }
    }

    fn modifiers(&self, text: &str) -> Read<Vec<String>> {
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
                Some(members) => found.extend(members.iter().map(|choice| match extra == Need::default() {
                    true => choice.clone(),
                    false => Choice { modifier: choice.modifier.clone(), need: extra.clone() },
                })),
                None => found.push(Choice { modifier: plain_name(name)?.to_owned(), need: extra }),
            }
        }
        Ok(found)
    }

    /// Takes a modifier of a form or name into the list of words, if no vocabulary has it.
    fn note(&mut self, name: &str) -> Read<()> {
        let name = plain_name(name)?;
        if self.spec.is_plain(name) {
            self.spec.words.insert(name.to_owned());
        }
        Ok(())
    }

    /// One operand, with the modifiers after a slash that it belongs to.
    fn operand(&self, text: &str) -> Read<Operand> {
        match text.split_once('/') {
            Some((text, with)) => Ok(Operand { with: self.known_modifiers(with)?, ..operand(&self.spec, text)? }),
            None => operand(&self.spec, text),
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
            let stem = self.spec.instructions[at].stem.clone();
            if opcode.1 != self.spec.instructions[at].opcode || groups.len() < stem.len() {
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
                .collect::<Read<Vec<_>>>()?;
            for choice in slots.iter().flat_map(|slot| &slot.choices) {
                self.note(&choice.modifier)?;
            }
            let operands = operands.split_whitespace().map(|text| self.operand(text)).collect::<Read<_>>()?;
            self.spec.instructions[at].forms.push(Form { slots, operands, open, need: need.clone() });
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

/// A modifier's name: letters, digits, `_` and `::`. What is written in capitals alone is the name of a set, which the
/// caller has not found.
fn plain_name(name: &str) -> Read<&str> {
    let capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
    if name.len() > 2 && name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(capital) {
        return Err(format!("no set `{name}`"));
    }
    match !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':') {
        true => Ok(name),
        false => Err(format!("no modifier `{name}`")),
    }
}

/// `7.8`
fn version(word: &str) -> Read<Version> {
    let number = |text: &str| text.parse().map_err(|_| format!("no version `{word}`"));
    let (major, minor) = word.split_once('.').ok_or_else(|| format!("no version `{word}`"))?;
    Ok((number(major)?, number(minor)?))
}

fn target(name: &str) -> Read<Target> {
    Target::from_name(name).ok_or_else(|| format!("no target `{name}`"))
}

/// `7.8 sm_90`, `8.6 sm_100f|sm_120a`, `before 6.4|sm_70`
fn need<'a>(mut words: impl Iterator<Item = &'a str>) -> Read<Need> {
    let mut need = Need::default();
    while let Some(word) = words.next() {
        if word == "before" {
            let (first, from) = words.next().and_then(|end| end.split_once('|')).ok_or("`before VERSION|TARGET`")?;
            need.end = Some((version(first)?, target(from)?));
            continue;
        }
        match word.contains('.') {
            true => need.version = version(word)?,
            false => need.targets.extend(word.split('|').map(target).collect::<Read<Vec<_>>>()?),
        }
    }
    Ok(need)
}
