//! Products of warpgroups: an addend that is zero takes no registers, and needs no vote on whether it counts.

use super::{Cx, Rewrite, constant, source};
use oriole_isa::{Opcode, Role};
use oriole_ori::{BuildError, Inst, Operand, OperandKind};
use smallvec::smallvec;

/// The products.
pub(super) const PRODUCTS: [Opcode; 4] = [Opcode::HGMMA, Opcode::QGMMA, Opcode::IGMMA, Opcode::BGMMA];

/// Whether C counts is known where the threads vote on a constant; a C that does not count, or is zero, is `RZ`.
pub(super) fn addend(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let (Some(c), Some(counts)) = (source(inst, Role::C), source(inst, Role::PA)) else { return Ok(None) };
    let mut new = inst.clone();
    let known = known(cx, counts);
    if let Some(bit) = known {
        new.set_role(Role::PA, Operand::upt().with_not(!bit));
    }
    let values = cx.func.named(c);
    let zero = |value| cx.copied(Operand::reg(value)).and_then(constant) == Some(0);
    if known == Some(false) || c.is_zero() || !values.is_empty() && values.iter().all(|value| zero(*value)) {
        new.set_role(Role::C, Operand::rz());
        new.set_role(Role::PA, Operand::upt().with_not(true));
    }
    Ok((new != *inst).then(|| smallvec![new]))
}

/// A vote that nobody reads goes: it was on whether the addend counts.
pub(super) fn vote(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let unread = |operand: Operand| match operand.as_reg() {
        Some(reg) => cx.func.is_value(reg) && cx.reads(reg) == 0,
        None => matches!(operand.kind(), OperandKind::None | OperandKind::Urz | OperandKind::Upt),
    };
    Ok(inst.defs().all(|(_, operand)| unread(operand)).then(Rewrite::new))
}

/// The value of a uniform predicate that is a constant, or a vote on one.
fn known(cx: &Cx<'_>, predicate: Operand) -> Option<bool> {
    if predicate.kind() == OperandKind::Upt {
        return Some(!predicate.is_not());
    }
    let vote = &cx.func[cx.func.definition(predicate.as_reg()?)?];
    let voted = source(vote, Role::PA).filter(|_| vote.opcode == Opcode::VOTEU && vote.guard().is_none())?;
    (voted.kind() == OperandKind::Pt).then(|| voted.is_not() == predicate.is_not())
}
