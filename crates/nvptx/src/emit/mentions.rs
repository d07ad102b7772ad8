//! Which function names which variable or function.

use cranelift_entity::SecondaryMap;
use oriole_ptx::ast::{Sym, SymbolTable};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::{self, ConstExpr, ConstId, Constant, SymbolId, SymbolKind};
use crate::machine::{AsmPiece, Base, Function, Inst, Opcode, Operand};

/// Who names a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Mention {
    /// The first function whose body does, by its place among the functions.
    pub(super) first: Option<u32>,
    /// Whether another one does too.
    pub(super) others: bool,
    /// Whether an initial value, an alias or `llvm.used` does.
    pub(super) by_data: bool,
}

/// By symbol: who names it.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    found: FxHashMap<Sym, Mention>,
}

impl Mentions {
    /// Looks through a whole module.
    pub(super) fn of(
        ir: &ir::Module,
        symbols: &SymbolTable,
        names: &SecondaryMap<SymbolId, Option<Sym>>,
        functions: &[(SymbolId, Function)],
    ) -> Mentions {
        let mut scan = Scan { mentions: Mentions::default(), function: 0, symbols };
        for (at, (_, function)) in functions.iter().enumerate() {
            scan.function = at as u32;
            scan.body(function);
        }
        let mut mentions = scan.mentions;
        for (_, symbol) in ir.symbols.iter() {
            let constant = match &symbol.kind {
                SymbolKind::Variable(variable) => variable.init,
                SymbolKind::Alias(alias) => Some(alias.target),
                _ => None,
            };
            let Some(constant) = constant else { continue };
            symbols_of(ir, constant, &mut |id| {
                if let Some(sym) = names[id] {
                    mentions.found.entry(sym).or_default().by_data = true;
                }
            });
        }
        mentions
    }

    /// Who names `sym`.
    pub(super) fn get(&self, sym: Sym) -> Mention {
        self.found.get(&sym).copied().unwrap_or_default()
    }
}

/// Calls `f` with each symbol that a constant refers to.
pub(super) fn symbols_of(ir: &ir::Module, constant: ConstId, f: &mut impl FnMut(SymbolId)) {
    let mut open = vec![constant];
    let mut seen = FxHashSet::default();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        match &ir.constants[id] {
            Constant::Symbol(_, symbol) | Constant::BlockAddress(_, symbol, _) => f(*symbol),
            Constant::Aggregate(_, items) => open.extend(items.iter().copied()),
            Constant::Expr(_, expr) => match &**expr {
                ConstExpr::Gep { base, indices, .. } => {
                    open.push(*base);
                    open.extend(indices.iter().copied());
                }
                ConstExpr::Cast(_, a) => open.push(*a),
                ConstExpr::Binary(_, a, b)
                | ConstExpr::ICmp(_, a, b)
                | ConstExpr::FCmp(_, a, b)
                | ConstExpr::ExtractElement(a, b) => open.extend([*a, *b]),
                ConstExpr::Select(a, b, c) | ConstExpr::InsertElement(a, b, c) => open.extend([*a, *b, *c]),
            },
            _ => {}
        }
    }
}

struct Scan<'a> {
    mentions: Mentions,
    function: u32,
    symbols: &'a SymbolTable,
}

impl Scan<'_> {
    fn mention(&mut self, sym: Sym) {
        let mention = self.mentions.found.entry(sym).or_default();
        match mention.first {
            None => mention.first = Some(self.function),
            Some(first) => mention.others |= first != self.function,
        }
    }

    fn body(&mut self, function: &Function) {
        for &block in &function.layout {
            for inst in &function.blocks[block].insts {
                self.inst(function, inst);
            }
        }
    }

    fn inst(&mut self, function: &Function, inst: &Inst) {
        inst.operands.iter().for_each(|operand| self.operand(operand));
        match inst.opcode {
            Opcode::Call(call) => function.calls[call].callee.into_iter().for_each(|callee| self.mention(callee)),
            Opcode::Asm(asm) => {
                for piece in &function.asms[asm].pieces {
                    if let AsmPiece::Text(text) = piece {
                        self.words(text);
                    }
                }
            }
            Opcode::Copy | Opcode::Form(_) => {}
        }
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Symbol(sym, _) => self.mention(*sym),
            Operand::Address(address) => {
                if let Base::Symbol(sym) = address.base {
                    self.mention(sym);
                }
                address.rest.iter().for_each(|item| self.operand(item));
            }
            Operand::Vector(items) => items.iter().for_each(|item| self.operand(item)),
            Operand::Pair(items) => items.iter().for_each(|item| self.operand(item)),
            _ => {}
        }
    }

    /// The words of inline assembly that are names of the module.
    fn words(&mut self, text: &str) {
        let symbols = self.symbols;
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%')));
        for sym in words.filter(|word| !word.is_empty()).filter_map(|word| symbols.get(word)) {
            self.mention(sym);
        }
    }
}
