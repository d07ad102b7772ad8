//! Messages in the form of ptxas.

use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is said with `-v` alone.
    Info,
    /// There is a cubin, but it may not be what was meant.
    Warning,
    /// There is no cubin.
    Error,
    /// There is no cubin, and nothing more is looked at.
    Fatal,
}

impl Kind {
    /// As ptxas prints it, in eight columns.
    const fn text(self) -> &'static str {
        match self {
            Kind::Info => "info    ",
            Kind::Warning => "warning ",
            Kind::Error => "error   ",
            Kind::Fatal => "fatal   ",
        }
    }
}

/// A message. Its `Display` is ptxas's form, without a line end behind the last line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it counts as, after `-Werror`.
    pub kind: Kind,
    /// The module's name and the line, from 1, that it is about.
    pub place: Option<(String, usize)>,
    /// What is said; seldom several lines.
    pub text: String,
    /// Of an error in PTX the same as Oriole says it elsewhere: message, `file:line:column`, the line quoted, advice. Several
    /// lines, each with its end.
    pub quoted: Option<String>,
}

impl Message {
    /// Of the whole.
    pub fn new(kind: Kind, text: impl Into<String>) -> Message {
        Message { kind, place: None, text: text.into(), quoted: None }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, text) = (self.kind.text(), &self.text);
        match &self.place {
            Some((file, line)) => write!(f, "ptxas {file}, line {line}; {kind}: {text}"),
            None => write!(f, "ptxas {kind}: {text}"),
        }
    }
}
