//! Which atomic operations of a warp become one, and how.

use crate::passes::general::source;
use oriole_isa::{Arch, AtomOp, AtomType, Field, Opcode, Redux, Role};
use oriole_ori::analysis::Uniformity;
use oriole_ori::{Function, InstId, Operand};

/// How the values of a warp's threads become one.
#[derive(Clone, Copy)]
pub(super) enum Plan {
    /// They are the same, and that is the result.
    Same,
    /// They are the same; the result is their sum.
    Times,
    /// By `REDUX`.
    Reduce(Redux),
    /// By shuffles, among all threads of the warp.
    Exchange(Redux),
    /// As sums up to each thread, by shuffles, among all threads of the warp.
    Scan,
}

/// How the atomic operations of a warp become one, if they do.
pub(super) fn plan(func: &Function, arch: Arch, uniformity: &Uniformity, id: InstId) -> Option<Plan> {
    let inst = &func[id];
    if inst.call.is_some() {
        return None;
    }
    let is_same = |operand: Operand| !func.named(operand).into_iter().any(|value| uniformity.is_varying(value));
    let address = [Role::Base, Role::UBase, Role::Desc].into_iter().filter_map(|role| source(inst, role));
    if !address.into_iter().all(is_same) {
        return None;
    }
    let data = source(inst, Role::Data)?;
    let narrow = match inst.get(Field::ATOM_TYPE) {
        AtomType::U32 | AtomType::S32 => true,
        AtomType::U64 | AtomType::S64 => false,
        _ => return None,
    };
    let words = if narrow { 1 } else { 2 };
    if func.named(data).len() != words {
        return None;
    }
    let op = inst.get(Field::ATOM_OP);
    let mut results = inst.defs().filter(|(_, operand)| operand.names_registers());
    if let Some((at, result)) = results.next() {
        // No more than the old value, in values.
        let values = func.named(result);
        let is_old = inst.position(Role::D) == Some(at) && values.len() == words;
        if op != AtomOp::ADD || !is_old || results.next().is_some() || !values.iter().all(|v| func.is_value(*v)) {
            return None;
        }
        return if is_same(data) { Some(Plan::Times) } else { narrow.then_some(Plan::Scan) };
    }
    let has_redux = Opcode::REDUX.exists_on(arch);
    let reduce = |op| narrow.then_some(if has_redux { Plan::Reduce(op) } else { Plan::Exchange(op) });
    match (op, is_same(data)) {
        (AtomOp::ADD, true) => Some(Plan::Times),
        (AtomOp::MIN | AtomOp::MAX | AtomOp::AND | AtomOp::OR, true) => Some(Plan::Same),
        (AtomOp::ADD, false) => reduce(Redux::SUM),
        (AtomOp::MIN, false) => reduce(Redux::MIN),
        (AtomOp::MAX, false) => reduce(Redux::MAX),
        (AtomOp::AND, false) => reduce(Redux::AND),
        (AtomOp::OR, false) => reduce(Redux::OR),
        (AtomOp::XOR, _) => reduce(Redux::XOR),
        _ => None,
    }
}
