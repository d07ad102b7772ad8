//! Arguments that nobody reads, results that nobody takes.

use super::{copied, direct_calls, word_of, words};
use crate::Changed;
use oriole_ori::analysis::CallNode;
use oriole_ori::{
    Block, Callee, EntitySet, FuncId, Function, FunctionKind, InstId, Module, Operand, PrimaryMap, SecondaryMap,
    Symbol, SymbolData, SymbolKind,
};
use rustc_hash::FxHashSet;

/// Numbers of general registers.
type Words = FxHashSet<u16>;

/// By function that is called directly alone: the registers that it may read of what it is given, and those of its results that some call
/// reads.
pub(super) struct Unread {
    known: SecondaryMap<FuncId, Option<Interface>>,
}

#[derive(Clone, Debug, Default)]
struct Interface {
    read: Words,
    taken: Words,
}

impl Unread {
    /// Looks at all functions and calls.
    pub(super) fn new(module: &Module, order: &[CallNode]) -> Unread {
        let mut known: SecondaryMap<FuncId, Option<Interface>> = SecondaryMap::new();
        for node in order.iter().filter(|node| !node.by_convention) {
            let func = &module.functions[node.function];
            if func.kind() != FunctionKind::Entry {
                known[node.function] = Some(Interface { read: read_on_entry(func), taken: Words::default() });
            }
        }
        for func in module.functions.values() {
            for (block, inst, callee) in direct_calls(func) {
                let of = module.function_of(callee).and_then(|id| known[id].as_mut());
                of.into_iter().for_each(|interface| interface.taken.extend(taken_behind(func, block, inst)));
            }
        }
        Unread { known }
    }

    /// Takes what nobody reads from the calls and returns of a function.
    pub(super) fn leave_out(
        &self,
        id: FuncId,
        func: &mut Function,
        symbols: &PrimaryMap<Symbol, SymbolData>,
    ) -> Changed {
        let mut changed = Changed::No;
        for (block, inst, callee) in direct_calls(func).collect::<Vec<_>>() {
            let SymbolKind::Function(callee) = symbols[callee].kind else { continue };
            if let Some(Interface { read, taken }) = &self.known[callee] {
                changed = changed.or(keep_arguments(func, block, inst, read));
                changed = changed.or(keep_results(func, inst, taken));
            }
        }
        if let Some(Interface { taken, .. }) = &self.known[id] {
            for (block, inst) in func.iter_insts().collect::<Vec<_>>() {
                let callee = func[inst].call.expand().map(|site| func[site].callee);
                if callee == Some(Callee::Return) {
                    changed = changed.or(keep_arguments(func, block, inst, taken));
                }
            }
        }
        changed
    }
}

/// General registers that a function may read as they were at its entry: those with a reader that has no writer before it in its block.
fn read_on_entry(func: &Function) -> Words {
    let mut read = Words::default();
    for block in func.layout() {
        let mut written = Words::default();
        for &inst in func.block_insts(*block) {
            func.for_each_use(inst, |at| read.extend(words(func, &at).filter(|word| !written.contains(word))));
            func.for_each_def(inst, |at| written.extend(words(func, &at)));
        }
    }
    read
}

/// The registers of a call's results that are read where it returns to, before they are written again.
fn taken_behind(func: &Function, block: Block, call: InstId) -> Words {
    let (mut open, mut taken) = (Words::default(), Words::default());
    func.for_each_def(call, |at| open.extend(words(func, &at)));
    let behind = func.block_insts(block).iter().skip_while(|inst| **inst != call).skip(1);
    for &inst in behind.chain(func.succs(block).iter().flat_map(|succ| func.block_insts(*succ))) {
        func.for_each_use(inst, |at| taken.extend(words(func, &at).filter(|word| open.contains(word))));
        if func[inst].call.is_some() {
            return taken;
        }
        func.for_each_def(inst, |at| {
            for word in words(func, &at) {
                open.remove(&word);
            }
        });
    }
    taken
}

/// Takes the results away from a call that are not among these.
fn keep_results(func: &mut Function, call: InstId, kept: &Words) -> Changed {
    let Some(site) = func[call].call.expand() else { return Changed::No };
    let is_kept = |result: &Operand| word_of(func, *result).is_none_or(|word| kept.contains(&word));
    let results: Vec<Operand> = func[site].results.iter().copied().filter(is_kept).collect();
    if results.len() == func[site].results.len() {
        return Changed::No;
    }
    func.edit().update_call(call, |site| site.results = results);
    Changed::Yes
}

/// Takes the arguments away from a call or return that are not among these, with the copies right before it that bring them.
fn keep_arguments(func: &mut Function, block: Block, inst: InstId, kept: &Words) -> Changed {
    let Some(site) = func[inst].call.expand() else { return Changed::No };
    let is_unread = |operand: &Operand| word_of(func, *operand).is_some_and(|word| !kept.contains(&word));
    let (unread, args): (Vec<Operand>, Vec<Operand>) = func[site].args.iter().partition(|operand| is_unread(operand));
    let mut unread: Words = unread.into_iter().filter_map(|operand| word_of(func, operand)).collect();
    if unread.is_empty() {
        return Changed::No;
    }
    let mut copies: EntitySet<InstId> = EntitySet::new();
    let before = func.block_insts(block).iter().rev().skip_while(|other| **other != inst).skip(1);
    for &other in before.take_while(|other| func[**other].call.is_none()) {
        let word = func[other].defs().find_map(|(_, to)| word_of(func, to));
        if copied(&func[other]).is_some() && word.is_some_and(|word| unread.remove(&word)) {
            copies.insert(other);
        }
    }
    func.edit().update_call(inst, |site| site.args = args);
    func.edit().retain_insts(block, |_, inst| !copies.contains(inst));
    Changed::Yes
}
