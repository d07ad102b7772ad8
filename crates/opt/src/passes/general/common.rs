//! Slot 49: what was computed before, and still holds, is not computed again.

use super::{Cx, Rewrite};
use oriole_isa::{Effects, Mods, Opcode, special_registers};
use oriole_ori::{BuildError, Inst, InstFlags, InstId, Operand, OperandKind, VReg};
use smallvec::SmallVec;

/// An instruction without its results: opcode, modifiers, sources.
pub(super) type Key = (Opcode, Mods, SmallVec<[Source; 6]>);

/// A source: an operand that is no tuple, or a tuple's flags and values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    One(Operand),
    Wide(Operand, SmallVec<[VReg; 4]>),
}

fn sources(cx: &Cx<'_>, inst: &Inst) -> SmallVec<[Source; 6]> {
    let own = inst.opcode.signature().len();
    let uses = inst.uses().filter(|(at, _)| *at < own).map(|(_, operand)| operand);
    uses.map(|operand| match operand.kind() {
        OperandKind::Tuple(_) => Source::Wide(operand.flags_onto(Operand::rz()), cx.func.named(operand)),
        _ => Source::One(operand),
    })
    .collect()
}

/// Special registers that do not change while a thread runs.
const CONSTANT_REGISTERS: [&str; 7] =
    ["SR_TID.X", "SR_TID.Y", "SR_TID.Z", "SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z", "SR_LANEID"];

/// Copies of an earlier instruction's results in place of an equal instruction.
pub(super) fn expression(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    if !may_be_shared(cx, inst) {
        return Ok(None);
    }
    let key: Key = (inst.opcode, inst.mods.clone(), sources(cx, inst));
    let rewrite = cx.common.get(&key).and_then(|first| copies(cx, *first, inst));
    if rewrite.is_none() && inst.guard().is_none() {
        cx.common.insert(key, cx.current);
    }
    Ok(rewrite)
}

/// Whether equal sources always give equal results, wherever the instruction stands. Moves are as cheap as copies.
fn may_be_shared(cx: &Cx<'_>, inst: &Inst) -> bool {
    let effects = inst.opcode.info().effects;
    let constant_register = || {
        let registers = CONSTANT_REGISTERS.iter().filter(|_| inst.opcode == Opcode::S2R);
        let mut registers = registers.filter_map(|name| special_registers::by_name(name, cx.arch));
        registers.any(|register| inst.operands.get(1) == Some(&Operand::special(register.number)))
    };
    let invariant = inst.flags.contains(InstFlags::INVARIANT) && effects == Effects::READS_MEMORY;
    // LEPC gives the address of where it stands.
    let elsewhere = matches!(inst.opcode, Opcode::MOV | Opcode::LEPC);
    let plain = !elsewhere && !inst.flags.contains(InstFlags::VOLATILE);
    plain && (effects == Effects::NONE || invariant || constant_register())
}

/// `inst`'s results as copies of those of the equal instruction `first`, if all of them still hold.
fn copies(cx: &Cx<'_>, first: InstId, inst: &Inst) -> Option<Rewrite> {
    let earlier = &cx.func.insts[first];
    let stable = earlier.uses().all(|(_, operand)| cx.is_stable(operand));
    if !stable || earlier.call.is_some() || !cx.defs.reaches(first) {
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
        let file = |reg: VReg| cx.func.vregs[reg].file();
        rewrite.extend(to.into_iter().zip(from).map(|(to, from)| Inst::copy(file(to), to.into(), from.into())));
    }
    (!rewrite.is_empty()).then_some(rewrite)
}
