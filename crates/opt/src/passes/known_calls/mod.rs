//! Slot 47: what calls say of the functions that they go to, over all functions of the module, callers first.
//!
//! * A call by an address that is a constant goes to that function.
//! * An argument register that all calls of a function give one constant is that constant in it. A parameter that is passed on counts
//!   as what it is then, so that constants go through several functions.
//! * A parameter that a function does not read is not passed, a result that no call reads not handed over.
//!
//! Only calls that the module has can tell: a function whose address is taken, that calls itself by way of others, or that
//! other files see keeps its parameters.

mod unread;

use crate::pipeline::{Done, ModuleContext};
use crate::{Changed, PhaseError};
use oriole_isa::{Opcode, RegFile, Role};
use oriole_ori::analysis::CallNode;
use oriole_ori::{
    Block, Callee, FuncId, Function, FunctionKind, Inst, InstId, Module, Operand, OperandKind, RegRef, SecondaryMap,
    Symbol, VReg,
};
use rustc_hash::FxHashMap;

/// Bank with the offsets of the functions whose addresses are taken.
const FUNCTION_BANK: u8 = 2;
/// Bytes of an offset there; the first are of no function.
const FUNCTION_BYTES: u32 = 8;

/// What the calls so far give a function, by the number of the register; `None` where they differ or are not known.
type Given = FxHashMap<u16, Option<u32>>;

/// Runs it.
pub(crate) fn run(module: &mut Module, context: &ModuleContext<'_>) -> Result<Vec<Done>, PhaseError> {
    if context.relocatable || module.functions.values().all(|func| func.kind() == FunctionKind::Entry) {
        return Ok(Vec::new());
    }
    let mut given: SecondaryMap<FuncId, Option<Given>> = SecondaryMap::new();
    let mut changes: SecondaryMap<FuncId, Changed> = SecondaryMap::with_default(Changed::No);
    for node in context.order.iter().rev() {
        let func = &mut module.functions[node.function];
        func.edit().keep_def_use();
        let mut changed = go_directly(func, &module.function_table);
        if let Some(constants) = given[node.function].take().filter(|_| !node.by_convention) {
            changed = changed.or(take_constants(func, &constants));
        }
        changes[node.function] = changed;
        let func = &module.functions[node.function];
        for (block, call, callee) in direct_calls(func) {
            let Some(callee) = module.function_of(callee) else { continue };
            join(&mut given[callee], given_by(func, block, call));
        }
    }
    let unread = unread::Unread::new(module, context.order);
    for (id, func) in &mut module.functions {
        changes[id] = changes[id].or(unread.leave_out(id, func, &module.symbols));
    }
    let done = |node: &CallNode| Done { function: node.function, changed: changes[node.function], uniformity: None };
    Ok(context.order.iter().map(done).collect())
}

/// One more call of a function.
fn join(known: &mut Option<Given>, own: Given) {
    let Some(known) = known else {
        *known = Some(own);
        return;
    };
    for (register, value) in known {
        *value = value.filter(|value| own.get(register) == Some(&Some(*value)));
    }
}

// ---- calls ----

/// The direct calls of a function.
fn direct_calls(func: &Function) -> impl Iterator<Item = (Block, InstId, Symbol)> {
    func.iter_insts().filter_map(|(block, inst)| match func[func[inst].call.expand()?].callee {
        Callee::Direct(symbol) => Some((block, inst, symbol)),
        Callee::Indirect | Callee::Return => None,
    })
}

/// What a call gives.
fn given_by(func: &Function, block: Block, call: InstId) -> Given {
    let args = func[call].call.expand().map(|site| &func[site].args[..]).unwrap_or_default();
    let words = args.iter().filter_map(|arg| word_of(func, *arg));
    words.map(|word| (word, constant_at(func, block, call, word))).collect()
}

/// The numbers of the fixed general registers that a mention names.
fn words(func: &Function, at: &RegRef) -> impl Iterator<Item = u16> + use<> {
    let data = &func[at.reg];
    let first = data.physical.filter(|_| data.file() == RegFile::R);
    let range = at.range.clone();
    first.into_iter().flat_map(move |first| range.clone().map(move |at| first + u16::from(at)))
}

/// The number of the single general register that an operand names.
fn word_of(func: &Function, operand: Operand) -> Option<u16> {
    func.physical(operand).filter(|(file, _, count)| *file == RegFile::R && *count == 1).map(|(_, number, _)| number)
}

/// The constant in a register at a call, where the block has put one there.
fn constant_at(func: &Function, block: Block, call: InstId, register: u16) -> Option<u32> {
    let before = func.block_insts(block).iter().rev().skip_while(|inst| **inst != call).skip(1);
    for &inst in before {
        if func[inst].call.expand().is_some() {
            return None;
        }
        let mut is_written = false;
        func.for_each_def(inst, |at| is_written |= words(func, &at).any(|word| word == register));
        if is_written {
            return copied(&func[inst]).and_then(|source| constant(func, source));
        }
    }
    None
}

/// What an instruction copies in all threads.
fn copied(inst: &Inst) -> Option<Operand> {
    let is_plain = inst.opcode == Opcode::MOV && inst.guard().is_none();
    inst.opcode.position(Role::B).filter(|_| is_plain).map(|at| inst.operands[at])
}

/// The constant that a source is: a number, RZ, or a value that a copy has made one.
fn constant(func: &Function, source: Operand) -> Option<u32> {
    let number = |source: Operand| source.as_imm().or((source == Operand::rz()).then_some(0));
    number(source).or_else(|| {
        let made = source.as_whole_reg().and_then(|reg| func.definition(reg))?;
        copied(&func[made]).and_then(number)
    })
}

// ---- functions ----

/// Parameters that are constants: copies of their registers where the function begins.
fn take_constants(func: &mut Function, constants: &Given) -> Changed {
    let Some(entry) = func.layout().first().copied() else { return Changed::No };
    let mut copies = Vec::new();
    let mut written: Vec<u16> = Vec::new();
    for &inst in func.block_insts(entry) {
        if func[inst].call.expand().is_some() {
            break;
        }
        let source =
            copied(&func[inst]).and_then(|source| word_of(func, source)).filter(|word| !written.contains(word));
        if let Some(value) = source.and_then(|word| constants.get(&word).copied().flatten()) {
            copies.push((inst, value));
        }
        func.for_each_def(inst, |at| written.extend(words(func, &at)));
    }
    let changed = Changed::when(!copies.is_empty());
    for (inst, value) in copies {
        if let Some(at) = func[inst].opcode.position(Role::B) {
            func.edit().set_operand(inst, at, Operand::imm(value));
        }
    }
    changed
}

/// Calls by an address that is a constant.
fn go_directly(func: &mut Function, table: &[Symbol]) -> Changed {
    let mut found = Vec::new();
    for (_, inst) in func.iter_insts() {
        let Some(site) = func[inst].call.expand() else { continue };
        if func[site].callee == Callee::Indirect
            && let Some(symbol) = target(func, inst, table)
        {
            found.push((inst, symbol));
        }
    }
    let mut changed = Changed::No;
    for (inst, symbol) in found {
        let relative = func.symbol_operand(symbol, 0, oriole_ori::SymbolPart::Relative);
        let (Ok(relative), Some(to), Some(base)) =
            (relative, Opcode::CALL.position(Role::Target), Opcode::CALL.position(Role::Base))
        else {
            continue;
        };
        func.edit().set_operand(inst, to, relative);
        func.edit().set_operand(inst, base, Operand::NONE);
        func.edit().update_call(inst, |site| site.callee = Callee::Direct(symbol));
        changed = Changed::Yes;
    }
    changed
}

/// The function whose offset in the code the call goes to: a word of the function bank at a known place.
fn target(func: &Function, call: InstId, table: &[Symbol]) -> Option<Symbol> {
    let base = func[call].operands[func[call].opcode.position(Role::Base)?];
    let halves = base.as_tuple().and_then(|tuple| <[VReg; 2]>::try_from(func.tuple_values(tuple)).ok());
    let place = placed(base).or_else(|| {
        let [low, high] = halves?.map(|half| func.definition(half));
        let (low, high) = (low?, high?);
        if low == high { loaded_from(func, low) } else { copied_from(func, [low, high]) }
    })?;
    // Number 0 is no function's.
    let number = (place / FUNCTION_BYTES).checked_sub(1).filter(|_| place % FUNCTION_BYTES == 0)?;
    table.get(number as usize).copied()
}

/// Where in the function bank an operand stands.
fn placed(operand: Operand) -> Option<u32> {
    match operand.kind() {
        OperandKind::Const { bank: FUNCTION_BANK, offset } => Some(offset),
        _ => None,
    }
}

/// Where in the function bank two copies have their words from.
fn copied_from(func: &Function, copies: [InstId; 2]) -> Option<u32> {
    let [low, high] = copies.map(|copy| copied(&func[copy]).and_then(placed));
    low.filter(|low| high == Some(low + 4))
}

/// Where in the function bank an instruction loads a pair from.
fn loaded_from(func: &Function, load: InstId) -> Option<u32> {
    let load = &func[load];
    let is_plain = load.opcode == Opcode::LDC && load.guard().is_none();
    let index = load.operands[load.opcode.position(Role::Base).filter(|_| is_plain)?];
    let index = if index == Operand::rz() { 0 } else { constant(func, index)? };
    placed(load.operands[load.opcode.position(Role::Bank)?])?.checked_add(index)
}
