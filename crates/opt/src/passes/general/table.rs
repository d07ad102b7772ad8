//! Truth tables of three inputs: LOP3 and PLOP3.
//!
//! Bit `4a + 2b + c` of a table is the result for the input bits a, b, c.

use super::{Cx, Rewrite, constant, mov, mov_pred};
use oriole_isa::{Opcode, Role};
use oriole_ori::{BuildError, Function, Inst, Operand, OperandKind};
use smallvec::smallvec;

/// The table of the first input itself.
pub(super) const A: u8 = 0xf0;
/// The tables of the inputs.
pub(super) const INPUTS: [u8; 3] = [A, 0xcc, 0xaa];
/// How far apart the results for 0 and 1 of an input are.
const STRIDE: [u32; 3] = [4, 2, 1];

/// The table where input `k` always has the value `bit`.
fn fixed(table: u8, k: usize, bit: bool) -> u8 {
    let (ones, stride) = (INPUTS[k], STRIDE[k]);
    if bit {
        let kept = table & ones;
        kept | kept >> stride
    } else {
        let kept = table & !ones;
        kept | kept << stride
    }
}

/// Whether the result depends on input `k`.
pub(super) fn depends(table: u8, k: usize) -> bool {
    fixed(table, k, false) != fixed(table, k, true)
}

/// The table with input `k` inverted.
fn inverted(table: u8, k: usize) -> u8 {
    compose(table, std::array::from_fn(|i| if i == k { !INPUTS[i] } else { INPUTS[i] }))
}

/// The table for inputs `a` and `b` exchanged.
pub(super) fn exchange(table: u8, a: usize, b: usize) -> u8 {
    let mut inputs = INPUTS;
    inputs.swap(a, b);
    compose(table, inputs)
}

/// The table whose inputs are themselves tables.
pub(super) fn compose(table: u8, inputs: [u8; 3]) -> u8 {
    (0..8).fold(0, |result, index| {
        let bit = |k: usize| u32::from(inputs[k] >> index & 1) * STRIDE[k];
        let at = bit(0) + bit(1) + bit(2);
        result | (table >> at & 1) << index
    })
}

/// A table applied bit by bit to words.
pub(super) fn apply(table: u8, words: [u32; 3]) -> u32 {
    (0..8).filter(|index| table >> index & 1 == 1).fold(0, |result, index| {
        let input = |k: usize| if index & STRIDE[k] != 0 { words[k] } else { !words[k] };
        result | (input(0) & input(1) & input(2))
    })
}

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

/// The position of the only input that the table depends on; 3 where it depends on none.
fn only_input(table: u8) -> Option<usize> {
    let mut needed = (0..3).filter(|k| depends(table, *k));
    let first = needed.next();
    if needed.next().is_some() { None } else { Some(first.unwrap_or(3)) }
}

fn position(inst: &Inst, role: Role) -> Option<usize> {
    inst.opcode.position(role)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_agree_with_words() {
        let words = [0x1234_5678, 0x9abc_def0, 0x0f1e_2d3c];
        for table in 0..=255_u8 {
            let swapped = apply(exchange(table, 0, 2), [words[2], words[1], words[0]]);
            assert_eq!(apply(table, words), swapped);
            assert_eq!(apply(inverted(table, 1), words), apply(table, [words[0], !words[1], words[2]]));
            assert_eq!(apply(fixed(table, 2, true), words), apply(table, [words[0], words[1], u32::MAX]));
            assert_eq!(apply(fixed(table, 0, false), words), apply(table, [0, words[1], words[2]]));
        }
    }
}
