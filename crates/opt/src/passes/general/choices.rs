//! Comparisons of what a selection chose: the selection's predicate already says which constant it was.

use super::fold::compares;
use super::identities::combine;
use super::{Cx, Rewrite, constant, mov_pred, source};
use oriole_isa::{Bop, Field, Opcode, Role};
use oriole_ori::{BuildError, Inst, Operand};
use smallvec::smallvec;

/// `(p ? a : b) cmp k`, where one of `a` and `b` is a constant at least.
pub(super) fn compared(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    Ok(chosen(cx, inst).map(|new| smallvec![new]))
}

fn chosen(cx: &Cx<'_>, inst: &Inst) -> Option<Inst> {
    let known = |operand: Operand| constant(operand).or_else(|| constant(cx.copied(operand)?));
    let (value, limit) = (source(inst, Role::A)?, known(source(inst, Role::B)?)?);
    let plain = !inst.get(Field::EX) && !inst.get(Field::LONG) && source(inst, Role::PD2)? == Operand::pt();
    let selection = cx.def_of(value).filter(|inst| plain && inst.opcode == Opcode::SEL && !value.has_flags())?;
    let (a, b, p) = (source(selection, Role::A)?, source(selection, Role::B)?, source(selection, Role::PA)?);
    if !cx.is_stable(p) {
        return None;
    }
    let answer = |side: Operand| known(side).and_then(|side| compares(inst, side, limit));
    let (how, with, to) = (inst.get(Field::BOP), source(inst, Role::PA)?, source(inst, Role::PD)?);
    let alone = how == Bop::AND && with == Operand::pt();
    // What is left to compare, what the answer is on the other side, and the predicate of that.
    let (rest, holds, other_side) = match (answer(a), answer(b)) {
        (Some(on), Some(off)) if on == off => return Some(mov_pred(to, combine(how, on, with)?)),
        (Some(on), Some(_)) => return alone.then(|| mov_pred(to, if on { p } else { p.not() })),
        (Some(on), None) => (b, on, p),
        (None, Some(off)) => (a, off, p.not()),
        (None, None) => return None,
    };
    if !alone || cx.reads(value.as_reg()?) != 0 || !cx.is_stable(rest) {
        return None;
    }
    let mut new = inst.clone();
    new.set_role(Role::A, rest);
    new.set_role(Role::PA, if holds { other_side } else { other_side.not() });
    new.mods.set(Field::BOP, if holds { Bop::OR } else { Bop::AND });
    cx.is_legal(&new).then_some(new)
}
