//! Slot 49: what was computed before, and still holds, is not computed again.

use super::facts::component;
use super::{Cx, Rewrite, mov, mov_pred};
use oriole_isa::{Effects, Mods, Opcode, special_registers};
use oriole_ori::{BuildError, Inst, InstFlags, InstId, Operand, OperandKind};
use smallvec::SmallVec;

/// An instruction without its results: opcode, modifiers, sources.
pub(super) type Key = (Opcode, Mods, SmallVec<[Operand; 6]>);

/// Special registers that do not change while a thread runs.
const CONSTANT_REGISTERS: [&str; 7] =
    ["SR_TID.X", "SR_TID.Y", "SR_TID.Z", "SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z", "SR_LANEID"];

/// Copies of an earlier instruction's results in place of an equal instruction.
pub(super) fn expression(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    if !may_be_shared(cx, inst) {
        return Ok(None);
    }
    let key: Key = (inst.opcode, inst.mods.clone(), inst.uses().map(|(_, operand)| operand).collect());
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
        CONSTANT_REGISTERS.iter().filter_map(|name| special_registers::by_name(name, cx.arch)).any(|register| {
            inst.opcode == Opcode::S2R && inst.operands.get(1) == Some(&Operand::special(register.number))
        })
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
    let sources_hold = earlier.uses().all(|(_, operand)| cx.holds(operand, first));
    if !sources_hold || earlier.call.is_some() {
        return None;
    }
    let mut rewrite = Rewrite::new();
    for (at, to) in inst.defs() {
        let from = earlier.operands[at];
        let (OperandKind::Reg(reg, piece), OperandKind::Reg(source, source_piece)) = (to.kind(), from.kind()) else {
            if to.as_reg().is_some() {
                return None;
            }
            continue;
        };
        let range = piece.range(cx.func.vregs[reg].components);
        let from_range = source_piece.range(cx.func.vregs[source].components);
        if !from_range.clone().all(|k| cx.facts.def(cx.func, (source, k)) == Some(first)) {
            return None;
        }
        if cx.func.vregs[reg].reg_type.is_predicate() {
            rewrite.push(mov_pred(to, from));
        } else if component(cx.func, to).is_some() {
            rewrite.push(mov(to, from));
        } else {
            rewrite.extend(range.zip(from_range).map(|(k, s)| mov(Operand::comp(reg, k), Operand::comp(source, s))));
        }
    }
    (!rewrite.is_empty()).then_some(rewrite)
}
