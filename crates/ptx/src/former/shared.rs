//! What functions share with their callers: `.reg` and `.local` of the file level, of which each thread has one.
//!
//! A kernel keeps them in one local variable, and each function that needs some of them gets its address as a last
//! parameter. Memory stays there; a register of its own holds where. A register is one of each function, too: functions
//! load what they share when they start and store it before they return; calls stand between stores and loads.

use rustc_hash::{FxHashMap, FxHashSet};

use super::build::{constant, load, plain, register, store, variable};
use crate::ast::{
    AddressBase, Block, Function, Instruction, Item, Modifier, Module, Name, Opcode, Operand, ScalarType, Space, Span,
    Statement, Sym, SymbolTable, VectorLen,
};
use crate::call_order::callees_first;
use crate::mentions;
use crate::scope::{Binding, Scopes};

/// How everything is aligned that is shared, at least: as the widest vector.
const ALIGN: u64 = 16;

/// What is shared: a register, or memory.
#[derive(Clone, Copy)]
pub(super) struct Own {
    /// What it is called in each function.
    pub(super) name: Name,
    pub(super) kind: Kind,
    /// Where it lies in the local variable.
    pub(super) place: i64,
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Register(ScalarType, Option<VectorLen>),
    /// Memory, of elements of this size.
    Memory(u32),
}

/// What the functions of a module share.
struct Shared {
    /// By where a name stands in the text: what of the file level it means.
    mentions: FxHashMap<u32, Sym>,
    own: FxHashMap<Sym, Own>,
    /// What each function needs, itself or for what it calls; those that need nothing are not there.
    needs: FxHashMap<Sym, Vec<Sym>>,
    size: u64,
    /// The local variable of kernels.
    memory: Name,
    /// The register with its address: of functions the last parameter.
    at: Name,
    /// A register by which predicates are stored.
    word: Name,
}

/// Passes what functions share to them, where a module has such functions.
pub(super) fn restate(module: &mut Module) {
    let Some(shared) = Shared::of(module) else { return };
    for item in &mut module.items {
        let Item::Function(function) = item else { continue };
        if let Some(needs) = shared.needs.get(&function.name.sym) {
            shared.pass(function, needs);
        }
    }
}

/// What the bodies of a module mention.
#[derive(Default)]
struct Found {
    mentions: FxHashMap<u32, Sym>,
    kinds: FxHashMap<Sym, (Kind, u64)>,
    /// By function: what of the file level it mentions, and what it calls.
    uses: FxHashMap<Sym, FxHashSet<Sym>>,
    calls: FxHashMap<Sym, Vec<Name>>,
}

impl Found {
    fn of(module: &Module) -> Found {
        let declared: FxHashSet<u32> = module.thread_names().map(|name| name.span.start).collect();
        let mut found = Found::default();
        if declared.is_empty() {
            return found;
        }
        let (mut scopes, _) = Scopes::new(module);
        for function in module.functions() {
            let Some(body) = &function.body else { continue };
            scopes.enter_function(function);
            found.block(&mut scopes, body, function.name.sym, &declared);
            scopes.leave();
        }
        found
    }

    fn block<'m>(&mut self, scopes: &mut Scopes<'m>, block: &'m Block, function: Sym, declared: &FxHashSet<u32>) {
        for statement in &block.statements {
            scopes.declare(statement);
            match statement {
                Statement::Block(inner) => {
                    scopes.enter_block(inner);
                    self.block(scopes, inner, function, declared);
                    scopes.leave();
                }
                Statement::Instruction(instruction) => {
                    let guard = instruction.guard.map(|guard| guard.pred);
                    let mut visit = |name| self.name(scopes, name, function, declared);
                    guard.into_iter().for_each(&mut visit);
                    mentions::of_instruction(instruction, &mut visit);
                }
                _ => {}
            }
        }
    }

    fn name(&mut self, scopes: &Scopes<'_>, name: Name, function: Sym, declared: &FxHashSet<u32>) {
        let Some(binding) = scopes.lookup(name.sym) else { return };
        let kind = match binding {
            Binding::Function(callee) => {
                self.calls.entry(function).or_default().push(callee.name);
                return;
            }
            Binding::Register(register) => (Kind::Register(register.ty, register.vector), ALIGN),
            Binding::Variable(variable) => {
                let element = variable.ty.bytes() * variable.vector.map_or(1, |vector| vector.len() as u32);
                (Kind::Memory(element), variable.size().unwrap_or(0))
            }
            _ => return,
        };
        if binding.declared().is_some_and(|place| declared.contains(&place.span.start)) {
            self.mentions.insert(name.span.start, name.sym);
            self.kinds.insert(name.sym, kind);
            self.uses.entry(function).or_default().insert(name.sym);
        }
    }
}

impl Shared {
    fn of(module: &mut Module) -> Option<Shared> {
        let found = Found::of(module);
        let mut needs: FxHashMap<Sym, FxHashSet<Sym>> = FxHashMap::default();
        let kernels: FxHashSet<Sym> = module.functions().filter(|f| f.is_entry).map(|f| f.name.sym).collect();
        let functions: Vec<Sym> = module.functions().map(|function| function.name.sym).collect();
        // The check leaves no function that calls itself.
        for function in callees_first(&functions, &found.calls).ok()? {
            // What a callee needs its caller needs; what a kernel alone mentions nobody shares.
            let uses = found.uses.get(&function).filter(|_| !kernels.contains(&function));
            let mut own = uses.cloned().unwrap_or_default();
            let callees = found.calls.get(&function).into_iter().flatten();
            callees.filter_map(|callee| needs.get(&callee.sym)).for_each(|callee| own.extend(callee));
            needs.insert(function, own);
        }
        let mut all: Vec<Sym> = needs.values().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        if all.is_empty() {
            return None;
        }
        // A kernel has what it mentions where functions see it.
        for kernel in kernels {
            let uses = found.uses.get(&kernel).into_iter().flatten();
            let shared = uses.filter(|sym| all.binary_search(sym).is_ok()).copied();
            needs.entry(kernel).or_default().extend(shared);
        }
        let mut size = 0;
        let mut own = FxHashMap::default();
        for sym in all {
            let (kind, bytes) = found.kinds[&sym];
            let text = module.symbols.text(sym).to_owned();
            let name = fresh(&mut module.symbols, &text);
            own.insert(sym, Own { name, kind, place: size as i64 });
            size += bytes.next_multiple_of(ALIGN);
        }
        let [memory, at, word] = ["memory", "at", "word"].map(|stem| fresh(&mut module.symbols, stem));
        let sorted = |set: FxHashSet<Sym>| {
            let mut list: Vec<Sym> = set.into_iter().collect();
            list.sort_unstable();
            list
        };
        let needs = needs.into_iter().filter(|(_, set)| !set.is_empty()).map(|(sym, set)| (sym, sorted(set))).collect();
        Some(Shared { mentions: found.mentions, own, needs, size, memory, at, word })
    }

    fn owns<'a>(&'a self, needs: &'a [Sym]) -> impl Iterator<Item = &'a Own> {
        needs.iter().map(|sym| &self.own[sym])
    }

    /// Gives a function what it needs.
    fn pass(&self, function: &mut Function, needs: &[Sym]) {
        if !function.is_entry {
            function.params.push(variable(self.at, Space::Reg, ScalarType::U64));
        }
        let Some(body) = &mut function.body else { return };
        let mut statements = vec![register(self.word, ScalarType::U32, None)];
        if function.is_entry {
            let mut memory = variable(self.memory, Space::Local, ScalarType::B8);
            (memory.align, memory.dims) = (Some(ALIGN as u32), vec![Some(self.size)]);
            statements.push(Statement::Variable(Box::new(memory)));
            statements.push(register(self.at, ScalarType::U64, None));
            let operands = [Operand::Name(self.at), Operand::Name(self.memory)];
            statements.push(plain(Opcode::Mov, &[ScalarType::U64], operands));
        }
        for own in self.owns(needs) {
            match own.kind {
                Kind::Register(ty, vector) => statements.push(register(own.name, ty, vector)),
                Kind::Memory(_) => {
                    statements.push(register(own.name, ScalarType::U64, None));
                    let operands = [Operand::Name(own.name), Operand::Name(self.at), constant(own.place)];
                    statements.push(plain(Opcode::Add, &[ScalarType::U64], operands));
                }
            }
        }
        let returns = if function.is_entry { &[][..] } else { needs };
        self.transfer(returns, load, &mut statements);
        self.block(body, returns);
        let span = body.span;
        statements.push(Statement::Block(std::mem::take(body)));
        self.transfer(returns, store, &mut statements);
        *body = Block { statements, span };
    }

    /// Loads or stores registers.
    fn transfer(&self, needs: &[Sym], how: fn(&Own, Name, Name, &mut Vec<Statement>), out: &mut Vec<Statement>) {
        self.owns(needs).for_each(|own| how(own, self.at, self.word, out));
    }

    /// Says the names of a body anew; `returns` is what is stored before it returns.
    fn block(&self, block: &mut Block, returns: &[Sym]) {
        let mut statements = Vec::with_capacity(block.statements.len());
        for mut statement in std::mem::take(&mut block.statements) {
            match &mut statement {
                Statement::Block(inner) => self.block(inner, returns),
                Statement::Instruction(instruction) => {
                    let callee = instruction.call().and_then(|call| call.callee.name());
                    let passed = callee.and_then(|name| self.needs.get(&name.sym)).map_or(&[][..], Vec::as_slice);
                    if !passed.is_empty() {
                        add_argument(instruction, self.at);
                    }
                    let behind = self.rename(instruction);
                    let before = if instruction.opcode == Opcode::Ret { returns } else { passed };
                    self.transfer(before, store, &mut statements);
                    statements.push(statement);
                    self.transfer(passed, load, &mut statements);
                    statements.extend(behind);
                    continue;
                }
                _ => {}
            }
            statements.push(statement);
        }
        block.statements = statements;
    }

    /// Says the names of an instruction anew. What is to stand behind it comes back.
    fn rename(&self, instruction: &mut Instruction) -> Option<Statement> {
        let offset = self.move_address(instruction);
        if let Some(guard) = &mut instruction.guard {
            self.name(&mut guard.pred);
        }
        instruction.operands.iter_mut().for_each(|operand| self.operand(operand));
        let (offset, ty) = offset?;
        let result = instruction.operands.first()?;
        let mut sum = plain(Opcode::Add, &[ty], [result.clone(), result.clone(), constant(offset)]);
        if let Statement::Instruction(sum) = &mut sum {
            sum.guard = instruction.guard;
        }
        Some(sum)
    }

    /// The address of memory as a value: `mov` has no sums of registers, and is no conversion. What is to be added comes
    /// back, with its type.
    fn move_address(&self, instruction: &mut Instruction) -> Option<(i64, ScalarType)> {
        let operand = instruction.operands.get_mut(1).filter(|_| instruction.opcode == Opcode::Mov)?;
        let (Operand::Name(name) | Operand::Offset { name, .. }) = *operand else { return None };
        let Kind::Memory(size) = self.meant(name)?.kind else { return None };
        let offset = match *operand {
            Operand::Offset { offset, element: true, .. } => offset.saturating_mul(size.into()),
            Operand::Offset { offset, .. } => offset,
            _ => 0,
        };
        *operand = Operand::Name(name);
        let is_narrow = instruction.last_type()?.bits() == 32;
        if is_narrow {
            instruction.opcode = Opcode::Cvt;
            instruction.modifiers = [ScalarType::U32, ScalarType::U64].map(Modifier::Type).into_iter().collect();
        }
        let ty = if is_narrow { ScalarType::U32 } else { ScalarType::U64 };
        Some((offset, ty)).filter(|_| offset != 0)
    }

    fn meant(&self, name: Name) -> Option<&Own> {
        self.own.get(self.mentions.get(&name.span.start)?)
    }

    fn name(&self, name: &mut Name) {
        if let Some(own) = self.meant(*name) {
            name.sym = own.name.sym;
        }
    }

    fn operand(&self, operand: &mut Operand) {
        match operand {
            Operand::Name(name) | Operand::Offset { name, .. } | Operand::Part(name, _) => self.name(name),
            Operand::Not(inner, _) | Operand::Neg(inner, _) => self.operand(inner),
            Operand::Vector(items, _) | Operand::List(items, _) => items.iter_mut().for_each(|item| self.operand(item)),
            Operand::Pair(pair) => pair.iter_mut().for_each(|item| self.operand(item)),
            Operand::Address(address) => {
                match &mut address.base {
                    AddressBase::Name(name) | AddressBase::Element(name, _) => self.name(name),
                    // The check leaves no index in a register where the array is shared.
                    AddressBase::Item(array, index) => {
                        index.iter_mut().for_each(|index| self.name(index));
                        if let Some(Own { name, kind: Kind::Memory(size), .. }) = self.meant(*array) {
                            address.offset = address.offset.saturating_mul(i64::from(*size));
                            address.base = AddressBase::Name(*name);
                        }
                    }
                    AddressBase::Absolute => {}
                }
                address.rest.iter_mut().for_each(|item| self.operand(item));
            }
            Operand::Special { .. } | Operand::Imm(..) | Operand::Sink(_) => {}
        }
    }
}

/// Adds an argument to a call.
fn add_argument(call: &mut Instruction, name: Name) {
    let callee = usize::from(matches!(call.operands.first(), Some(Operand::List(..))));
    match call.operands.get_mut(callee + 1) {
        Some(Operand::List(items, _)) => {
            let mut list = std::mem::take(items).into_vec();
            list.push(Operand::Name(name));
            *items = list.into();
        }
        _ => call.operands.insert(callee + 1, Operand::List(Box::new([Operand::Name(name)]), call.span)),
    }
}

/// A name that the module does not have, made of one.
fn fresh(symbols: &mut SymbolTable, stem: &str) -> Name {
    let mut text = format!("{stem}$shared");
    while symbols.get(&text).is_some() {
        text.push('$');
    }
    Name { sym: symbols.intern(&text), span: Span::default() }
}
