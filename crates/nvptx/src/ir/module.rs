//! Modules: functions, variables and aliases under one table of names.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, SecondaryMap};
use rustc_hash::FxHashMap;

use super::attributes::Attributes;
use super::body::Body;
use super::constant::{Constant, Constants};
use super::ids::{ConstId, MetaId, SymbolId};
use super::layout::DataLayout;
use super::linkage::{CallingConvention, Linkage, Visibility};
use super::metadata::Metadata;
use super::types::{AddressSpace, TypeId, Types};

/// A parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its type.
    pub ty: TypeId,
    /// Its attributes.
    pub attributes: Attributes,
}

/// A function or its declaration.
#[derive(Clone, Debug)]
pub struct Function {
    /// The function type.
    pub signature: TypeId,
    /// The result.
    pub ret: TypeId,
    /// Attributes of the result.
    pub ret_attributes: Attributes,
    /// The parameters.
    pub params: Vec<Param>,
    /// Whether more arguments may follow.
    pub varargs: bool,
    /// Attributes.
    pub attributes: Attributes,
    /// Calling convention.
    pub convention: CallingConvention,
    /// `!dbg`: the `DISubprogram`
    pub debug: PackedOption<MetaId>,
    /// The body; `None` for a declaration.
    pub body: Option<Box<Body>>,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The type of its value.
    pub ty: TypeId,
    /// `constant`: never written
    pub constant: bool,
    /// The initial value; `None` for a declaration.
    pub init: Option<ConstId>,
    /// `thread_local`
    pub thread_local: bool,
    /// `externally_initialized`
    pub externally_initialized: bool,
    /// Attributes, such as `"nvvm.managed"`.
    pub attributes: Attributes,
}

/// An alias.
#[derive(Clone, Debug)]
pub struct Alias {
    /// What it stands for.
    pub target: ConstId,
    /// The type of that.
    pub ty: TypeId,
}

/// What a symbol is.
#[derive(Clone, Debug)]
pub enum SymbolKind {
    /// A function.
    Function(Box<Function>),
    /// A variable.
    Variable(Variable),
    /// An alias.
    Alias(Alias),
    /// Named, but not declared; not left by a reader that succeeds.
    Undefined,
}

/// A named thing of a module.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// The name, without its `@`; unnamed ones get `__unnamed_N`.
    pub name: Box<str>,
    /// Linkage.
    pub linkage: Linkage,
    /// Visibility.
    pub visibility: Visibility,
    /// Where it lives.
    pub space: AddressSpace,
    /// `align`, in bytes; 0 when absent.
    pub align: u32,
    /// `section "…"`
    pub section: Option<Box<str>>,
    /// What it is.
    pub kind: SymbolKind,
}

/// A module of LLVM IR.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// `source_filename`, or what the reader was told.
    pub name: String,
    /// `target triple`
    pub triple: String,
    /// `target datalayout`
    pub layout: DataLayout,
    /// Types.
    pub types: Types,
    /// Constants.
    pub constants: Constants,
    /// Functions, variables and aliases, in order of the text.
    pub symbols: PrimaryMap<SymbolId, Symbol>,
    /// Metadata.
    pub metadata: Metadata,
    /// `module asm`, line by line.
    pub asm: Vec<Box<str>>,
    /// What the reader passed over although it may have a meaning, a sentence each.
    pub warnings: Vec<String>,
    index: FxHashMap<Box<str>, SymbolId>,
}

impl Symbol {
    /// A symbol of which only the name is known.
    #[must_use]
    pub fn undefined(name: &str) -> Symbol {
        Symbol {
            name: name.into(),
            linkage: Linkage::External,
            visibility: Visibility::Default,
            space: AddressSpace::GENERIC,
            align: 0,
            section: None,
            kind: SymbolKind::Undefined,
        }
    }

    /// The function, if it is one.
    #[must_use]
    pub fn function(&self) -> Option<&Function> {
        match &self.kind {
            SymbolKind::Function(function) => Some(function),
            _ => None,
        }
    }

    /// The function, if it is one, to change it.
    pub fn function_mut(&mut self) -> Option<&mut Function> {
        match &mut self.kind {
            SymbolKind::Function(function) => Some(function),
            _ => None,
        }
    }

    /// The variable, if it is one.
    #[must_use]
    pub fn variable(&self) -> Option<&Variable> {
        match &self.kind {
            SymbolKind::Variable(variable) => Some(variable),
            _ => None,
        }
    }

    /// True when the module has the body or initial value itself.
    #[must_use]
    pub fn is_definition(&self) -> bool {
        match &self.kind {
            SymbolKind::Function(function) => function.body.is_some(),
            SymbolKind::Variable(variable) => variable.init.is_some(),
            SymbolKind::Alias(_) => true,
            SymbolKind::Undefined => false,
        }
    }
}

impl Module {
    /// Adds to what was passed over, unless it says so already.
    pub(crate) fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// The symbol called `name`.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<SymbolId> {
        self.index.get(name).copied()
    }

    /// The symbol called `name`, added as [`SymbolKind::Undefined`] if there is none.
    pub fn symbol_or_new(&mut self, name: &str) -> SymbolId {
        if let Some(id) = self.symbol(name) {
            return id;
        }
        let id = self.symbols.push(Symbol::undefined(name));
        self.index.insert(name.into(), id);
        id
    }

    /// Gives a symbol another name, which no other symbol has.
    pub fn rename(&mut self, id: SymbolId, name: &str) {
        self.index.remove(&self.symbols[id].name);
        self.symbols[id].name = name.into();
        self.index.insert(name.into(), id);
    }

    /// Puts symbols into another order: that of `order`, which has each of them once.
    pub fn reorder_symbols(&mut self, order: &[SymbolId]) {
        let mut places = SecondaryMap::with_default(SymbolId::from_u32(0));
        let mut old = std::mem::take(&mut self.symbols);
        for &from in order {
            let symbol = std::mem::replace(&mut old[from], Symbol::undefined(""));
            places[from] = self.symbols.push(symbol);
        }
        self.index.values_mut().for_each(|id| *id = places[*id]);
        self.constants.map_symbols(|id| places[id]);
    }

    /// What an alias stands for, through other aliases; nothing when they go in a circle, or it is no symbol.
    #[must_use]
    pub fn aliasee(&self, alias: &Alias) -> Option<SymbolId> {
        let mut target = alias.target;
        // More steps than there are symbols go in a circle.
        for _ in 0..=self.symbols.len() {
            let Constant::Symbol(_, id) = self.constants[target] else { return None };
            match &self.symbols[id].kind {
                SymbolKind::Alias(next) => target = next.target,
                _ => return Some(id),
            }
        }
        None
    }

    /// The symbol, or what it stands for if it is an alias.
    #[must_use]
    pub fn behind_alias(&self, symbol: SymbolId) -> Option<SymbolId> {
        match &self.symbols[symbol].kind {
            SymbolKind::Alias(alias) => self.aliasee(alias),
            _ => Some(symbol),
        }
    }

    /// The functions that have a body.
    pub fn definitions(&self) -> impl Iterator<Item = (SymbolId, &Symbol, &Function, &Body)> {
        self.symbols.iter().filter_map(|(id, symbol)| {
            let function = symbol.function()?;
            Some((id, symbol, function, function.body.as_deref()?))
        })
    }
}
