//! Compiles syntax templates to expressions of `engine::table::Item`.

use crate::emit::{camel, kind_name, neutral};
use crate::model::{InstrDef, Spec};
use crate::parse::{kind, neutral_value};

/// The items of a template as a Rust expression of type `&[Item]`.
pub(crate) fn compile(spec: &Spec, instr: &InstrDef, text: &str) -> Result<String, String> {
    let mut reader = Reader { spec, instr, chars: text.chars().collect(), at: 0 };
    let items = reader.items(false)?;
    if reader.at != reader.chars.len() {
        return Err("'}' without '{'".to_owned());
    }
    Ok(items)
}

struct Reader<'a> {
    spec: &'a Spec,
    instr: &'a InstrDef,
    chars: Vec<char>,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn word(&mut self) -> String {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect()
    }

    fn operand_index(&self, role: &str) -> Option<usize> {
        self.instr.operands.iter().position(|o| o.role == role)
    }

    fn field(&self, name: &str) -> Result<String, String> {
        match self.instr.fields.iter().any(|(f, _)| f == name) {
            true => Ok(format!("FieldId::{}", camel(name))),
            false => Err(format!("the template names a field '{name}' that the instruction lacks")),
        }
    }

    fn items(&mut self, nested: bool) -> Result<String, String> {
        let mut out: Vec<String> = Vec::new();
        let mut literal = String::new();
        while let Some(c) = self.peek() {
            if c == '}' && nested {
                break;
            }
            if let Some(item) = self.item(c, &mut literal)? {
                flush(&mut out, &mut literal);
                out.push(item);
            }
        }
        flush(&mut out, &mut literal);
        Ok(format!("&[{}]", out.join(", ")))
    }

    /// The next item, or nothing when it went to the literal text.
    fn item(&mut self, c: char, literal: &mut String) -> Result<Option<String>, String> {
        if c == '{' {
            return self.group().map(Some);
        }
        if c == '.' && self.chars.get(self.at + 1).is_some_and(char::is_ascii_lowercase) {
            self.at += 1;
            let name = self.word();
            return Ok(Some(format!("Item::Field({})", self.field(&name)?)));
        }
        if !c.is_ascii_alphabetic() {
            literal.push(c);
            self.at += 1;
            return Ok(None);
        }
        let word = self.word();
        let sign = match word.as_str() {
            "addr" => Some("UnlessAlone"),
            "addr_signed" => Some("Always"),
            "addr_unsigned" => Some("WithRegister"),
            _ => None,
        };
        if let (Some(sign), Some('(')) = (sign, self.peek()) {
            return self.address(sign).map(Some);
        }
        if word == "word" && self.peek() == Some('(') {
            return self.bare_field().map(Some);
        }
        if word == "hidden" && self.peek() == Some('(') {
            let index = self.argument_list(1)?[0];
            return Ok(Some(format!("Item::Hidden({index})")));
        }
        let format = match word.as_str() {
            "signed" => Some("ImmFormat::Signed(32)"),
            "unsigned" => Some("ImmFormat::Unsigned(32)"),
            "low20" => Some("ImmFormat::Unsigned(20)"),
            _ => None,
        };
        if let (Some(format), Some('(')) = (format, self.peek()) {
            let index = self.argument_list(1)?[0];
            return Ok(Some(format!("Item::Number({index}, {format})")));
        }
        let distance = match word.as_str() {
            "next" => Some(1),
            "next_pair" => Some(2),
            _ => None,
        };
        if let (Some(distance), Some('(')) = (distance, self.peek()) {
            let index = self.argument_list(1)?[0];
            return Ok(Some(format!("Item::Next({index}, {distance})")));
        }
        if word == "set" && self.peek() == Some('(') {
            let index = self.argument_list(1)?[0];
            return Ok(Some(format!("Item::Set({index})")));
        }
        let offset_sign = match word.as_str() {
            "cbank" => Some(true),
            "cbank_unsigned" => Some(false),
            _ => None,
        };
        if let (Some(signed), Some('(')) = (offset_sign, self.peek()) {
            let list = self.argument_list(2)?;
            let (bank, base) = (list[0], list[1]);
            return Ok(Some(format!("Item::Indexed {{ bank: {bank}, base: {base}, signed: {signed} }}")));
        }
        match self.operand_index(&word) {
            Some(index) if !literal.ends_with('.') => self.operand(index).map(Some),
            _ => {
                literal.push_str(&word);
                Ok(None)
            }
        }
    }

    /// After an operand's name: `.field` inside the bars, `..field` outside (half-precision style).
    fn operand(&mut self, index: usize) -> Result<String, String> {
        let dots = self.chars[self.at..].iter().take_while(|c| **c == '.').count();
        let lower = self.chars.get(self.at + dots).is_some_and(char::is_ascii_lowercase);
        let (suffix, half) = if dots > 0 && lower {
            self.at += dots;
            let name = self.word();
            (format!("Some({})", self.field(&name)?), dots == 2)
        } else {
            ("None".to_owned(), false)
        };
        Ok(format!("Item::Operand {{ index: {index}, suffix: {suffix}, half: {half} }}"))
    }

    /// `addr(Base.field, UBase, Offset)`; `signed`: an offset alone has a sign.
    fn address(&mut self, sign: &str) -> Result<String, String> {
        let end = self.chars[self.at..].iter().position(|c| *c == ')').ok_or("addr( without )")? + self.at;
        let inner: String = self.chars[self.at + 1..end].iter().collect();
        self.at = end + 1;
        let mut parts = Vec::new();
        for part in inner.split(',') {
            let (role, field) = match part.trim().split_once('.') {
                Some((role, field)) => (role, format!("Some({})", self.field(field)?)),
                None => (part.trim(), "None".to_owned()),
            };
            let index = self.operand_index(role).ok_or_else(|| format!("no operand '{role}'"))?;
            parts.push(format!("({index}, {field})"));
        }
        Ok(format!("Item::Address {{ parts: &[{}], sign: OffsetSign::{sign} }}", parts.join(", ")))
    }

    /// `(field)`, printed without a dot.
    fn bare_field(&mut self) -> Result<String, String> {
        self.at += 1;
        let name = self.word();
        if self.peek() != Some(')') {
            return Err("'word(' without ')'".to_owned());
        }
        self.at += 1;
        Ok(format!("Item::Word({})", self.field(&name)?))
    }

    /// The operands of `name(A, B)`.
    fn argument_list(&mut self, count: usize) -> Result<Vec<usize>, String> {
        let end = self.chars[self.at..].iter().position(|c| *c == ')').ok_or("'(' without ')'")? + self.at;
        let inner: String = self.chars[self.at + 1..end].iter().collect();
        self.at = end + 1;
        let list: Vec<usize> = inner
            .split(',')
            .map(|role| self.operand_index(role.trim()).ok_or_else(|| format!("no operand '{role}'")))
            .collect::<Result<_, _>>()?;
        if list.len() == count { Ok(list) } else { Err(format!("expected {count} operands in '({inner})'")) }
    }

    /// `{cond: items}`; one space after the colon is not part of the items.
    fn group(&mut self) -> Result<String, String> {
        self.at += 1;
        let end = self.chars[self.at..].iter().position(|c| *c == ':').ok_or("'{' without ':'")? + self.at;
        let condition: String = self.chars[self.at..end].iter().collect();
        self.at = end + 1 + usize::from(self.chars.get(end + 1) == Some(&' '));
        let mut any = Vec::new();
        for all in condition.split('|') {
            let terms: Vec<String> = all.split('&').map(|t| self.term(t.trim())).collect::<Result<_, _>>()?;
            any.push(format!("&[{}]", terms.join(", ")));
        }
        let items = self.items(true)?;
        if self.peek() != Some('}') {
            return Err("'{' without '}'".to_owned());
        }
        self.at += 1;
        Ok(format!("Item::Group {{ when: &[{}], items: {items} }}", any.join(", ")))
    }

    fn term(&self, text: &str) -> Result<String, String> {
        let (not, text) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let end = text.find(['=', '!', '~']).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        if let Some(index) = self.operand_index(name) {
            return operand_term(index, rest, not);
        }
        let field = self.field(name)?;
        let (value, equal) = match (rest.strip_prefix('='), rest.strip_prefix("!=")) {
            (Some(value), _) => (self.code(name, value)?, true),
            (_, Some(value)) => (self.code(name, value)?, false),
            _ if rest.is_empty() => (0, false),
            _ => return Err(format!("bad condition '{text}'")),
        };
        Ok(format!("Term::Field {{ field: {field}, value: {value}, equal: {} }}", equal != not))
    }

    fn code(&self, field: &str, value: &str) -> Result<u8, String> {
        self.spec.enum_of(field)?.code(value).ok_or_else(|| format!("field '{field}' has no value '{value}'"))
    }
}

/// `` (not neutral), `=VALUE`, `!VALUE` or `!=VALUE`, `~KINDS`.
fn operand_term(index: usize, rest: &str, not: bool) -> Result<String, String> {
    if rest.is_empty() {
        return Ok(format!("Term::Present {{ index: {index}, present: {} }}", !not));
    }
    if rest == "~POW2" {
        return Ok(format!("Term::PowerOfTwo {{ index: {index}, is: {} }}", !not));
    }
    if let Some(kinds) = rest.strip_prefix('~') {
        let mut set = "Kinds::EMPTY".to_owned();
        for name in kinds.split(',') {
            let constant = if name == "I" { "IMM" } else { kind_name(&kind(name)?) };
            set = format!("{set}.with(Kinds::{constant})");
        }
        return Ok(format!("Term::Kind {{ index: {index}, kinds: {set}, within: {} }}", !not));
    }
    let (value, equal) = match rest.strip_prefix('=') {
        Some(value) => (value, true),
        None => (rest.trim_start_matches(['!', '=']), false),
    };
    let value = neutral(&neutral_value(value)?);
    Ok(format!("Term::Value {{ index: {index}, value: {value}, equal: {} }}", equal != not))
}

fn flush(out: &mut Vec<String>, literal: &mut String) {
    if !literal.is_empty() {
        out.push(format!("Item::Text({literal:?})"));
        literal.clear();
    }
}
