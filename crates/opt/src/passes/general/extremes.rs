//! The greatest and the smallest of three, and of a sum and another number.

use super::sums::orders;
use super::wide::plain_summands;
use super::{Cx, Rewrite, build, source};
use crate::passes::induction::gives_no_predicate;
use oriole_isa::{Field, FieldId, Opcode, Role, Vtype};
use oriole_ori::{BuildError, Inst, Operand};
use smallvec::smallvec;

/// The instructions with two operands.
pub(super) const OF_TWO: [Opcode; 2] = [Opcode::VIMNMX, Opcode::FMNMX];

/// The greater or the smaller of `x + y` and `z` in one VIADDMNMX (sm_90, sm_100), where nobody else needs the sum, which wraps.
pub(super) fn of_sum(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    if inst.get(Field::RELU) || !matches!(inst.get(Field::VTYPE), Vtype::S32 | Vtype::U32) {
        return Ok(None);
    }
    Ok(orders(&operands(inst)).find_map(|(sum, z)| {
        let summands = plain_summands(cx.only_use(sum, Opcode::IADD3)?)?;
        orders(&summands).find_map(|(x, y)| {
            if x.has_flags() || !cx.is_stable(x) || !cx.is_stable(y) {
                return None;
            }
            joined(cx, inst, Opcode::VIADDMNMX, [x, y, z])
        })
    }))
}

/// The greatest or the smallest of three in one FMNMX3 or VIMNMX3, where the target has it and nobody else needs that of two.
pub(super) fn of_three(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let opcode = if inst.opcode == Opcode::FMNMX { Opcode::FMNMX3 } else { Opcode::VIMNMX3 };
    Ok(orders(&operands(inst)).find_map(|(first, z)| {
        let of_two = cx.only_use(first, inst.opcode)?;
        let [x, y] = operands(of_two);
        let alike = of_two.mods == inst.mods && source(of_two, Role::PA) == source(inst, Role::PA);
        let alone = gives_no_predicate(of_two) && cx.is_stable(x) && cx.is_stable(y);
        joined(cx, inst, opcode, [x, y, z]).filter(|_| alike && alone)
    }))
}

fn operands(inst: &Inst) -> [Operand; 2] {
    [Role::A, Role::B].map(|role| source(inst, role).unwrap_or(Operand::NONE))
}

/// An instruction of three operands in the place of one of two, with what that says besides.
fn joined(cx: &Cx<'_>, inst: &Inst, opcode: Opcode, [a, b, c]: [Operand; 3]) -> Option<Rewrite> {
    const KEPT: [FieldId; 3] = [Field::VTYPE.id(), Field::FTZ.id(), Field::NAN.id()];
    let roles = [
        (Role::D, source(inst, Role::D)?),
        (Role::A, a),
        (Role::B, b),
        (Role::C, c),
        (Role::PA, source(inst, Role::PA)?),
    ];
    let known = inst.settings().all(|setting| KEPT.contains(&setting.field()) || setting.code() == 0);
    let mods = inst.settings().filter(|setting| KEPT.contains(&setting.field())).collect();
    let new = build(opcode, mods, &roles);
    cx.legal_form(new).filter(|_| known && gives_no_predicate(inst)).map(|form| smallvec![form])
}
