//! Data for debuggers: labels and values of sections, and the places of inlined code.

use rustc_hash::FxHashSet;

use super::Checker;
use crate::ast::{
    InlinedAt, IntermediateSource, Item, Loc, Module, Name, Section, SectionEntry, SectionValue, Span, Sym,
};
use crate::diag::{Diagnostic, Rule};

/// What is known of sections and of the places that lines of the text have in the source.
#[derive(Default)]
pub(super) struct Places {
    /// File, line and column of each `.loc` so far.
    seen: FxHashSet<[u32; 3]>,
    /// The labels of all sections.
    labels: FxHashSet<Sym>,
}

impl Places {
    pub(super) fn new(module: &Module) -> Places {
        let labels = sections(module).flat_map(labels).map(|label| label.sym).collect();
        Places { seen: FxHashSet::default(), labels }
    }
}

impl<'m> Checker<'m> {
    /// Sections: each label once, and what is in them as the version has it.
    pub(super) fn sections(&mut self) {
        let mut names: FxHashSet<Sym> = FxHashSet::default();
        for section in sections(self.module) {
            for label in labels(section) {
                self.needs("a label in a section", "section_label", label.span);
                if !names.insert(label.sym) {
                    let message = format!("label `{}` stands twice in sections", self.text(label.sym));
                    self.error(Diagnostic::new(label.span, message));
                }
            }
            for value in section.entries.iter().flat_map(values) {
                match value {
                    SectionValue::Difference(first, _) => {
                        self.needs("the difference of two labels", "section_difference", first.span);
                    }
                    SectionValue::Int(number) if *number < 0 => {
                        self.needs("a negative number in a section", "section_negative", section.span);
                    }
                    _ => {}
                }
            }
        }
        let debug = self.module.target.iter().any(|word| word == "debug");
        if debug && sections(self.module).next().is_none() {
            let help = "remove `debug` from `.target`, or give the sections that a debugger reads";
            self.declaration(self.module.header[1], "`debug` is a target without debug information", help);
        }
    }

    /// A place in the source. What inlined code says of its caller is a place that stood before.
    pub(super) fn location(&mut self, loc: &Loc) {
        if loc.is_intermediate {
            return self.needs("`.loc_intermediate`", "loc_intermediate", loc.span);
        }
        if let Some(inlined) = &loc.inlined {
            self.inlined(inlined, loc.span);
        }
        self.places.seen.insert([loc.file, loc.line, loc.column]);
    }

    /// The source in an intermediate language: its files have been named before.
    pub(super) fn intermediate_source(&mut self, source: &IntermediateSource, files: &FxHashSet<u32>) {
        self.needs("`.nv_intermediate_source_section`", "nv_intermediate_source_section", source.span);
        for block in &source.blocks {
            if !files.contains(&block.file) {
                let message = format!("no `.file {}` stands before the source section", block.file);
                self.declaration(block.span, message, "give the file an index with `.file`, further up");
            }
        }
    }

    fn inlined(&mut self, inlined: &InlinedAt, span: Span) {
        let InlinedAt { function, file, line, column, .. } = *inlined;
        if !self.places.seen.contains(&[file, line, column]) {
            let message = format!("no `.loc {file} {line} {column}` stands before the code that is inlined there");
            let help = "give the place of the call a `.loc` of its own, further up";
            self.error(Diagnostic::new(span, message).rule(Rule::Declaration).help(help));
        }
        if !self.places.labels.contains(&function.sym) {
            let message = format!("`{}` is no label of a section", self.text(function.sym));
            self.error(Diagnostic::new(function.span, message).rule(Rule::Declaration));
        }
    }
}

fn sections(module: &Module) -> impl Iterator<Item = &Section> {
    module.items.iter().filter_map(|item| match item {
        Item::Section(section) => Some(section),
        _ => None,
    })
}

fn labels(section: &Section) -> impl Iterator<Item = Name> {
    section.entries.iter().filter_map(|entry| match entry {
        SectionEntry::Label(name) => Some(*name),
        SectionEntry::Data(..) => None,
    })
}

fn values(entry: &SectionEntry) -> &[SectionValue] {
    match entry {
        SectionEntry::Label(_) => &[],
        SectionEntry::Data(_, values) => values,
    }
}
