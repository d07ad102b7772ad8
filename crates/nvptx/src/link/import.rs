//! Carries symbols, and what they are made of, from one module into another.

use cranelift_entity::{SecondaryMap, packed_option::PackedOption};
use rustc_hash::FxHashMap;

use crate::ir::{
    Alias, Body, ConstId, Constant, FnFlags, Function, Linkage, Meta, MetaField, MetaId, Module, Param, Symbol,
    SymbolId, SymbolKind, Type, TypeId, Variable,
};

use super::error::Error;
use super::rules::{Outcome, decide, is_local};

/// Bodies of functions, by the symbol that they had.
pub(super) type Bodies = FxHashMap<SymbolId, Box<Body>>;

/// Carries things from `from` into `into`.
pub(super) struct Importer<'a> {
    into: &'a mut Module,
    from: &'a Module,
    bodies: Bodies,
    /// Whether what is taken becomes internal.
    internal: bool,
    types: SecondaryMap<TypeId, PackedOption<TypeId>>,
    constants: SecondaryMap<ConstId, PackedOption<ConstId>>,
    symbols: SecondaryMap<SymbolId, PackedOption<SymbolId>>,
    nodes: SecondaryMap<MetaId, PackedOption<MetaId>>,
    /// Nodes that have an id, but no content yet.
    open_nodes: Vec<(MetaId, MetaId)>,
}

impl<'a> Importer<'a> {
    pub(super) fn new(into: &'a mut Module, from: &'a Module, bodies: Bodies, internal: bool) -> Importer<'a> {
        Importer {
            into,
            from,
            bodies,
            internal,
            types: SecondaryMap::new(),
            constants: SecondaryMap::new(),
            symbols: SecondaryMap::new(),
            nodes: SecondaryMap::new(),
            open_nodes: Vec::new(),
        }
    }

    /// Carries the symbols `wanted`, which refer to no others; and unless they become internal, all that
    /// describes the module.
    pub(super) fn run(mut self, wanted: &[SymbolId]) -> Result<(), Error> {
        // First every symbol gets its place, so that constants can refer to all of them.
        let mut outcomes = Vec::with_capacity(wanted.len());
        for &id in wanted {
            outcomes.push(self.place(id)?);
        }
        for (&id, &outcome) in wanted.iter().zip(&outcomes) {
            match outcome {
                Outcome::Keep => {}
                Outcome::Replace => self.define(id),
                Outcome::Append => self.append(id),
            }
        }
        if !self.internal {
            self.module_metadata();
            self.into.asm.extend(self.from.asm.iter().cloned());
            self.from.warnings.iter().for_each(|warning| self.into.warn(warning.clone()));
        }
        self.finish_nodes();
        Ok(())
    }

    /// Gives a symbol its place in the other module.
    fn place(&mut self, id: SymbolId) -> Result<Outcome, Error> {
        let new = &self.from.symbols[id];
        let defined = self.bodies.contains_key(&id) || new.is_definition();
        let there = self.into.symbol(&new.name);
        if is_local(new.linkage) {
            let name = self.free_name(&new.name);
            let place = self.into.symbol_or_new(&name);
            self.symbols[id] = place.into();
            return Ok(Outcome::Replace);
        }
        let (place, outcome) = match there {
            None => (self.into.symbol_or_new(&new.name), Outcome::Replace),
            Some(old) if is_local(self.into.symbols[old].linkage) => {
                let name = self.free_name(&new.name);
                self.into.rename(old, &name);
                (self.into.symbol_or_new(&new.name), Outcome::Replace)
            }
            Some(old) => {
                let symbol = &self.into.symbols[old];
                let outcome = decide(self.into, symbol, symbol.is_definition(), self.from, new, defined)?;
                (old, outcome)
            }
        };
        self.symbols[id] = place.into();
        Ok(outcome)
    }

    /// A name that no symbol of either module has, unless it is free as it stands.
    fn free_name(&self, name: &str) -> String {
        if self.into.symbol(name).is_none() {
            return name.to_owned();
        }
        let free = |name: &String| self.into.symbol(name).is_none() && self.from.symbol(name).is_none();
        // There are fewer names than numbers.
        (1u64..).map(|number| format!("{name}.{number}")).find(free).unwrap_or_default()
    }

    /// Fills the place of a symbol.
    fn define(&mut self, id: SymbolId) {
        let Some(place) = self.symbols[id].expand() else { return };
        let from = self.from;
        let symbol = &from.symbols[id];
        let kind = match &symbol.kind {
            SymbolKind::Function(function) => SymbolKind::Function(Box::new(self.function(id, function))),
            SymbolKind::Variable(variable) => SymbolKind::Variable(self.variable(variable)),
            SymbolKind::Alias(alias) => {
                SymbolKind::Alias(Alias { target: self.constant(alias.target), ty: self.ty(alias.ty) })
            }
            SymbolKind::Undefined => SymbolKind::Undefined,
        };
        let name = std::mem::take(&mut self.into.symbols[place].name);
        let (visibility, space, align) = (symbol.visibility, symbol.space, symbol.align);
        let section = symbol.section.clone();
        self.into.symbols[place] = Symbol { name, linkage: symbol.linkage, visibility, space, align, section, kind };
        if self.internal && self.into.symbols[place].is_definition() {
            self.into.symbols[place].linkage = Linkage::Internal;
        }
    }

    fn function(&mut self, id: SymbolId, function: &Function) -> Function {
        let mut body = self.bodies.remove(&id);
        if let Some(body) = &mut body {
            self.body(body);
        }
        let mut ret_attributes = function.ret_attributes.clone();
        ret_attributes.for_each_type_mut(|ty| *ty = self.ty(*ty));
        let mut attributes = function.attributes.clone();
        attributes.for_each_type_mut(|ty| *ty = self.ty(*ty));
        let param = |param: &Param| {
            let mut param = param.clone();
            param.attributes.for_each_type_mut(|ty| *ty = self.ty(*ty));
            Param { ty: self.ty(param.ty), ..param }
        };
        let mut new = Function {
            params: function.params.iter().map(param).collect(),
            signature: self.ty(function.signature),
            ret: self.ty(function.ret),
            ret_attributes,
            varargs: function.varargs,
            attributes,
            convention: function.convention,
            debug: function.debug.map(|node| self.node(node)).into(),
            body,
        };
        // A library's function that is always inlined and does not say what becomes of subnormals does as its caller:
        // libdevice is compiled once for both modes.
        let is_always_inlined = new.attributes.function.contains(FnFlags::ALWAYS_INLINE);
        if self.internal && is_always_inlined && new.stated_subnormals().is_none() {
            new.leave_subnormals_to_callers();
        }
        new
    }

    fn variable(&mut self, variable: &Variable) -> Variable {
        Variable {
            ty: self.ty(variable.ty),
            init: variable.init.map(|init| self.constant(init)),
            attributes: variable.attributes.clone(),
            ..*variable
        }
    }

    /// Puts the elements of an appending variable behind those that are there.
    fn append(&mut self, id: SymbolId) {
        let Some(place) = self.symbols[id].expand() else { return };
        let Some(new) = self.from.symbols[id].variable().and_then(|variable| variable.init) else { return };
        let new = self.constant(new);
        let SymbolKind::Variable(variable) = &mut self.into.symbols[place].kind else { return };
        let Some(old) = variable.init else { return };
        let constants = &mut self.into.constants;
        let (Constant::Aggregate(ty, first), Constant::Aggregate(_, second)) = (&constants[old], &constants[new])
        else {
            return;
        };
        let items: Box<[ConstId]> = first.iter().chain(second).copied().collect();
        let Some(element) = self.into.types.element(*ty, 0) else { return };
        let ty = self.into.types.intern(Type::Array(element, items.len() as u64));
        variable.ty = ty;
        variable.init = Some(constants.intern(Constant::Aggregate(ty, items)));
    }

    fn body(&mut self, body: &mut Body) {
        body.for_each_type_mut(|ty| *ty = self.ty(*ty));
        body.for_each_constant_mut(|constant| *constant = self.constant(*constant));
        body.for_each_node_mut(|node| *node = self.node(*node));
    }

    pub(super) fn ty(&mut self, id: TypeId) -> TypeId {
        if let Some(known) = self.types[id].expand() {
            return known;
        }
        let ty = match &self.from.types[id] {
            Type::Vector(element, len) => Type::Vector(self.ty(*element), *len),
            Type::Array(element, len) => Type::Array(self.ty(*element), *len),
            Type::Struct { fields, packed } => {
                Type::Struct { fields: fields.iter().map(|&field| self.ty(field)).collect(), packed: *packed }
            }
            Type::Function { ret, params, varargs } => Type::Function {
                ret: self.ty(*ret),
                params: params.iter().map(|&param| self.ty(param)).collect(),
                varargs: *varargs,
            },
            plain => plain.clone(),
        };
        let new = self.into.types.intern(ty);
        self.types[id] = new.into();
        new
    }

    fn constant(&mut self, id: ConstId) -> ConstId {
        if let Some(known) = self.constants[id].expand() {
            return known;
        }
        let mut constant = self.from.constants[id].clone();
        constant.for_each_type_mut(|ty| *ty = self.ty(*ty));
        match &mut constant {
            Constant::Aggregate(_, items) => items.iter_mut().for_each(|item| *item = self.constant(*item)),
            Constant::Expr(_, expr) => expr.for_each_operand_mut(|operand| *operand = self.constant(*operand)),
            Constant::Symbol(_, symbol) | Constant::BlockAddress(_, symbol, _) => {
                // All symbols that are referred to have a place, but for metadata, which asks first.
                *symbol = self.symbols[*symbol].expand().unwrap_or(*symbol);
            }
            _ => {}
        }
        let new = self.into.constants.intern(constant);
        self.constants[id] = new.into();
        new
    }

    /// Whether all symbols that a constant refers to have a place.
    fn has_place(&self, id: ConstId) -> bool {
        match &self.from.constants[id] {
            Constant::Symbol(_, symbol) | Constant::BlockAddress(_, symbol, _) => self.symbols[*symbol].is_some(),
            Constant::Aggregate(_, items) => items.iter().all(|&item| self.has_place(item)),
            Constant::Expr(_, expr) => {
                let mut all = true;
                expr.for_each_operand(|operand| all &= self.has_place(operand));
                all
            }
            _ => true,
        }
    }

    /// The place of a node, which is filled at the end: nodes may refer to each other in a circle.
    fn node(&mut self, id: MetaId) -> MetaId {
        if let Some(known) = self.nodes[id].expand() {
            return known;
        }
        let new = self.into.metadata.nodes.push(Meta::Undefined);
        self.nodes[id] = new.into();
        if self.from.metadata.distinct.contains(id) {
            self.into.metadata.distinct.insert(new);
        }
        self.open_nodes.push((id, new));
        new
    }

    fn finish_nodes(&mut self) {
        while let Some((id, new)) = self.open_nodes.pop() {
            let meta = match &self.from.metadata[id] {
                Meta::Node(fields) => Meta::Node(fields.iter().map(|field| self.field(field)).collect()),
                Meta::Special(name, fields) => {
                    let field = |(name, field): &(Box<str>, MetaField)| (name.clone(), self.field(field));
                    Meta::Special(name.clone(), fields.iter().map(field).collect())
                }
                Meta::Constant(constant) => match self.field(&MetaField::Constant(*constant)) {
                    MetaField::Constant(constant) => Meta::Constant(constant),
                    _ => Meta::Node(Vec::new()),
                },
                plain => plain.clone(),
            };
            self.into.metadata.nodes[new] = meta;
        }
    }

    fn field(&mut self, field: &MetaField) -> MetaField {
        match field {
            MetaField::Node(node) => MetaField::Node(self.node(*node)),
            MetaField::Constant(id) if self.has_place(*id) => MetaField::Constant(self.constant(*id)),
            // Metadata keeps nothing alive.
            MetaField::Constant(_) => MetaField::Null,
            plain => plain.clone(),
        }
    }

    /// Adds the named nodes. What describes a symbol that has no place is left out, and what the other
    /// module says too.
    pub(super) fn module_metadata(&mut self) {
        for (name, nodes) in &self.from.metadata.named {
            let mut added = Vec::new();
            for &node in nodes {
                let about = self.from.metadata[node].operands().first();
                if !matches!(about, Some(MetaField::Constant(id)) if !self.has_place(*id)) {
                    added.push(self.node(node));
                }
            }
            self.finish_nodes();
            let metadata = &mut self.into.metadata;
            let at = metadata.named.iter().position(|(other, _)| other == name).unwrap_or_else(|| {
                metadata.named.push((name.clone(), Vec::new()));
                metadata.named.len() - 1
            });
            for node in added {
                let same = |&old: &MetaId| is_same(name, &metadata.nodes[old], &metadata.nodes[node]);
                if !metadata.named[at].1.iter().any(same) {
                    metadata.named[at].1.push(node);
                }
            }
        }
    }
}

/// True when two operands of the named node `name` say the same: of module flags, when they have the same name.
fn is_same(name: &str, old: &Meta, new: &Meta) -> bool {
    if name == "llvm.module.flags" {
        return old.operands().get(1) == new.operands().get(1);
    }
    old == new
}
