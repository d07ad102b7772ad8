//! Which messages are given, and whether an error was among them.

use crate::host::{Failure, Host};
use crate::messages::{Kind, Message};

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

    /// The bytes of the file of `--nv-host`.
    pub(crate) fn host_file(&mut self, name: &str) -> Option<Vec<u8>> {
        self.host.host_file(name)
    }

    /// Say it of the whole.
    pub(crate) fn say(&mut self, kind: Kind, text: &str) {
        self.give(Message::new(kind, text));
    }

    /// Say why it ends here.
    pub(crate) fn fatal(&mut self, text: &str, failure: Failure) -> Failure {
        self.say(Kind::Fatal, text);
        failure
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
