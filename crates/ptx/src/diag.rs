//! Diagnostics: errors as values with a place, and their rendering.

use std::ops::Range;

use codespan_reporting::diagnostic::{Diagnostic as Report, Label};
use codespan_reporting::files::{Error as FilesError, Files};
use codespan_reporting::term::termcolor::{Ansi, NoColor, WriteColor};
use codespan_reporting::term::{self, Config};

use crate::ast::Span;

/// The rule of PTX that an error breaks, where the grammar names one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// No instruction has this name.
    Instruction,
    /// The instruction does not take the modifier.
    Modifier,
    /// The instruction takes the modifiers, but not together.
    Combination,
    /// A modifier stands twice, or two of which one may stand.
    Repeated,
    /// A modifier is missing.
    Missing,
    /// Modifiers stand in the wrong order.
    Order,
    /// The instruction has no such type.
    Type,
    /// There are too many or too few operands.
    Count,
    /// An operand is of the wrong kind: a constant, an address, a vector…
    Kind,
    /// A register has the wrong type.
    Register,
    /// A constant is out of range.
    Range,
    /// A variable is in the wrong state space.
    Space,
    /// The `.version` is too old.
    Version,
    /// The target is too old or lacks the feature.
    Target,
    /// A name, directive or declaration breaks a rule of modules.
    Declaration,
    /// A call does not match the function.
    Call,
    /// What only a linker can know is needed without one.
    Linkage,
    /// More static shared memory than the target takes if it is not asked to.
    SharedMemory,
}

impl Rule {
    /// The name that messages show.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Rule::Instruction => "instruction",
            Rule::Modifier => "modifier",
            Rule::Combination => "combination",
            Rule::Repeated => "repeated",
            Rule::Missing => "missing",
            Rule::Order => "order",
            Rule::Type => "type",
            Rule::Count => "operand-count",
            Rule::Kind => "operand-kind",
            Rule::Register => "operand-type",
            Rule::Range => "range",
            Rule::Space => "state-space",
            Rule::Version => "version",
            Rule::Target => "target",
            Rule::Declaration => "declaration",
            Rule::Call => "call",
            Rule::Linkage => "linkage",
            Rule::SharedMemory => "declaration",
        }
    }
}

/// One error in a PTX file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// What is wrong, in one line.
    pub message: String,
    /// The text that is wrong.
    pub span: Span,
    /// What is said beside the caret; may be empty.
    pub label: String,
    /// Another place that matters, such as a first declaration.
    pub related: Option<(Span, String)>,
    /// What to do about it.
    pub help: Option<String>,
    /// The rule that is broken.
    pub rule: Option<Rule>,
}

impl Diagnostic {
    /// An error at `span`.
    #[must_use]
    pub fn new(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { message: message.into(), span, label: String::new(), related: None, help: None, rule: None }
    }

    /// The same with its places moved back by `by`: from those of a whole to those of a part.
    #[must_use]
    pub fn moved_back(mut self, by: u32) -> Diagnostic {
        let moved = |span: Span| Span::new(span.start.saturating_sub(by), span.end.saturating_sub(by));
        self.span = moved(self.span);
        self.related = self.related.map(|(span, text)| (moved(span), text));
        self
    }

    /// Adds the text beside the caret.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Diagnostic {
        self.label = text.into();
        self
    }

    /// Adds another place with its text.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.related = Some((span, text.into()));
        self
    }

    /// Names the rule that is broken.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Diagnostic {
        self.rule = Some(rule);
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = Some(text.into());
        self
    }
}

/// Source lines longer than this are quoted in part, around the error.
const LONGEST_QUOTE: usize = 160;

/// Source text with a line index, for turning spans into places.
#[derive(Debug)]
pub struct SourceMap<'a> {
    name: &'a str,
    text: &'a str,
    line_starts: Vec<usize>,
}

impl<'a> SourceMap<'a> {
    /// Indexes the lines of `text`; `name` is what messages call the file.
    #[must_use]
    pub fn new(name: &'a str, text: &'a str) -> SourceMap<'a> {
        let breaks = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        SourceMap { name, text, line_starts: std::iter::once(0).chain(breaks).collect() }
    }

    /// Line and column of a byte offset, both counted from 1; the column
    /// counts characters.
    #[must_use]
    pub fn line_column(&self, offset: u32) -> (usize, usize) {
        let offset = self.clamp(offset as usize);
        let line = self.line_of(offset);
        (line + 1, self.text[self.line_starts[line]..offset].chars().count() + 1)
    }

    /// Renders one diagnostic as plain text: message, `file:line:column`, the
    /// line quoted with a caret, and the advice.
    #[must_use]
    pub fn render(&self, diagnostic: &Diagnostic) -> String {
        let mut out = NoColor::new(Vec::new());
        self.write(diagnostic, &mut out);
        String::from_utf8_lossy(&out.into_inner()).into_owned()
    }

    /// The same with ANSI colours, for a terminal.
    #[must_use]
    pub fn render_coloured(&self, diagnostic: &Diagnostic) -> String {
        let mut out = Ansi::new(Vec::new());
        self.write(diagnostic, &mut out);
        String::from_utf8_lossy(&out.into_inner()).into_owned()
    }

    fn write(&self, diagnostic: &Diagnostic, out: &mut impl WriteColor) {
        let mut places = vec![(diagnostic.span, diagnostic.label.as_str(), true)];
        if let Some((span, text)) = &diagnostic.related {
            places.push((*span, text, false));
        }
        let quotes: Vec<Quote> = places.iter().map(|(span, ..)| self.quote(*span)).collect();
        let view = View { map: self, quotes };
        let labels = places.iter().enumerate().map(|(at, (span, text, primary))| {
            let range = view.quotes[at].inner(self.one_line(*span));
            let label = if *primary { Label::primary(at, range) } else { Label::secondary(at, range) };
            label.with_message(*text)
        });
        let report = Report::error()
            .with_message(&diagnostic.message)
            .with_labels(labels.collect())
            .with_code(diagnostic.rule.map_or("", Rule::as_str))
            .with_notes(diagnostic.help.iter().map(|help| format!("help: {help}")).collect());
        let config = Config { start_context_lines: 0, end_context_lines: 0, ..Config::default() };
        // Neither the view nor writing to memory fails.
        let _ = term::emit_to_write_style(out, &config, &view, &report);
    }

    /// Renders all diagnostics, one after the other.
    #[must_use]
    pub fn render_all(&self, diagnostics: &[Diagnostic]) -> String {
        diagnostics.iter().map(|d| self.render(d)).collect::<Vec<_>>().join("\n")
    }

    /// The largest character boundary at or before `offset`.
    fn clamp(&self, offset: usize) -> usize {
        let mut at = offset.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    /// Index, from 0, of the line that holds `offset`.
    fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= offset) - 1
    }

    /// The line's text range without its line break.
    fn line_range(&self, line: usize) -> Range<usize> {
        let start = self.line_starts[line];
        let end = self.line_starts.get(line + 1).map_or(self.text.len(), |next| next - 1);
        let end = if self.text[..end].ends_with('\r') { end - 1 } else { end };
        start..end.max(start)
    }

    /// The span as a range that stays within its first line.
    fn one_line(&self, span: Span) -> Range<usize> {
        let start = self.clamp(span.start as usize);
        let line = self.line_range(self.line_of(start));
        start..self.clamp(span.end as usize).clamp(start, line.end.max(start))
    }

    /// Chooses which part of the span's line is shown.
    fn quote(&self, span: Span) -> Quote {
        let range = self.one_line(span);
        let line = self.line_of(range.start);
        let whole = self.line_range(line);
        if whole.len() <= LONGEST_QUOTE {
            return Quote { line, start: whole.start, text: printable(&self.text[whole]) };
        }
        let start = self.clamp(range.start.saturating_sub(LONGEST_QUOTE / 2).max(whole.start));
        let end = self.clamp((start + LONGEST_QUOTE).min(whole.end));
        Quote { line, start, text: printable(&self.text[start..end]) }
    }
}

/// The text with control characters replaced, byte for byte, so that a broken
/// file cannot send commands to a terminal.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() && c != '\t' {
            true => (0..c.len_utf8()).for_each(|_| out.push('?')),
            false => out.push(c),
        }
    }
    out
}

/// The part of one source line that a report shows.
struct Quote {
    line: usize,
    start: usize,
    text: String,
}

impl Quote {
    /// A range of the source text as a range of the quote.
    fn inner(&self, range: Range<usize>) -> Range<usize> {
        let place = |at: usize| at.saturating_sub(self.start).min(self.text.len());
        place(range.start)..place(range.end)
    }
}

/// Shows each quote to the renderer as a file of one line that keeps its true
/// line and column numbers.
struct View<'a> {
    map: &'a SourceMap<'a>,
    quotes: Vec<Quote>,
}

impl<'a> Files<'a> for View<'a> {
    type FileId = usize;
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, _: usize) -> Result<&'a str, FilesError> {
        Ok(self.map.name)
    }

    fn source(&'a self, id: usize) -> Result<&'a str, FilesError> {
        Ok(&self.quotes[id].text)
    }

    fn line_index(&'a self, _: usize, _: usize) -> Result<usize, FilesError> {
        Ok(0)
    }

    fn line_number(&'a self, id: usize, _: usize) -> Result<usize, FilesError> {
        Ok(self.quotes[id].line + 1)
    }

    fn column_number(&'a self, id: usize, _: usize, at: usize) -> Result<usize, FilesError> {
        Ok(self.map.line_column((self.quotes[id].start + at) as u32).1)
    }

    fn line_range(&'a self, id: usize, _: usize) -> Result<Range<usize>, FilesError> {
        Ok(0..self.quotes[id].text.len())
    }
}
