//! `oriole disasm --lines`: where the code comes from.

use super::failure::Failure;
use oriole_cubin::{Cubin, LineKind, LineTable, SectionIndex, SourceLine};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

/// What `--lines` shows the lines of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LinesOf {
    /// The source files.
    Source,
    /// The PTX.
    Ptx,
}

impl LinesOf {
    fn kind(self) -> LineKind {
        match self {
            LinesOf::Source => LineKind::Source,
            LinesOf::Ptx => LineKind::Ptx,
        }
    }

    /// The cubin's table of them. That there is none is an error.
    pub(crate) fn table(self, input: &Path, cubin: &Cubin) -> Result<LineTable, Failure> {
        let table = cubin.line_table(self.kind()).map_err(|error| Failure::file(input, error))?;
        if table.is_empty() {
            return Err(Failure::file(input, "no line table: the cubin was made without --lineinfo or -g"));
        }
        Ok(table)
    }
}

/// What stands above instructions of one function after the other.
pub(crate) struct Annotator<'a> {
    table: &'a LineTable,
    /// The lines of the files, where they are shown.
    texts: Option<Texts<'a>>,
    /// The line of the function's instruction before.
    last: Option<(&'a str, u32)>,
}

impl<'a> Annotator<'a> {
    /// With `source` the text of each line too.
    pub(crate) fn new(cubin: &'a Cubin, table: &'a LineTable, source: bool) -> Annotator<'a> {
        Annotator { table, texts: source.then(|| Texts { cubin, read: HashMap::new() }), last: None }
    }

    /// Another function begins.
    pub(crate) fn begin(&mut self) {
        self.last = None;
    }

    /// The lines above the instruction: as nvdisasm writes them, then the text.
    pub(crate) fn above(&mut self, section: SectionIndex, address: u64) -> String {
        let place = self.table.at(section, address).map(|SourceLine { file, line, .. }| (file, line));
        if place == self.last {
            return String::new();
        }
        self.last = place;
        let Some((file, line)) = place else { return "\t//## no line\n".to_owned() };
        let mut out = format!("\t//## File \"{file}\", line {line}\n");
        if let Some(text) = self.texts.as_mut().and_then(|texts| texts.line(file, line)) {
            let _ = writeln!(out, "\t//   {}", text.trim_end());
        }
        out
    }
}

/// Files as far as lines of them have been asked for.
struct Texts<'a> {
    cubin: &'a Cubin,
    /// By name; none where the file is not there, or is no text.
    read: HashMap<&'a str, Option<String>>,
}

impl<'a> Texts<'a> {
    fn line(&mut self, file: &'a str, line: u32) -> Option<&str> {
        let cubin = self.cubin;
        let read = || cubin.ptx_of(file).or_else(|| std::fs::read_to_string(file).ok());
        let text = self.read.entry(file).or_insert_with(read).as_deref()?;
        text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)
    }
}
