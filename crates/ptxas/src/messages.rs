//! Messages in the form of ptxas, and which of them are given.

use crate::Host;
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

/// What options say of messages, and whether an error was among those that were said.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// `-w`.
    pub(crate) no_warnings: bool,
    /// `-Werror`.
    pub(crate) warnings_are_errors: bool,
    /// `-v`.
    pub(crate) verbose: bool,
    pub(crate) failed: bool,
}

/// Where messages go through.
pub(crate) struct Messages<'a> {
    host: &'a mut dyn Host,
    pub(crate) tally: Tally,
}

impl<'a> Messages<'a> {
    pub(crate) fn new(host: &'a mut dyn Host, tally: Tally) -> Messages<'a> {
        Messages { host, tally }
    }

    /// The text of an options file.
    pub(crate) fn options_file(&mut self, name: &str) -> Option<String> {
        self.host.options_file(name)
    }

    /// Say it of the whole.
    pub(crate) fn say(&mut self, kind: Kind, text: &str) {
        self.give(Message::new(kind, text));
    }

    /// Say it of a line of a module, from 1.
    pub(crate) fn say_at(&mut self, (file, line): (&str, usize), kind: Kind, text: &str) {
        self.give(Message { place: Some((file.to_owned(), line)), ..Message::new(kind, text) });
    }

    /// Say it if it is to be said.
    pub(crate) fn give(&mut self, message: Message) {
        if let Some(kind) = self.counts(message.kind) {
            self.tally.failed |= matches!(kind, Kind::Error | Kind::Fatal);
            self.host.say(Message { kind, ..message });
        }
    }

    /// What it counts as, if it is said. With both options ptxas is silent.
    fn counts(&self, kind: Kind) -> Option<Kind> {
        match kind {
            Kind::Info if !self.tally.verbose => None,
            Kind::Warning if self.tally.no_warnings => None,
            Kind::Warning if self.tally.warnings_are_errors => Some(Kind::Error),
            kind => Some(kind),
        }
    }
}
