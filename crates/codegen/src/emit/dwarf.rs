//! DWARF that the PTX itself carries (`.section .debug_info { … }` and so on): bytes, in which labels of the code,
//! functions and variables become addresses.
//!
//! A label's address is that of the first instruction that the next line with code became; labels keep their order.
//! Variables that the PTX places in its own registers stay there: no table tells which hardware registers these became.

use super::LineTable;
use oriole_cubin::reloc::{self, RelocKind};
use oriole_cubin::{DebugSection, FileKind, ModuleSpec, RelocSpec};
use oriole_ptx::ast::{self, Block, Item, Section, SectionEntry, SectionValue, Statement, Sym};
use oriole_ptx::diag::SourceMap;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Sections that are made from the code.
const MADE: [&str; 2] = [".debug_line", ".debug_frame"];

/// Names of inlined functions, which line tables need: ptxas passes them on with the lines, all else only in modules for
/// debuggers (`.target …, debug`).
const STRINGS: &str = ".debug_str";

/// The sections of the module, those of one name as one, in the order of the PTX; `for_debugger`: all of them are wanted.
pub(crate) fn carried(
    ast: &ast::Module,
    ptx: &str,
    spec: &ModuleSpec,
    tables: &BTreeMap<String, LineTable>,
    for_debugger: bool,
) -> Vec<DebugSection> {
    let for_debugger = for_debugger || ast.target.iter().any(|word| word == "debug");
    let sections = ast.items.iter().filter_map(|item| match item {
        Item::Section(section) => Some(section),
        _ => None,
    });
    let is_wanted =
        |name: &str| name == STRINGS || for_debugger && name.starts_with(".debug_") && !MADE.contains(&name);
    let sections: Vec<&Section> = sections.filter(|section| is_wanted(&section.name)).collect();
    if sections.is_empty() {
        return Vec::new();
    }
    let labels = Labels { ast, spec, code: code_labels(ast, ptx, spec, tables), data: data_labels(&sections) };
    let mut out: Vec<DebugSection> = Vec::new();
    for section in sections {
        let at = out.iter().position(|known| known.name == section.name).unwrap_or_else(|| {
            out.push(DebugSection { name: section.name.clone(), ..DebugSection::default() });
            out.len() - 1
        });
        labels.fill(&mut out[at], section);
    }
    out
}

/// Where labels are.
struct Labels<'a> {
    ast: &'a ast::Module,
    spec: &'a ModuleSpec,
    /// In code: the symbol of the section, and the offset in it.
    code: HashMap<Sym, (String, i64)>,
    /// In debug sections: the section's name, and the offset in it.
    data: HashMap<Sym, (String, i64)>,
}

impl Labels<'_> {
    /// Appends the contents of a section.
    fn fill(&self, out: &mut DebugSection, section: &Section) {
        for entry in &section.entries {
            let SectionEntry::Data(width, values) = entry else { continue };
            let bytes = width.bits() as usize / 8;
            for value in values {
                let bits = self.bits(value, bytes, out);
                out.bytes.extend_from_slice(&bits.to_le_bytes()[..bytes]);
            }
        }
    }

    /// The bits of a value of so many bytes; 0 for an address, which becomes a relocation.
    fn bits(&self, value: &SectionValue, bytes: usize, out: &mut DebugSection) -> i64 {
        match value {
            // The low bits, which is all that the width keeps.
            SectionValue::Int(bits) => *bits as i64,
            SectionValue::Difference(a, b) => match (self.place(a.sym), self.place(b.sym)) {
                (Some((of_a, a)), Some((of_b, b))) if of_a == of_b => a.wrapping_sub(*b),
                _ => 0,
            },
            SectionValue::Section(name, offset) => self.in_section(name, *offset, bytes, out),
            SectionValue::Label(name, offset) => {
                if let Some((section, at)) = self.data.get(&name.sym) {
                    return self.in_section(section, at.wrapping_add(*offset), bytes, out);
                }
                let known = self.code.get(&name.sym).cloned();
                // What is not in the file has no address.
                let Some((symbol, at)) = known.or_else(|| self.symbol(self.ast.text(*name))) else { return 0 };
                relocate(out, bytes, symbol, at.wrapping_add(*offset));
                0
            }
        }
    }

    fn place(&self, label: Sym) -> Option<&(String, i64)> {
        self.data.get(&label).or_else(|| self.code.get(&label))
    }

    /// An offset in a debug section: the linker's to know in an object file.
    fn in_section(&self, name: &str, offset: i64, bytes: usize, out: &mut DebugSection) -> i64 {
        if self.spec.kind == FileKind::Executable {
            return offset;
        }
        relocate(out, bytes, name.to_owned(), offset);
        0
    }

    /// A function or a variable of the file.
    fn symbol(&self, name: &str) -> Option<(String, i64)> {
        if let Some((section, range)) = range_of(self.spec, name) {
            return Some((section.to_owned(), range.start as i64));
        }
        let mut variables = self.spec.globals.iter();
        variables.any(|variable| variable.name == name).then(|| (name.to_owned(), 0))
    }
}

/// Notes that an address goes to the end of what there is.
fn relocate(out: &mut DebugSection, bytes: usize, symbol: String, addend: i64) {
    let kind: Option<&'static RelocKind> = match bytes {
        8 => Some(&reloc::R64),
        4 => Some(&reloc::R32),
        _ => None,
    };
    if let Some(kind) = kind {
        out.relocations.push(RelocSpec { offset: out.bytes.len() as u32, kind, symbol, addend });
    }
}

/// The section of code that a function is in, by the name of its first function, and its bytes there. Of a device function in
/// several sections the first counts.
fn range_of<'a>(spec: &'a ModuleSpec, name: &str) -> Option<(&'a str, Range<u64>)> {
    spec.functions.iter().find_map(|section| {
        if section.name == name {
            let inner = section.inner_functions.iter().map(|inner| u64::from(inner.offset));
            return Some((section.name.as_str(), 0..inner.min().unwrap_or(section.code.len() as u64)));
        }
        let inner = format!("${}${name}", section.name);
        let inner = section.inner_functions.iter().find(|function| function.name == inner)?;
        Some((section.name.as_str(), u64::from(inner.offset)..u64::from(inner.offset + inner.size)))
    })
}

/// The labels of all functions that are in the file.
fn code_labels(
    ast: &ast::Module,
    ptx: &str,
    spec: &ModuleSpec,
    tables: &BTreeMap<String, LineTable>,
) -> HashMap<Sym, (String, i64)> {
    let map = SourceMap::new("", ptx);
    let line = |offset: u32| map.line_column(offset).0 as u32;
    let mut found = HashMap::new();
    for item in &ast.items {
        let Item::Function(function) = item else { continue };
        let Some(body) = &function.body else { continue };
        let Some((section, range)) = range_of(spec, ast.text(function.name)) else { continue };
        let table = tables.get(section).map(Vec::as_slice).unwrap_or_default();
        // The first instruction of each line with code, but never one before those of earlier lines.
        let mut lines: BTreeMap<u32, u64> = BTreeMap::new();
        for (offset, at) in table.iter().filter(|(offset, _)| range.contains(offset)) {
            let first = lines.entry(at.line).or_insert(*offset);
            *first = (*first).min(*offset);
        }
        let mut behind = range.start;
        for offset in lines.values_mut() {
            behind = behind.max(*offset);
            *offset = behind;
        }
        each_label(body, &mut |label| {
            let at = line(label.span.start);
            let offset = match lines.range(at..).next() {
                _ if lines.range(..at).next().is_none() => range.start,
                Some((_, offset)) => *offset,
                None => range.end,
            };
            found.insert(label.sym, (section.to_owned(), offset as i64));
        });
    }
    found
}

fn each_label(block: &Block, found: &mut impl FnMut(&ast::Name)) {
    for statement in &block.statements {
        match statement {
            Statement::Label(label) => found(label),
            Statement::Block(inner) => each_label(inner, found),
            _ => {}
        }
    }
}

fn data_labels(sections: &[&Section]) -> HashMap<Sym, (String, i64)> {
    let mut found = HashMap::new();
    let mut sizes: HashMap<&str, i64> = HashMap::new();
    for section in sections {
        let size = sizes.entry(&section.name).or_default();
        for entry in &section.entries {
            match entry {
                SectionEntry::Label(label) => {
                    found.insert(label.sym, (section.name.clone(), *size));
                }
                SectionEntry::Data(width, values) => *size += i64::from(width.bits() / 8) * values.len() as i64,
            }
        }
    }
    found
}
