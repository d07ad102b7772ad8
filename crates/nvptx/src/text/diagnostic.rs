//! Errors of the reader.

use std::fmt;

use oriole_ptx::ast::Span;
use oriole_ptx::diag::{Diagnostic as Report, SourceMap};

/// An error in LLVM assembly, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The name of the file, as the reader was told.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column, in characters, counted from 1.
    pub column: usize,
    /// What is wrong, the bytes that are, and what to do about it.
    pub report: Report,
}

impl Diagnostic {
    pub(super) fn new(file: &str, text: &str, report: Report) -> Diagnostic {
        let (line, column) = SourceMap::new(file, text).line_column(report.span.start);
        Diagnostic { file: file.to_owned(), line, column, report }
    }

    /// What is wrong, in one line.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.report.message
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.report.help.as_deref()
    }

    /// The bytes of the text that are wrong.
    #[must_use]
    pub fn span(&self) -> Span {
        self.report.span
    }

    /// The error with the line of `text`, the file's content, and a caret.
    #[must_use]
    pub fn render(&self, text: &str) -> String {
        SourceMap::new(&self.file, text).render(&self.report)
    }

    /// The same with ANSI colours, for a terminal.
    #[must_use]
    pub fn render_coloured(&self, text: &str) -> String {
        SourceMap::new(&self.file, text).render_coloured(&self.report)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: error: {}", self.file, self.line, self.column, self.report.message)?;
        match &self.report.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Diagnostic {}
