//! What a table says of a result.

use crate::field::Type;

/// What a result may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// One of these.
    OneOf(Vec<Choice>),
    /// The manual leaves it open; a note with this letter says why.
    Open(char),
    /// The manual says the first; a note of the form says why all engines and ptxas's code give the second.
    Differs(Box<Value>, Box<Value>),
}

/// One of the results that are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// These bits.
    Bits(u128),
    /// A float between these two, with them.
    Range(u128, u128),
    /// Any NaN.
    Nan,
}

impl Value {
    /// Reads `HEX`, `HEX..HEX`, `nan`, several with `|`, `?LETTER`, or `HEX~` and what is made instead.
    pub(crate) fn parse(word: &str) -> Option<Value> {
        if let Some(letter) = word.strip_prefix('?') {
            return letter.parse().ok().map(Value::Open);
        }
        if let Some((manual, made)) = word.split_once('~') {
            return Some(Value::Differs(Box::new(Value::parse(manual)?), Box::new(Value::parse(made)?)));
        }
        word.split('|').map(Choice::parse).collect::<Option<_>>().map(Value::OneOf)
    }

    /// Whether an engine may give these bits.
    #[must_use]
    pub fn allows(&self, kind: Type, bits: u128) -> bool {
        match self {
            Value::OneOf(choices) => choices.iter().any(|choice| choice.allows(kind, bits)),
            Value::Open(_) => true,
            Value::Differs(_, made) => made.allows(kind, bits),
        }
    }

    /// Letters of the notes that explain it.
    pub(crate) fn notes(&self) -> Option<char> {
        match self {
            Value::Open(letter) => Some(*letter),
            _ => None,
        }
    }
}

impl Choice {
    fn parse(word: &str) -> Option<Choice> {
        match word.split_once("..") {
            _ if word == "nan" => Some(Choice::Nan),
            Some((low, high)) => Some(Choice::Range(hex(low)?, hex(high)?)),
            None => hex(word).map(Choice::Bits),
        }
    }

    fn allows(self, kind: Type, bits: u128) -> bool {
        match self {
            Choice::Bits(right) => bits == right,
            Choice::Range(low, high) => {
                !kind.is_nan(bits) && (kind.order(low)..=kind.order(high)).contains(&kind.order(bits))
            }
            Choice::Nan => kind.is_nan(bits),
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::OneOf(choices) => {
                let shown = choices.iter().map(|choice| match choice {
                    Choice::Bits(bits) => format!("{bits:#x}"),
                    Choice::Range(low, high) => format!("{low:#x} to {high:#x}"),
                    Choice::Nan => "a NaN".to_owned(),
                });
                f.write_str(&shown.collect::<Vec<_>>().join(" or "))
            }
            Value::Open(_) => f.write_str("anything"),
            Value::Differs(manual, made) => write!(f, "{made} (the manual says {manual})"),
        }
    }
}

/// A number in hexadecimal digits.
pub(crate) fn hex(digits: &str) -> Option<u128> {
    u128::from_str_radix(digits, 16).ok()
}
