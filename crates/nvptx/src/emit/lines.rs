//! Source lines: `.file` and `.loc` from `!dbg`.
//!
//! Code that was inlined has one `.loc` for each call that led to it, outermost first, each naming the
//! function that was inlined and the place of the call (PTX 7.2). The names stand in `.debug_str`, as the
//! PTX manual wants it.

use oriole_ptx::ast::{FileDirective, Item, ScalarType, Section, SectionEntry, SectionValue, Span, Sym};
use rustc_hash::FxHashMap;

use crate::ir::{self, Meta, MetaField, MetaId};

/// The least version that has `inlined_at`.
const INLINED_AT: (u32, u32) = (7, 2);
/// More calls around one place than this are left out; more than there are nodes go in a circle.
pub(super) const DEEPEST: usize = 64;

/// The files and names that line information refers to.
#[derive(Debug)]
pub(super) struct Lines {
    /// Whether inlined code says so.
    pub(super) inlined: bool,
    /// By path: the number of the file, counted from 1.
    pub(super) files: Vec<String>,
    /// By `DIFile`: the number of the file.
    pub(super) numbers: FxHashMap<MetaId, u32>,
    /// By name: the labels of the names of inlined functions, in order.
    pub(super) names: Vec<(String, Sym)>,
}

/// Line and column in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) file: u32,
    pub(super) line: u32,
    pub(super) column: u32,
}

impl Lines {
    /// `None` when neither the options nor the module's compile units ask for lines.
    pub(super) fn new(ir: &ir::Module, asked: bool, version: Option<(u32, u32)>) -> Option<Lines> {
        let has_lines = |unit: MetaId| match ir.metadata[unit].field("emissionKind") {
            Some(MetaField::Word(kind)) => &**kind != "NoDebug",
            Some(MetaField::Int(kind)) => *kind != 0,
            _ => false,
        };
        let wanted = asked || ir.metadata.named("llvm.dbg.cu").any(has_lines);
        let inlined = version.is_none_or(|version| version >= INLINED_AT);
        wanted.then(|| Lines { inlined, files: Vec::new(), numbers: FxHashMap::default(), names: Vec::new() })
    }

    /// The version that the module needs for its lines.
    pub(super) fn least_version(&self) -> (u32, u32) {
        if self.names.is_empty() { (0, 0) } else { INLINED_AT }
    }

    /// Adds the files before and the names behind everything else.
    pub(super) fn finish(self, items: &mut Vec<Item>, mut name: impl FnMut(Sym) -> oriole_ptx::ast::Name) {
        let files = self.files.into_iter().zip(1..);
        let files = files.map(|(name, index)| Item::File(FileDirective { index, name, stamp: None }));
        items.splice(0..0, files);
        if self.names.is_empty() {
            return;
        }
        let mut entries = Vec::with_capacity(2 * self.names.len());
        for (text, label) in self.names {
            entries.push(SectionEntry::Label(name(label)));
            let bytes = text.bytes().chain([0]).map(|byte| SectionValue::Int(byte.into()));
            entries.push(SectionEntry::Data(ScalarType::B8, bytes.collect()));
        }
        items.push(Item::Section(Section { name: ".debug_str".to_owned(), entries, span: Span::default() }));
    }

    /// The number of the file that a scope is in.
    pub(super) fn file_of(&mut self, ir: &ir::Module, mut scope: MetaId) -> Option<u32> {
        let file = (0..DEEPEST).find_map(|_| {
            let node = &ir.metadata[scope];
            let file = node.node("file");
            scope = node.node("scope").unwrap_or(scope);
            file
        })?;
        if let Some(&number) = self.numbers.get(&file) {
            return Some(number);
        }
        let node = &ir.metadata[file];
        let (name, folder) = (node.text("filename")?, node.text("directory").unwrap_or_default());
        let path = match name.starts_with('/') || folder.is_empty() {
            true => name.to_owned(),
            false => format!("{folder}/{name}"),
        };
        // What cannot stand between quotes is no part of PTX.
        let path = path.replace(['"', '\n', '\r'], "_");
        let at = self.files.iter().position(|known| *known == path).unwrap_or_else(|| {
            self.files.push(path);
            self.files.len() - 1
        });
        let number = at as u32 + 1;
        self.numbers.insert(file, number);
        Some(number)
    }

    /// Where a `DILocation` is; `None` for line 0, which stands for no place.
    pub(super) fn place(&mut self, ir: &ir::Module, location: &Meta) -> Option<Place> {
        let number = |key: &str| location.int(key).and_then(|value| u32::try_from(value).ok()).unwrap_or(0);
        let line = number("line");
        let file = self.file_of(ir, location.node("scope")?)?;
        (line > 0).then(|| Place { file, line, column: number("column") })
    }
}
