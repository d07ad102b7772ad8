//! What is wrong with an input, and where.

use oriole_ptx::ast;
use oriole_ptx::diag::{self, SourceMap};
use std::fmt;
use std::ops::Range;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// There is no cubin.
    Error,
    /// There is a cubin, but it may not be what was meant.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

/// A piece of the input text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Span {
    /// Line of its beginning, from 1.
    pub line: usize,
    /// Column of its beginning in characters, from 1.
    pub column: usize,
    /// Its bytes.
    pub bytes: Range<usize>,
}

/// What else is to be said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Note {
    /// The note, such as advice.
    pub message: String,
    /// The place that it is about, such as a first declaration.
    pub span: Option<Span>,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// The text that is wrong. `None` where it is no place of the input, or the input is no text.
    pub span: Option<Span>,
    /// The rule of PTX that is broken, by a short name such as `operand-type`.
    pub rule: Option<&'static str>,
    /// What else is to be said.
    pub notes: Vec<Note>,
    rendered: Box<str>,
}

impl Diagnostic {
    /// Several lines of plain text for people: message, `file:line:column`, the line quoted with a caret, advice.
    pub fn render(&self) -> &str {
        &self.rendered
    }

    pub(crate) fn new(severity: Severity, message: String) -> Diagnostic {
        let rendered = format!("{severity}: {message}\n").into();
        Diagnostic { severity, message, span: None, rule: None, notes: Vec::new(), rendered }
    }

    /// An error of PTX or LLVM IR; `source` has the text, where its places mean some.
    pub(crate) fn of_ptx(error: &diag::Diagnostic, source: Option<&SourceMap<'_>>) -> Diagnostic {
        let span_of = |span: ast::Span| source.map(|source| Span::new(span, source));
        let mut notes = Vec::new();
        if !error.label.is_empty() {
            notes.push(Note { message: error.label.clone(), span: span_of(error.span) });
        }
        notes.extend(error.related.iter().map(|(span, text)| Note { message: text.clone(), span: span_of(*span) }));
        notes.extend(error.help.iter().map(|help| Note { message: help.clone(), span: None }));
        let plain = Diagnostic::new(Severity::Error, error.message.clone());
        Diagnostic {
            span: span_of(error.span),
            rule: error.rule.map(diag::Rule::as_str),
            notes,
            rendered: source.map_or(plain.rendered, |source| source.render(error).into()),
            ..plain
        }
    }
}

impl Span {
    fn new(span: ast::Span, source: &SourceMap<'_>) -> Span {
        let (line, column) = source.line_column(span.start);
        Span { line, column, bytes: span.start as usize..span.end as usize }
    }
}

impl fmt::Display for Diagnostic {
    /// In one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Span { line, column, .. }) = self.span {
            write!(f, "{line}:{column}: ")?;
        }
        write!(f, "{}: {}", self.severity, self.message)
    }
}
