//! Which functions of a module leave the uniform registers alone.

use oriole_isa::RegFile;
use oriole_ori::analysis::CallNode;
use oriole_ori::{Callee, EntitySet, FuncId, Function, Inst, InstId, Module, OperandKind, Symbol};

/// The functions that change no uniform register, nor call one that does or of which that is not known. Only kernels are
/// converted (slot 74), so that what a function does not write as it was lowered it never does. `order`: callees first.
pub(crate) fn leaving_uniform(module: &Module, order: &[CallNode]) -> EntitySet<Symbol> {
    let (mut called, mut leaving) = (EntitySet::new(), EntitySet::new());
    for callee in order.iter().flat_map(|node| &node.callees) {
        called.insert(*callee);
    }
    for node in order.iter().filter(|node| called.contains(node.function)) {
        let func = &module.functions[node.function];
        if !node.open && calls_only(module, func, &leaving) && !function_writes_uniform(func) {
            leaving.insert(node.function);
        }
    }
    let mut symbols = EntitySet::new();
    for symbol in module.symbols.keys() {
        if module.function_of(symbol).is_some_and(|function| leaving.contains(function)) {
            symbols.insert(symbol);
        }
    }
    symbols
}

/// Whether a function calls none but these.
fn calls_only(module: &Module, func: &Function, these: &EntitySet<FuncId>) -> bool {
    let callees = func.iter_insts().filter_map(|(_, inst)| func[inst].call.expand()).map(|call| func[call].callee);
    callees.into_iter().all(|callee| match callee {
        Callee::Return => true,
        Callee::Indirect => false,
        Callee::Direct(symbol) => module.function_of(symbol).is_some_and(|function| these.contains(function)),
    })
}

/// Whether a function writes a uniform register or predicate.
fn function_writes_uniform(func: &Function) -> bool {
    func.iter_insts().any(|(_, inst)| {
        let physical = |kind| matches!(kind, OperandKind::Phys { file: RegFile::UR | RegFile::UP, .. });
        writes_uniform(func, inst) || func[inst].defs().any(|(_, to)| physical(to.kind()))
    })
}

/// Whether an instruction writes a uniform register or predicate that is not a fixed one.
pub(crate) fn writes_uniform(func: &Function, inst: InstId) -> bool {
    let mut writes = false;
    func.for_each_def(inst, |mention| writes |= func[mention.reg].reg_type.is_uniform());
    writes
}

/// Whether an instruction calls what may change uniform registers: none of the functions that leave them alone.
pub(crate) fn changes_uniform(func: &Function, inst: &Inst, leaving: &EntitySet<Symbol>) -> bool {
    inst.call.expand().is_some_and(|call| match func[call].callee {
        Callee::Return => false,
        Callee::Indirect => true,
        Callee::Direct(symbol) => !leaving.contains(symbol),
    })
}
