//! Slot 49: what was computed before, and still holds, is not computed again.

use super::{Cx, Rewrite};
use oriole_isa::{Effects, Opcode};
use oriole_ori::{BuildError, Function, Inst, InstFlags, InstId, Operand, VReg};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// What an instruction computes from, by which equal ones are found: opcode, modifiers and sources. `known_as` names the values
/// that it reads.
pub(crate) fn key(func: &Function, inst: &Inst, known_as: impl Fn(VReg) -> VReg) -> u64 {
    let mut hasher = FxHasher::default();
    inst.opcode.hash(&mut hasher);
    inst.settings().for_each(|setting| setting.hash(&mut hasher));
    for operand in own_uses(inst) {
        match (operand.as_tuple(), operand.as_reg()) {
            (Some(tuple), _) => {
                operand.flags_onto(Operand::rz()).hash(&mut hasher);
                func.tuple_values(tuple).iter().for_each(|value| known_as(*value).hash(&mut hasher));
            }
            (_, Some(value)) => operand.with_reg(known_as(value)).hash(&mut hasher),
            _ => operand.hash(&mut hasher),
        }
    }
    hasher.finish()
}

/// The sources, without old values that stay where nothing is written.
fn own_uses(inst: &Inst) -> impl Iterator<Item = Operand> + '_ {
    let own = inst.opcode.signature().len();
    inst.uses().filter(move |(at, _)| *at < own).map(|(_, operand)| operand)
}

/// Whether two instructions compute the same, if `known_as` names what the second reads.
pub(crate) fn equal(func: &Function, a: &Inst, b: &Inst, known_as: impl Fn(VReg) -> VReg) -> bool {
    let same = |(a, b): (Operand, Operand)| match (a.as_tuple(), b.as_tuple(), b.as_reg()) {
        (Some(x), Some(y), _) => {
            let values = func.tuple_values(y).iter().map(|value| known_as(*value));
            a.flags_onto(Operand::rz()) == b.flags_onto(Operand::rz())
                && func.tuple_values(x).iter().copied().eq(values)
        }
        (None, None, Some(value)) => a == b.with_reg(known_as(value)),
        _ => a == b,
    };
    a.opcode == b.opcode && a.settings().eq(b.settings()) && own_uses(a).zip(own_uses(b)).all(same)
}

/// Copies of an earlier instruction's results in place of an equal instruction.
pub(super) fn expression(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    if !is_shared(cx, inst) {
        return Ok(None);
    }
    let key = key(cx.func, inst, |value| value);
    let first = cx.common.get(&key).filter(|first| equal(cx.func, &cx.func[**first], inst, |value| value));
    let rewrite = first.and_then(|first| copies(cx, *first, inst));
    if rewrite.is_none() && inst.guard().is_none() {
        cx.common.insert(key, cx.current);
    }
    Ok(rewrite)
}

/// Whether equal instructions of an opcode may give equal results, wherever they stand. Moves are as cheap as copies;
/// LEPC gives the address of where it stands.
pub(crate) fn may_be_shared(opcode: Opcode) -> bool {
    let effects = opcode.info().effects;
    let elsewhere = matches!(opcode, Opcode::MOV | Opcode::LEPC);
    let reads_special = matches!(opcode, Opcode::S2R | Opcode::CS2R);
    !elsewhere && (effects == Effects::NONE || effects == Effects::READS_MEMORY || reads_special)
}

/// Whether an instruction of such an opcode always gives the same.
fn is_shared(cx: &Cx<'_>, inst: &Inst) -> bool {
    let effects = inst.opcode.info().effects;
    let invariant = inst.flags.contains(InstFlags::INVARIANT) && effects == Effects::READS_MEMORY;
    effects == Effects::NONE || invariant || inst.reads_constant_register(cx.arch)
}

/// `inst`'s results as copies of those of the equal instruction `first`, if all of them still hold.
fn copies(cx: &Cx<'_>, first: InstId, inst: &Inst) -> Option<Rewrite> {
    let earlier = &cx.func[first];
    let stable = earlier.uses().all(|(_, operand)| cx.is_stable(operand));
    if !stable || earlier.call.is_some() || !cx.defs.reaches(cx.func, first) {
        return None;
    }
    let mut rewrite = Rewrite::new();
    for (at, to) in inst.defs() {
        let from = earlier.operands[at];
        let (to, from) = (cx.func.named(to), cx.func.named(from));
        if to.is_empty() {
            continue;
        }
        if to.len() != from.len() || to.iter().chain(&from).any(|reg| !cx.func.is_value(*reg)) {
            return None;
        }
        let file = |reg: VReg| cx.func[reg].file();
        rewrite.extend(to.into_iter().zip(from).map(|(to, from)| Inst::copy(file(to), to.into(), from.into())));
    }
    (!rewrite.is_empty()).then_some(rewrite)
}
