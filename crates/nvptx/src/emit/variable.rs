//! Variables: where they live, what they look like, in which order they are declared.

use cranelift_entity::SecondaryMap;
use oriole_ptx::ast::{self, Attribute, Item, Linkage, Name, ScalarType, Space};

use super::emitter::Emitter;
use super::error::Error;
use super::initial::{Shape, initial_value};
use super::mentions::{Mention, symbols_of};
use crate::ir::{self, AddressSpace, HandleKind, SymbolId, SymbolKind, Variable};

/// A variable of bytes in `.global` space, for others to be made of.
pub(super) fn bytes(name: Name) -> ast::Variable {
    ast::Variable {
        linkage: Linkage::None,
        space: Space::Global,
        attributes: Vec::new(),
        align: None,
        ty: ScalarType::B8,
        vector: None,
        ptr: None,
        name: Some(name),
        dims: Vec::new(),
        init: None,
        properties: Vec::new(),
        span: name.span,
    }
}

/// How far the search through initial values has come with a variable.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Visit {
    #[default]
    Fresh,
    Open,
    Done,
}

impl Emitter<'_> {
    /// Declares the variables at file level: each behind those that its initial value names.
    pub(super) fn variables(&mut self, items: &mut Vec<Item>) -> Result<(), Error> {
        self.refuse_appending()?;
        let mut visits = SecondaryMap::new();
        for id in self.ir.symbols.keys() {
            self.visit(id, &mut visits, items)?;
        }
        Ok(())
    }

    /// Refuses variables of appending linkage but those that only LLVM reads: nothing would run constructors.
    fn refuse_appending(&self) -> Result<(), Error> {
        for (id, symbol) in self.ir.symbols.iter() {
            let Some(variable) = symbol.variable().filter(|_| symbol.linkage == ir::Linkage::Appending) else {
                continue;
            };
            let is_empty = self.ir.layout.size(&self.ir.types, variable.ty) == 0;
            match &*symbol.name {
                "llvm.global_ctors" | "llvm.global_dtors" if !is_empty => {
                    return Err(self.unsupported(id, "constructors and destructors of a module, which PTX cannot run"));
                }
                name if name.starts_with("llvm.") => {}
                _ => return Err(self.unsupported(id, "a variable of appending linkage")),
            }
        }
        Ok(())
    }

    /// Declares a variable and first those that it needs. The stack is explicit: initial values may
    /// form long chains.
    fn visit(
        &mut self,
        id: SymbolId,
        visits: &mut SecondaryMap<SymbolId, Visit>,
        items: &mut Vec<Item>,
    ) -> Result<(), Error> {
        let ir = self.ir;
        let mut open = vec![id];
        while let Some(&id) = open.last() {
            let variable = ir.symbols[id].variable().filter(|variable| self.is_declared(id, variable));
            let (Some(variable), Visit::Fresh | Visit::Open) = (variable, visits[id]) else {
                open.pop();
                continue;
            };
            let mut before = Vec::new();
            if let Some(init) = variable.init.filter(|_| visits[id] == Visit::Fresh) {
                symbols_of(ir, init, &mut |needed| before.push(needed));
            }
            visits[id] = Visit::Open;
            before.retain(|needed| *needed != id && visits[*needed] != Visit::Done);
            if let Some(&circle) = before.iter().find(|needed| visits[**needed] == Visit::Open) {
                let what = format!("its initial value and that of `{}` need each other", ir.symbols[circle].name);
                return Err(self.unsupported(id, what));
            }
            if before.is_empty() {
                visits[id] = Visit::Done;
                open.pop();
                let variable = self.variable(id, variable)?;
                items.push(Item::Variable(variable));
            }
            open.extend(before);
        }
        Ok(())
    }

    /// True for variables that stand at file level.
    fn is_declared(&self, id: SymbolId, variable: &Variable) -> bool {
        let symbol = &self.ir.symbols[id];
        let Some(name) = self.names[id].filter(|name| !self.given.contains(name)) else { return false };
        if symbol.section.as_deref() == Some("llvm.metadata") || symbol.linkage == ir::Linkage::Appending {
            return false;
        }
        let mention = self.mentions.get(name);
        let can_be_seen = variable.init.is_some() && symbol.linkage != ir::Linkage::Internal;
        (can_be_seen || mention != Mention::default()) && self.owner(id).is_none()
    }

    /// The function that declares a variable itself: one in shared or local memory that only this function
    /// names.
    fn owner(&self, id: SymbolId) -> Option<u32> {
        let symbol = &self.ir.symbols[id];
        let variable = symbol.variable()?;
        let mention = self.mentions.get(self.names[id]?);
        let alone = !mention.others && !mention.by_data;
        let own = symbol.linkage == ir::Linkage::Internal && variable.init.is_some();
        let space = matches!(symbol.space, AddressSpace::SHARED | AddressSpace::LOCAL);
        mention.first.filter(|_| alone && own && space)
    }

    /// The variables that functions declare themselves.
    pub(super) fn find_demoted(&mut self) {
        let ir = self.ir;
        for (id, symbol) in ir.symbols.iter() {
            if let (SymbolKind::Variable(_), Some(owner)) = (&symbol.kind, self.owner(id)) {
                self.demoted.entry(owner).or_default().push(id);
            }
        }
    }

    /// The declaration of a variable, with its initial value.
    pub(super) fn variable(&mut self, id: SymbolId, variable: &Variable) -> Result<ast::Variable, Error> {
        let symbol = &self.ir.symbols[id];
        if variable.thread_local {
            return Err(self.unsupported(id, "PTX has no thread-local variables"));
        }
        let space = match symbol.space {
            AddressSpace::GENERIC | AddressSpace::GLOBAL => Space::Global,
            AddressSpace::CONSTANT => Space::Const,
            AddressSpace::SHARED => Space::Shared,
            AddressSpace::LOCAL if self.owner(id).is_some() => Space::Local,
            AddressSpace::LOCAL => {
                return Err(self.unsupported(id, "a variable in local memory that more than one function names"));
            }
            AddressSpace(other) => return Err(self.unsupported(id, format!("a variable in address space {other}"))),
        };
        let name = self.symbol(id)?;
        let name = self.name(name);
        let defined = variable.init.is_some() && symbol.linkage != ir::Linkage::AvailableExternally;
        let linkage = if self.owner(id).is_some() { Linkage::None } else { self.linkage(id, defined) };
        let declaration = ast::Variable { linkage, space, ..bytes(name) };
        if let Some(&kind) = self.annotations.handles.get(&id) {
            return Ok(ast::Variable { ty: opaque(kind), ..declaration });
        }
        let value = match variable.init.filter(|_| defined) {
            Some(init) => initial_value(self, id, init)?,
            None => None,
        };
        if value.is_some() && !matches!(space, Space::Global | Space::Const) {
            return Err(self.unsupported(id, format!("a variable in {space} memory has no initial value in PTX")));
        }
        let shape = Shape::of(self.ir, variable.ty, value.as_ref());
        let align = if symbol.align > 0 { symbol.align } else { self.ir.layout.align(&self.ir.types, variable.ty) };
        let managed = self.annotations.managed.contains(&id);
        Ok(ast::Variable {
            attributes: if managed { vec![Attribute::Managed] } else { Vec::new() },
            align: Some(align.next_power_of_two()),
            ty: shape.ty,
            dims: shape.dims(defined),
            init: value.and_then(|value| value.list(self, shape)),
            ..declaration
        })
    }
}

fn opaque(kind: HandleKind) -> ScalarType {
    match kind {
        HandleKind::Texture => ScalarType::Texref,
        HandleKind::Sampler => ScalarType::Samplerref,
        HandleKind::Surface => ScalarType::Surfref,
    }
}
