//! Name resolution: what a name means at a place in a function.
//!
//! Walk a function's statements in order; call [`Scopes::enter_block`] and
//! [`Scopes::leave`] around each block and [`Scopes::declare`] at each
//! statement. Names, registers, parameters and labels share one name space
//! per scope. A register of a range (`%r12` of `%r<20>`) is found without the
//! range being written out.

use std::cell::Cell;

use crate::ast::{
    Block, Function, Item, Linkage, Module, Name, Prototype, RegisterDecl, ScalarType, Statement, Sym, SymbolTable,
    TargetList, Variable, VectorLen,
};

/// A register that a name refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Register {
    /// Dense number within the function, counted from 0 in order of
    /// declaration (a range takes as many numbers as it has registers).
    pub id: u32,
    /// Element type.
    pub ty: ScalarType,
    /// `.v2`, `.v4`
    pub vector: Option<VectorLen>,
    /// Where it is declared.
    pub declared: Name,
}

/// What a name refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binding<'m> {
    /// A register, or a parameter in register space.
    Register(Register),
    /// A variable or a parameter in memory.
    Variable(&'m Variable),
    /// A function or kernel.
    Function(&'m Function),
    /// An alias of a function: its declaration and what it stands for.
    Alias(Name, Name),
    /// A label.
    Label(Name),
    /// The label of a `.callprototype`.
    Prototype(&'m Prototype),
    /// The label of a `.calltargets`.
    CallTargets(&'m TargetList),
    /// The label of a `.branchtargets`.
    BranchTargets(&'m TargetList),
}

impl Binding<'_> {
    /// The name in the declaration; `None` only for unnamed parameters, which
    /// no name refers to.
    #[must_use]
    pub fn declared(&self) -> Option<Name> {
        match self {
            Binding::Register(register) => Some(register.declared),
            Binding::Variable(variable) => variable.name,
            Binding::Function(function) => Some(function.name),
            Binding::Alias(name, _) | Binding::Label(name) => Some(*name),
            Binding::Prototype(prototype) => Some(prototype.label),
            Binding::CallTargets(list) | Binding::BranchTargets(list) => Some(list.label),
        }
    }
}

/// A second declaration of a name in one scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Duplicate {
    /// The second declaration.
    pub name: Name,
    /// The first one.
    pub first: Name,
}

/// A declaration in force.
#[derive(Clone, Copy)]
struct Entry<'m> {
    depth: u32,
    binding: Binding<'m>,
    /// How many registers, when the entry is a range.
    count: Option<u32>,
    /// Index in [`Scopes::undo`] of what the entry hides: a shorter range does
    /// not hide the higher numbers of a longer one outside.
    hides: usize,
}

/// What was found for a name.
#[derive(Clone, Copy)]
struct Found<'m> {
    /// When that was ([`Scopes::changes`]).
    at: u32,
    binding: Option<Binding<'m>>,
}

/// How each name may be split into the stem of a range and a number: `%r12`
/// into `%r` and 12, or `%r1` and 2, if the module has these stems.
struct Stems {
    splits: Vec<(Sym, u32)>,
    /// By symbol: where its splits end in `splits`.
    ends: Vec<u32>,
}

impl Stems {
    fn new(symbols: &SymbolTable) -> Stems {
        /// A count has at most ten digits.
        const MOST_DIGITS: usize = 10;
        let mut stems = Stems { splits: Vec::new(), ends: Vec::with_capacity(symbols.len()) };
        for (_, text) in symbols.iter() {
            let digits = text.bytes().rev().take(MOST_DIGITS).take_while(u8::is_ascii_digit).count();
            for (stem, number) in (text.len() - digits..text.len()).map(|at| text.split_at(at)) {
                if number.len() > 1 && number.starts_with('0') {
                    continue;
                }
                if let (Some(stem), Ok(number)) = (symbols.get(stem), number.parse()) {
                    stems.splits.push((stem, number));
                }
            }
            stems.ends.push(stems.splits.len() as u32);
        }
        stems
    }

    fn of(&self, sym: Sym) -> &[(Sym, u32)] {
        let start = sym.index().checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.splits[start as usize..self.ends[sym.index()] as usize]
    }
}

/// The names in force while a function is walked.
pub struct Scopes<'m> {
    symbols: &'m SymbolTable,
    stems: Stems,
    /// By symbol: the innermost declaration of that name.
    names: Vec<Option<Entry<'m>>>,
    /// By symbol: the innermost range with that stem.
    ranges: Vec<Option<Entry<'m>>>,
    /// For each declaration: its symbol, whether it is a range, and what it hides.
    undo: Vec<(Sym, bool, Option<Entry<'m>>)>,
    /// Length of `undo` at the start of each open scope.
    marks: Vec<usize>,
    next_register: u32,
    /// How often the names in force have changed, counted from 1.
    changes: u32,
    /// By symbol: what was last found for it. A function names its registers more often than it declares any.
    found: Vec<Cell<Found<'m>>>,
}

impl<'m> Scopes<'m> {
    /// The file-level scope of `module`, with all its functions and variables
    /// declared, and the duplicates among them.
    #[must_use]
    pub fn new(module: &'m Module) -> (Scopes<'m>, Vec<Duplicate>) {
        let count = module.symbols.len();
        let mut scopes = Scopes {
            symbols: &module.symbols,
            stems: Stems::new(&module.symbols),
            names: vec![None; count],
            ranges: vec![None; count],
            undo: Vec::new(),
            marks: Vec::new(),
            next_register: 0,
            changes: 1,
            found: vec![Cell::new(Found { at: 0, binding: None }); count],
        };
        let mut duplicates = Vec::new();
        for item in &module.items {
            match item {
                Item::Function(function) => scopes.function(function, &mut duplicates),
                Item::Variable(variable) => scopes.variable(variable, &mut duplicates),
                Item::Registers(declaration) => scopes.registers(declaration, &mut duplicates),
                Item::Alias { name, aliasee } => scopes.alias(*name, *aliasee, &mut duplicates),
                Item::File(_)
                | Item::Section(_)
                | Item::IntermediateSource(_)
                | Item::Loc(_)
                | Item::Pragma(_)
                | Item::DwarfLine(_) => {}
            }
        }
        (scopes, duplicates)
    }

    /// Opens the scope of a function: its parameters, and what its body
    /// declares in advance. Register numbers start again at 0.
    pub fn enter_function(&mut self, function: &'m Function) -> Vec<Duplicate> {
        self.next_register = 0;
        self.marks.push(self.undo.len());
        let mut duplicates = Vec::new();
        for variable in function.rets.iter().chain(&function.params) {
            self.variable(variable, &mut duplicates);
        }
        if let Some(body) = &function.body {
            self.labels(body, &mut duplicates);
        }
        duplicates
    }

    /// Opens the scope of a nested block, with its labels.
    pub fn enter_block(&mut self, block: &'m Block) -> Vec<Duplicate> {
        self.marks.push(self.undo.len());
        let mut duplicates = Vec::new();
        self.labels(block, &mut duplicates);
        duplicates
    }

    /// Closes the innermost scope.
    pub fn leave(&mut self) {
        let mark = self.marks.pop().unwrap_or(0);
        while self.undo.len() > mark {
            if let Some((sym, range, hidden)) = self.undo.pop() {
                self.changes += 1;
                let table = if range { &mut self.ranges } else { &mut self.names };
                table[sym.index()] = hidden;
            }
        }
    }

    /// Declares the registers or the variable of a statement; other
    /// statements declare nothing here.
    pub fn declare(&mut self, statement: &'m Statement) -> Vec<Duplicate> {
        let mut duplicates = Vec::new();
        match statement {
            Statement::Registers(declaration) => self.registers(declaration, &mut duplicates),
            Statement::Variable(variable) => self.variable(variable, &mut duplicates),
            _ => {}
        }
        duplicates
    }

    /// How many registers the function has declared so far.
    #[must_use]
    pub fn register_count(&self) -> u32 {
        self.next_register
    }

    /// What `sym` means here.
    #[inline]
    #[must_use]
    pub fn lookup(&self, sym: Sym) -> Option<Binding<'m>> {
        let found = &self.found[sym.index()];
        let Found { at, binding } = found.get();
        if at == self.changes {
            return binding;
        }
        let binding = self.search(sym);
        found.set(Found { at: self.changes, binding });
        binding
    }

    /// [`Self::lookup`] in the tables.
    fn search(&self, sym: Sym) -> Option<Binding<'m>> {
        let direct = self.names[sym.index()].as_ref();
        match (direct, self.ranged(sym)) {
            (Some(direct), Some((range, number))) if range.depth > direct.depth => Some(numbered(range, number)),
            (Some(entry), _) => Some(entry.binding),
            (None, Some((range, number))) => Some(numbered(range, number)),
            (None, None) => None,
        }
    }

    /// The largest range that has the stem of `sym` but not its number:
    /// for messages such as "declares only `%r0` to `%r4`".
    #[must_use]
    pub fn short_range(&self, sym: Sym) -> Option<(Name, u32)> {
        let (stem, _) = self.symbols.split_number(sym)?;
        let entry = self.ranges[self.symbols.get(stem)?.index()]?;
        Some((entry.binding.declared()?, entry.count?))
    }

    /// The names in force, innermost first.
    pub fn visible(&self) -> impl Iterator<Item = &'m str> {
        self.undo.iter().rev().filter(|(_, range, _)| !range).map(|(sym, ..)| self.symbols.text(*sym))
    }

    /// The innermost range that holds `sym`, under any of its stems, and the number that it has there.
    fn ranged(&self, sym: Sym) -> Option<(&Entry<'m>, u32)> {
        let mut best: Option<(&Entry<'m>, u32)> = None;
        for &(stem, number) in self.stems.of(sym) {
            let mut entry = self.ranges[stem.index()].as_ref();
            while let Some(short) = entry.filter(|entry| entry.count.is_none_or(|count| number >= count)) {
                entry = self.undo[short.hides].2.as_ref();
            }
            if let Some(entry) = entry.filter(|entry| best.is_none_or(|(best, _)| entry.depth > best.depth)) {
                best = Some((entry, number));
            }
        }
        best
    }

    /// A body and a declaration of the same function are no duplicates.
    fn function(&mut self, function: &'m Function, duplicates: &mut Vec<Duplicate>) {
        let earlier = self.names[function.name.sym.index()].map(|entry| entry.binding);
        match earlier {
            Some(Binding::Function(first)) if first.body.is_none() || function.body.is_none() => {
                if function.body.is_some() {
                    self.set(function.name.sym, Binding::Function(function));
                }
            }
            _ => self.bind(function.name, Binding::Function(function), duplicates),
        }
    }

    /// An alias stands for a function that is declared without a body.
    fn alias(&mut self, name: Name, aliasee: Name, duplicates: &mut Vec<Duplicate>) {
        let declared = self.names[name.sym.index()].map(|entry| entry.binding);
        match declared {
            Some(Binding::Function(function)) if function.body.is_none() => {
                self.set(name.sym, Binding::Alias(name, aliasee))
            }
            _ => self.bind(name, Binding::Alias(name, aliasee), duplicates),
        }
    }

    fn variable(&mut self, variable: &'m Variable, duplicates: &mut Vec<Duplicate>) {
        let Some(name) = variable.name else { return };
        let earlier = self.names[name.sym.index()].map(|entry| entry.binding);
        if let Some(Binding::Variable(Variable { linkage: Linkage::Extern, .. })) = earlier
            && self.depth() == 0
            && variable.linkage != Linkage::None
        {
            // What an `.extern` declaration announced.
            return self.set(name.sym, Binding::Variable(variable));
        }
        let binding = if variable.space == crate::ast::Space::Reg {
            let id = self.number(1);
            Binding::Register(Register { id, ty: variable.ty, vector: variable.vector, declared: name })
        } else {
            Binding::Variable(variable)
        };
        self.bind(name, binding, duplicates);
    }

    fn registers(&mut self, declaration: &'m RegisterDecl, duplicates: &mut Vec<Duplicate>) {
        for register in &declaration.names {
            let id = self.number(register.count.unwrap_or(1));
            let (ty, vector, declared) = (declaration.ty, declaration.vector, register.name);
            let binding = Binding::Register(Register { id, ty, vector, declared });
            match register.count {
                None => self.bind(register.name, binding, duplicates),
                Some(count) => self.bind_range(register.name, binding, count, duplicates),
            }
        }
    }

    /// Labels can be used before they stand.
    fn labels(&mut self, block: &'m Block, duplicates: &mut Vec<Duplicate>) {
        for statement in &block.statements {
            let binding = match statement {
                Statement::Label(name) => Binding::Label(*name),
                Statement::Prototype(prototype) => Binding::Prototype(prototype),
                Statement::CallTargets(list) => Binding::CallTargets(list),
                Statement::BranchTargets(list) => Binding::BranchTargets(list),
                _ => continue,
            };
            if let Some(name) = binding.declared() {
                self.bind(name, binding, duplicates);
            }
        }
    }

    /// Takes `count` register numbers.
    fn number(&mut self, count: u32) -> u32 {
        let id = self.next_register;
        self.next_register = id.saturating_add(count);
        id
    }

    fn depth(&self) -> u32 {
        self.marks.len() as u32
    }

    fn bind(&mut self, name: Name, binding: Binding<'m>, duplicates: &mut Vec<Duplicate>) {
        let here = |entry: &&Entry<'m>| entry.depth == self.depth();
        let first = self.names[name.sym.index()].as_ref().filter(here);
        let first = first.or_else(|| match binding {
            Binding::Register(_) => self.ranged(name.sym).map(|(range, _)| range).filter(here),
            _ => None,
        });
        match first.and_then(|entry| entry.binding.declared()) {
            Some(first) => duplicates.push(Duplicate { name, first }),
            None => self.set(name.sym, binding),
        }
    }

    fn bind_range(&mut self, name: Name, binding: Binding<'m>, count: u32, duplicates: &mut Vec<Duplicate>) {
        let index = name.sym.index();
        let first = self.ranges[index].filter(|entry| entry.depth == self.depth());
        if let Some(first) = first.and_then(|entry| entry.binding.declared()) {
            duplicates.push(Duplicate { name, first });
            return;
        }
        let entry = Entry { depth: self.depth(), binding, count: Some(count), hides: self.undo.len() };
        self.undo.push((name.sym, true, self.ranges[index].replace(entry)));
        self.changes += 1;
    }

    fn set(&mut self, sym: Sym, binding: Binding<'m>) {
        let entry = Entry { depth: self.depth(), binding, count: None, hides: self.undo.len() };
        self.undo.push((sym, false, self.names[sym.index()].replace(entry)));
        self.changes += 1;
    }
}

/// One register of a range.
fn numbered<'m>(range: &Entry<'m>, number: u32) -> Binding<'m> {
    match range.binding {
        Binding::Register(register) => {
            Binding::Register(Register { id: register.id.saturating_add(number), ..register })
        }
        other => other,
    }
}
