//! Reading one line from left to right, and errors with their place.

use std::str::FromStr;

/// Why a text is not Ori.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
    /// What was expected or is wrong.
    pub message: String,
}

pub(super) type Result<T> = std::result::Result<T, ParseError>;

/// A position in one line.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    line: usize,
    at: usize,
}

/// Characters of names: identifiers, and what PTX allows in them.
fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str, line: usize) -> Self {
        Cursor { text, line, at: 0 }
    }

    pub(super) fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        let rest = &self.text[self.at..];
        let column = self.at + rest.len() - rest.trim_start().len() + 1;
        Err(ParseError { line: self.line, column, message: message.into() })
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    pub(super) fn rest(&mut self) -> &'a str {
        self.skip_space();
        &self.text[self.at..]
    }

    pub(super) fn is_done(&mut self) -> bool {
        self.rest().is_empty()
    }

    /// Step over `token` if it comes next.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    pub(super) fn expect(&mut self, token: &str) -> Result<()> {
        if self.eat(token) { Ok(()) } else { self.error(format!("expected '{token}'")) }
    }

    pub(super) fn expect_end(&mut self) -> Result<()> {
        if self.is_done() { Ok(()) } else { self.error("nothing more expected on this line") }
    }

    fn take(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// A name: letters, digits, `_`, `$`.
    pub(super) fn name(&mut self) -> Result<&'a str> {
        let name = self.take(is_name);
        if name.is_empty() { self.error("expected a name") } else { Ok(name) }
    }

    /// A name that may hold dots, as special registers have them.
    pub(super) fn dotted_name(&mut self) -> Result<&'a str> {
        let name = self.take(|c| is_name(c) || c == '.');
        if name.is_empty() { self.error("expected a name") } else { Ok(name) }
    }

    /// A dotted name that ends before `suffix`, should it end with that.
    pub(super) fn dotted_name_without(&mut self, suffix: &str) -> Result<&'a str> {
        let name = self.dotted_name()?;
        let kept = name.strip_suffix(suffix).unwrap_or(name);
        self.at -= name.len() - kept.len();
        Ok(kept)
    }

    /// Anything up to the next space.
    pub(super) fn word(&mut self) -> Result<&'a str> {
        let word = self.take(|c| !c.is_whitespace());
        if word.is_empty() { self.error("expected a word") } else { Ok(word) }
    }

    /// A number, decimal with sign or `0x` hexadecimal, that fits `T`.
    pub(super) fn number<T: TryFrom<i128>>(&mut self) -> Result<T> {
        let start = self.clone();
        let sign = if self.eat("-") { -1 } else { 1 };
        if sign == 1 {
            self.eat("+");
        }
        let hex = self.eat("0x");
        let digits = self.take(|c| c.is_ascii_hexdigit());
        let value = i128::from_str_radix(digits, if hex { 16 } else { 10 }).ok();
        match value.and_then(|v| T::try_from(sign * v).ok()) {
            Some(value) => Ok(value),
            None => start.error("expected a number in range"),
        }
    }

    /// Hexadecimal digits without prefix.
    pub(super) fn hex(&mut self) -> Result<u128> {
        let digits = self.take(|c| c.is_ascii_hexdigit());
        u128::from_str_radix(digits, 16).or_else(|_| self.error("expected hexadecimal digits"))
    }

    /// `name=value`, the name given.
    pub(super) fn keyed<T: TryFrom<i128>>(&mut self, name: &str) -> Result<T> {
        self.expect(name)?;
        self.expect("=")?;
        self.number()
    }

    /// An entity such as `bix3`: prefix and decimal number.
    pub(super) fn entity<T>(&mut self, prefix: &str, make: impl Fn(u32) -> T) -> Result<T> {
        let start = self.clone();
        let number = self.name()?.strip_prefix(prefix).and_then(|digits| u32::from_str(digits).ok());
        match number {
            Some(number) if number < crate::operand::MAX_INDEX as u32 => Ok(make(number)),
            _ => start.error(format!("expected '{prefix}' and a number")),
        }
    }
}
