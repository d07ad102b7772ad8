//! The `.loc`s of code.

use oriole_ptx::ast::{InlinedAt, Loc, Statement, Sym};

use super::body::Body;
use super::emitter::Emitter;
use super::lines::{DEEPEST, Place};
use crate::ir::{self, Meta, MetaId};

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
            found.push(Loc { file, line, column, inlined, is_intermediate: false, span: self.place() });
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
        self.out.extend(found.into_iter().map(|loc| Statement::Loc(Box::new(loc))));
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
            self.out.push(Statement::Loc(Box::new(Loc {
                file,
                line,
                column: 0,
                inlined: None,
                is_intermediate: false,
                span,
            })));
        }
    }
}
