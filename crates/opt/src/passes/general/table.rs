//! Instructions with truth tables of three inputs: LOP3 and PLOP3.

use super::truth::{INPUTS, compose, depends, fixed, inverted, only_input};
use super::{Cx, Rewrite, constant, mov, mov_pred};
use oriole_isa::{Opcode, Role};
use oriole_ori::{BuildError, Function, Inst, Operand, OperandKind};
use smallvec::smallvec;

/// The table with its inputs made canonical: constants are part of the table, and equal inputs are one.
/// Inputs that the result does not depend on become `absent`.
fn settle(
    mut table: u8,
    mut inputs: [Operand; 3],
    absent: Operand,
    bit: impl Fn(Operand) -> Option<bool>,
) -> (u8, [Operand; 3]) {
    for (k, input) in inputs.iter_mut().enumerate() {
        if let Some(bit) = bit(*input) {
            table = fixed(table, k, bit);
        }
        if input.is_not() && depends(table, k) {
            table = inverted(table, k);
            *input = input.not();
        }
    }
    for (first, second) in [(0, 1), (0, 2), (1, 2)] {
        if inputs[first] == inputs[second] {
            let mut same = INPUTS;
            same[second] = INPUTS[first];
            table = compose(table, same);
        }
    }
    for (k, input) in inputs.iter_mut().enumerate() {
        if !depends(table, k) {
            *input = absent;
        }
    }
    (table, inputs)
}

fn position(inst: &Inst, role: Role) -> Option<usize> {
    inst.position(role)
}

/// LOP3: constants go into the table; what is a copy or a constant becomes a MOV.
pub(super) fn logic(_: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    Ok(simpler_logic(inst))
}

fn simpler_logic(inst: &Inst) -> Option<Rewrite> {
    if inst.opcode != Opcode::LOP3 {
        return None;
    }
    let at = [position(inst, Role::A)?, position(inst, Role::B)?, position(inst, Role::C)?];
    let [d, pd, lut] = [position(inst, Role::D)?, position(inst, Role::PD)?, position(inst, Role::Lut)?];
    let old = inst.operands[lut].as_imm()? as u8;
    let bit = |operand: Operand| match constant(operand) {
        Some(0) => Some(false),
        Some(u32::MAX) => Some(true),
        _ => None,
    };
    let sources = at.map(|at| inst.operands[at]);
    let (table, inputs) = settle(old, sources, Operand::rz(), bit);
    let plain = inst.operands[pd] == Operand::pt();
    match only_input(table) {
        Some(3) if plain => {
            return Some(smallvec![mov(
                inst.operands[d],
                if table == 0 { Operand::rz() } else { Operand::imm(u32::MAX) }
            )]);
        }
        Some(k) if plain && table == INPUTS.get(k).copied()? => {
            return Some(smallvec![mov(inst.operands[d], inputs[k])]);
        }
        _ => {}
    }
    // Canonical: an input that is no register stands second.
    let mut new = inst.clone();
    new.operands[lut] = Operand::imm(u32::from(table));
    for (at, input) in at.into_iter().zip(inputs) {
        new.operands[at] = input;
    }
    ((table, inputs) != (old, sources)).then(|| smallvec![new])
}

/// The settled table and inputs of a PLOP3 for its destination `PD`.
pub(super) fn predicate_table(func: &Function, inst: &Inst) -> Option<(u8, [Operand; 3])> {
    settled_predicates(func, inst, Role::Lut)
}

fn settled_predicates(func: &Function, inst: &Inst, lut: Role) -> Option<(u8, [Operand; 3])> {
    let lut = position(inst, lut)?;
    let sources =
        [position(inst, Role::PA)?, position(inst, Role::PB)?, position(inst, Role::PC)?].map(|at| inst.operands[at]);
    let all_predicates = sources.iter().all(|s| is_predicate(func, *s));
    all_predicates.then_some(settle(inst.operands[lut].as_imm()? as u8, sources, Operand::pt(), known_bit))
}

/// What a PLOP3 gives its destination `role`, if that is a constant or one of its inputs (or its inverse).
pub(super) fn predicate_value(func: &Function, inst: &Inst, role: Role) -> Option<Operand> {
    let (table, inputs) = settled_predicates(func, inst, if role == Role::PD { Role::Lut } else { Role::Lut2 })?;
    match only_input(table)? {
        3 => Some(Operand::pt().with_not(table == 0)),
        k => Some(inputs[k].with_not(table != INPUTS[k])),
    }
}

fn is_predicate(func: &Function, operand: Operand) -> bool {
    match operand.kind() {
        OperandKind::Pt => true,
        OperandKind::Reg(reg, _) => func[reg].file() == oriole_isa::RegFile::P,
        _ => false,
    }
}

/// The value of a predicate that is PT or its inverse.
pub(super) fn known_bit(operand: Operand) -> Option<bool> {
    (operand.kind() == OperandKind::Pt).then_some(!operand.is_not())
}

/// PLOP3 with one destination: inputs settled; a copy takes the canonical form.
pub(super) fn predicates(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    Ok(simpler_predicate(cx, inst))
}

fn simpler_predicate(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    if inst.opcode != Opcode::PLOP3 || inst.operands[position(inst, Role::PD2)?] != Operand::pt() {
        return None;
    }
    let pd = inst.operands[position(inst, Role::PD)?];
    let new = mov_pred(pd, predicate_value(cx.func, inst, Role::PD)?);
    let same = new.operands == inst.operands;
    (!same).then(|| smallvec![new])
}
