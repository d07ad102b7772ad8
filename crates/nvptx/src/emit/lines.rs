//! Source lines: `.file` and `.loc` from `!dbg`.
//!
//! Code that was inlined has one `.loc` for each call that led to it, outermost first, each naming the
//! function that was inlined and the place of the call (PTX 7.2). The names stand in `.debug_str`, as the
//! PTX manual wants it.

use oriole_ptx::ast::{
    FileDirective, InlinedAt, Item, Loc, ScalarType, Section, SectionEntry, SectionValue, Statement, Sym,
};
use rustc_hash::FxHashMap;

use super::Emitter;
use super::body::Body;
use crate::ir::{self, Meta, MetaField, MetaId};

/// The least version that has `inlined_at`.
const INLINED_AT: (u32, u32) = (7, 2);
/// More calls around one place than this are left out; more than there are nodes go in a circle.
const DEEPEST: usize = 64;

/// The files and names that line information refers to.
#[derive(Debug)]
pub(super) struct Lines {
    /// Whether inlined code says so.
    inlined: bool,
    /// By path: the number of the file, counted from 1.
    files: Vec<String>,
    /// By `DIFile`: the number of the file.
    numbers: FxHashMap<MetaId, u32>,
    /// By name: the labels of the names of inlined functions, in order.
    names: Vec<(String, Sym)>,
}

/// Line and column in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    file: u32,
    line: u32,
    column: u32,
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
        items.push(Item::Section(Section { name: ".debug_str".to_owned(), entries }));
    }

    /// The number of the file that a scope is in.
    fn file_of(&mut self, ir: &ir::Module, mut scope: MetaId) -> Option<u32> {
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
    fn place(&mut self, ir: &ir::Module, location: &Meta) -> Option<Place> {
        let number = |key: &str| location.int(key).and_then(|value| u32::try_from(value).ok()).unwrap_or(0);
        let line = number("line");
        let file = self.file_of(ir, location.node("scope")?)?;
        (line > 0).then(|| Place { file, line, column: number("column") })
    }
}

/// The name of the function that a scope is in.
fn function_of(ir: &ir::Module, mut scope: MetaId) -> Option<&str> {
    (0..DEEPEST).find_map(|_| {
        let node = &ir.metadata[scope];
        let is_function = matches!(node, Meta::Special(kind, _) if &**kind == "DISubprogram");
        scope = node.node("scope").unwrap_or(scope);
        is_function.then(|| node.text("linkageName").filter(|name| !name.is_empty()).or_else(|| node.text("name")))?
    })
}

impl Emitter<'_> {
    /// The label of a function's name.
    fn line_name(&mut self, name: &str) -> Option<Sym> {
        let lines = self.lines.as_mut()?;
        if let Some((_, label)) = lines.names.iter().find(|(known, _)| known == name) {
            return Some(*label);
        }
        let label = self.symbols.intern(&format!("$L__info_string{}", lines.names.len()));
        lines.names.push((name.to_owned(), label));
        Some(label)
    }

    /// The `.loc`s of a place, that of the outermost call first.
    fn locations(&mut self, location: MetaId) -> Vec<Loc> {
        let ir = self.ir;
        let Some(lines) = self.lines.as_mut() else { return Vec::new() };
        let mut chain = Vec::new();
        let mut next = Some(location);
        while let Some(at) = next.filter(|_| chain.len() < DEEPEST) {
            let node = &ir.metadata[at];
            let Some(place) = lines.place(ir, node) else { break };
            chain.push((place, node.node("scope")));
            next = node.node("inlinedAt").filter(|_| lines.inlined);
        }
        let mut found: Vec<Loc> = Vec::with_capacity(chain.len());
        let mut outer: Option<Place> = None;
        for (place, scope) in chain.into_iter().rev() {
            let name = scope.and_then(|scope| function_of(ir, scope));
            let inlined = outer.zip(name).and_then(|(call, name)| {
                let label = self.line_name(name)?;
                let Place { file, line, column } = call;
                Some(InlinedAt { function: self.name(label), offset: 0, file, line, column })
            });
            let Place { file, line, column } = place;
            found.push(Loc { file, line, column, inlined, span: self.place() });
            outer = Some(place);
        }
        found
    }
}

impl Body<'_, '_> {
    /// Says where the code from here on comes from, unless that is known.
    pub(super) fn line(&mut self, location: Option<MetaId>) {
        if location.is_none() || location == self.location {
            return;
        }
        self.location = location;
        let found = location.map_or_else(Vec::new, |location| self.emitter.locations(location));
        self.out.extend(found.into_iter().map(Statement::Loc));
    }

    /// The line where the function starts.
    pub(super) fn first_line(&mut self) {
        let ir = self.emitter.ir;
        let subprogram = ir.symbols[self.id].function().and_then(|function| function.debug.expand());
        let Some((subprogram, lines)) = subprogram.zip(self.emitter.lines.as_mut()) else { return };
        let node = &ir.metadata[subprogram];
        let line = node.int("line").and_then(|line| u32::try_from(line).ok()).filter(|&line| line > 0);
        if let Some((line, file)) = line.zip(lines.file_of(ir, subprogram)) {
            let span = self.emitter.place();
            self.out.push(Statement::Loc(Loc { file, line, column: 0, inlined: None, span }));
        }
    }
}
