//! Messages in the form of ptxas, all on standard error.

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Info,
    Warning,
    Error,
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

/// Where messages go through.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// `-w`.
    pub(super) no_warnings: bool,
    /// `-Werror`.
    pub(super) warnings_are_errors: bool,
    /// `-v`.
    pub(super) verbose: bool,
    failed: bool,
}

impl Messages {
    /// Say it of the whole.
    pub(super) fn say(&mut self, kind: Kind, text: &str) {
        if let Some(kind) = self.counts(kind) {
            eprintln!("ptxas {}: {text}", kind.text());
        }
    }

    /// Say it of a line of a file, from 1.
    pub(super) fn say_at(&mut self, file: &str, line: usize, kind: Kind, text: &str) {
        if let Some(kind) = self.counts(kind) {
            eprintln!("ptxas {file}, line {line}; {}: {text}", kind.text());
        }
    }

    /// Whether an error was among them.
    pub(super) fn failed(&self) -> bool {
        self.failed
    }

    /// What it counts as, if it is printed.
    fn counts(&mut self, kind: Kind) -> Option<Kind> {
        let kind = match kind {
            Kind::Info if !self.verbose => return None,
            Kind::Warning if self.warnings_are_errors => Kind::Error,
            Kind::Warning if self.no_warnings => return None,
            kind => kind,
        };
        self.failed |= matches!(kind, Kind::Error | Kind::Fatal);
        Some(kind)
    }
}
