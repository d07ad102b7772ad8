//! Two instructions of bits or predicates in one.

use super::source;
use super::table;
use super::truth::{self, compose};
use super::wide::is_shift;
use super::{Cx, Rewrite, constant, mov_pred, word};
use oriole_isa::{Bop, Cmp, Field, Opcode, Role, ShiftDir, ShiftType};
use oriole_ori::{BuildError, Inst, Operand, OperandKind, RegType};
use smallvec::{SmallVec, smallvec};

/// Sources of LOP3 in the order of the table's inputs.
const SOURCES: [Role; 3] = [Role::A, Role::B, Role::C];

/// The sources of a LOP3 that its table depends on, with the table.
fn logic_of(inst: &Inst) -> Option<(u8, [Option<Operand>; 3])> {
    let table = source(inst, Role::Lut)?.as_imm()? as u8;
    let mut inputs = [None; 3];
    for (k, role) in SOURCES.into_iter().enumerate() {
        inputs[k] = source(inst, role).filter(|_| truth::depends(table, k));
    }
    Some((table, inputs))
}

/// A LOP3 of a LOP3 that nobody else reads is one LOP3, if they have three sources between them.
pub(super) fn logic(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    if inst.opcode != Opcode::LOP3 {
        return Ok(None);
    }
    Ok((0..3).find_map(|k| merged(cx, inst, k)))
}

fn merged(cx: &Cx<'_>, inst: &Inst, k: usize) -> Option<Rewrite> {
    let (outer, inputs) = logic_of(inst)?;
    let first = cx.only_use(inputs[k]?, Opcode::LOP3)?;
    let (inner, inner_inputs) = logic_of(first)?;
    if source(first, Role::PD)? != Operand::pt() || inner_inputs.iter().flatten().any(|o| !cx.is_stable(*o)) {
        return None;
    }
    let mut leaves: SmallVec<[Operand; 6]> = SmallVec::new();
    let others = inputs.iter().enumerate().filter(|(i, _)| *i != k).filter_map(|(_, o)| *o);
    for leaf in others.chain(inner_inputs.into_iter().flatten()) {
        if !leaves.contains(&leaf) {
            leaves.push(leaf);
        }
    }
    if leaves.len() > SOURCES.len() {
        return None;
    }
    let of_leaf = |input: Option<Operand>| {
        let place = input.and_then(|operand| leaves.iter().position(|leaf| *leaf == operand));
        place.map_or(0, |place| truth::INPUTS[place])
    };
    let inner = compose(inner, inner_inputs.map(of_leaf));
    let table = compose(outer, std::array::from_fn(|i| if i == k { inner } else { of_leaf(inputs[i]) }));
    let mut new = inst.clone();
    for (i, role) in SOURCES.into_iter().enumerate() {
        new.operands[inst.position(role)?] = leaves.get(i).copied().unwrap_or(Operand::rz());
    }
    new.operands[inst.position(Role::Lut)?] = Operand::imm(u32::from(table));
    cx.legal_form(new).map(|form| smallvec![form])
}

/// Integer comparisons and their opposites.
const OPPOSITES: [(Cmp, Cmp); 8] = [
    (Cmp::F, Cmp::T),
    (Cmp::LT, Cmp::GE),
    (Cmp::EQ, Cmp::NE),
    (Cmp::LE, Cmp::GT),
    (Cmp::GT, Cmp::LE),
    (Cmp::NE, Cmp::EQ),
    (Cmp::GE, Cmp::LT),
    (Cmp::T, Cmp::F),
];

/// What holds where an integer comparison does not.
pub(crate) fn opposite_cmp(cmp: Cmp) -> Option<Cmp> {
    OPPOSITES.into_iter().find(|(this, _)| *this == cmp).map(|(_, other)| other)
}

/// The comparison that is true where this one is false.
fn opposite(inst: &Inst) -> Option<Inst> {
    let mut new = inst.clone();
    match inst.opcode {
        Opcode::ISETP if !inst.get(Field::EX) => {
            new.mods.set(Field::CMP, opposite_cmp(inst.get(Field::CMP))?);
        }
        Opcode::FSETP => new.mods.set(Field::FCMP, inst.get(Field::FCMP).opposite()),
        _ => return None,
    }
    Some(new)
}

/// A comparison that nobody else reads takes in the PLOP3 that combines it with another predicate.
pub(super) fn comparison(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    if inst.opcode != Opcode::PLOP3 {
        return Ok(None);
    }
    Ok((0..3).rev().find_map(|k| combined(cx, inst, k)))
}

fn combined(cx: &Cx<'_>, inst: &Inst, k: usize) -> Option<Rewrite> {
    let roles = [Role::PA, Role::PB, Role::PC];
    if source(inst, Role::PD2)? != Operand::pt() {
        return None;
    }
    let (lut, inputs) = table::predicate_table(cx.func, inst)?;
    let needed: SmallVec<[usize; 3]> = (0..roles.len()).filter(|i| truth::depends(lut, *i)).collect();
    let other = *needed.iter().find(|i| **i != k).filter(|_| needed.len() == 2 && needed.contains(&k))?;
    let compare = comparison_of(cx, inputs[k])?;
    let with = inputs[other];
    let (how, inverse, with) = matching(lut, k, other, with)?;
    let mut new = if inverse { opposite(compare)? } else { compare.clone() };
    new.mods.set(Field::BOP, how);
    new.operands[compare.position(Role::PD)?] = source(inst, Role::PD)?;
    new.operands[compare.position(Role::PA)?] = with;
    let holds = compare.uses().all(|(_, operand)| cx.is_stable(operand));
    (holds && cx.is_legal(&new)).then(|| smallvec![new])
}

/// The comparison whose only result, read nowhere else, is the predicate.
fn comparison_of<'c>(cx: &'c Cx<'_>, pred: Operand) -> Option<&'c Inst> {
    let OperandKind::Reg(..) = pred.kind() else { return None };
    let opcodes = [Opcode::ISETP, Opcode::FSETP];
    let compare = opcodes.into_iter().find_map(|opcode| cx.only_use(pred, opcode))?;
    let plain = source(compare, Role::PA)? == Operand::pt()
        && source(compare, Role::PD2)? == Operand::pt()
        && compare.get(Field::BOP) == Bop::AND;
    plain.then_some(compare)
}

/// How a table of two inputs combines a comparison with a predicate: the operation, whether the comparison
/// is turned into its opposite, and the predicate with its sense.
fn matching(lut: u8, k: usize, other: usize, with: Operand) -> Option<(Bop, bool, Operand)> {
    let (p, q) = (truth::INPUTS[k], truth::INPUTS[other]);
    for inverse in [false, true] {
        for negated in [false, true] {
            let (p, q) = (if inverse { !p } else { p }, if negated { !q } else { q });
            let with = with.with_not(with.is_not() ^ negated);
            let choices = [(Bop::AND, p & q), (Bop::OR, p | q), (Bop::XOR, p ^ q)];
            if let Some((how, _)) = choices.into_iter().find(|(_, table)| *table == lut) {
                return Some((how, inverse, with));
            }
        }
    }
    None
}

/// `(a & b) != 0` and the like: LOP3 gives the result of the test itself. A shift before the mask moves into
/// the constants.
pub(super) fn bit_test(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let Some(Test { mut logic, equal }) = tested_logic(cx, inst) else { return Ok(None) };
    let places = [Role::D, Role::PD].map(|role| logic.position(role));
    let ([Some(d), Some(pd)], Some(result)) = (places, source(inst, Role::PD)) else { return Ok(None) };
    logic.operands[d] = Operand::rz();
    logic.operands[pd] = result;
    if !equal {
        return Ok(cx.is_legal(&logic).then(|| smallvec![logic]));
    }
    if inst.guard().is_some() {
        return Ok(None);
    }
    let nonzero = cx.func.new_vreg(RegType::P)?;
    logic.operands[pd] = Operand::reg(nonzero);
    Ok(cx.is_legal(&logic).then(|| smallvec![logic, mov_pred(result, Operand::reg(nonzero).not())]))
}

/// A comparison of a LOP3's result with zero: the LOP3, and whether the test is for equality.
struct Test {
    logic: Inst,
    equal: bool,
}

fn tested_logic(cx: &Cx<'_>, inst: &Inst) -> Option<Test> {
    let plain = inst.opcode == Opcode::ISETP
        && !inst.get(Field::EX)
        && inst.get(Field::BOP) == Bop::AND
        && source(inst, Role::PA)? == Operand::pt()
        && source(inst, Role::PD2)? == Operand::pt();
    let equal = match inst.get(Field::CMP) {
        Cmp::EQ => true,
        Cmp::NE => false,
        _ => return None,
    };
    let bound = constant(source(inst, Role::B)?)?;
    let logic = cx.only_use(source(inst, Role::A)?, Opcode::LOP3)?;
    if !plain || source(logic, Role::PD)? != Operand::pt() || source(logic, Role::PA)? != Operand::pt().not() {
        return None;
    }
    let mut logic = logic.clone();
    let mut equal = equal;
    if bound != 0 {
        // One bit: it is the bound where it is not zero.
        (mask(&logic)? == bound && bound.is_power_of_two()).then_some(())?;
        equal = !equal;
    }
    if let Some(unshifted) = mask_before_shift(cx, &logic) {
        return Some(Test { logic: unshifted, equal });
    }
    logic.set_guard(None);
    let holds = logic.uses().all(|(_, operand)| cx.is_stable(operand));
    holds.then_some(Test { logic, equal })
}

/// The constant of `a & constant`.
fn mask(logic: &Inst) -> Option<u32> {
    let is_and = source(logic, Role::Lut)?.as_imm()? as u8 == truth::INPUTS[0] & truth::INPUTS[1];
    constant(source(logic, Role::B)?).filter(|_| is_and)
}

/// `(x >> n) & mask` is zero where `x & (mask << n)` is.
fn mask_before_shift(cx: &Cx<'_>, logic: &Inst) -> Option<Inst> {
    let bits = mask(logic)?;
    let shift = cx.def_of(source(logic, Role::A)?)?;
    let count = constant(source(shift, Role::B)?).filter(|count| *count < 32)?;
    let x = source(shift, Role::C)?;
    let right = is_shift(shift, ShiftDir::R, &[ShiftType::U32, ShiftType::S32], true);
    let fits = bits.leading_zeros() >= count && bits << count >> count == bits;
    if !right || !fits || !cx.is_stable(x) {
        return None;
    }
    let mut new = logic.clone();
    new.operands[logic.position(Role::A)?] = x;
    new.operands[logic.position(Role::B)?] = word(bits << count);
    Some(new)
}
