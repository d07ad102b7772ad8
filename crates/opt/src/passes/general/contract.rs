//! Products and sums in one instruction that rounds once, where PTX leaves it open ([`InstFlags::CONTRACTS`]).

use super::source;
use super::{Cx, Rewrite, constant};
use oriole_isa::{Field, FieldId, Opcode, Role, Swizzle};
use oriole_ori::{BuildError, Inst, InstFlags, Operand};
use smallvec::smallvec;

/// Sum, product, and what is both.
type Kind = (Opcode, Opcode, Opcode);

const KINDS: [Kind; 3] = [
    (Opcode::FADD, Opcode::FMUL, Opcode::FFMA),
    (Opcode::DADD, Opcode::DMUL, Opcode::DFMA),
    (Opcode::HADD2, Opcode::HMUL2, Opcode::HFMA2),
];

/// Modifiers that sum and product must share.
const SHARED: [FieldId; 3] = [FieldId::Rnd, FieldId::Ftz, FieldId::HalfFmt];

/// `a * b + c`, rounded once, if only this sum reads the product. Where both summands are products, the first is
/// taken, as ptxas does.
pub(super) fn product_and_sum(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let kind = KINDS.into_iter().find(|(sum, ..)| *sum == inst.opcode);
    let Some(kind) = kind.filter(|_| cx.contracts && inst.flags.contains(InstFlags::CONTRACTS)) else {
        return Ok(None);
    };
    let Some(new) = [(Role::A, Role::B), (Role::B, Role::A)].into_iter().find_map(|roles| fused(cx, inst, kind, roles))
    else {
        return Ok(None);
    };
    if let Some(form) = cx.legal_form(new.clone()) {
        return Ok(Some(smallvec![form]));
    }
    // A constant factor and a constant summand: the latter goes to a register.
    let Some(bits) = source(&new, Role::C).and_then(constant) else { return Ok(None) };
    let mut new = new;
    new.set_role(Role::C, cx.constant_register(bits)?);
    Ok(cx.legal_form(new).map(|form| smallvec![form]))
}

/// What product and sum are together, if the summand of role `factor` is such a product.
fn fused(cx: &Cx<'_>, inst: &Inst, (_, product, both): Kind, (factor, other): (Role, Role)) -> Option<Inst> {
    let (summand, rest) = (source(inst, factor)?, source(inst, other)?);
    let data = cx.product(summand, product)?;
    let shared = SHARED.iter().all(|field| data.raw(*field) == inst.raw(*field));
    let (a, b) = (source(data, Role::A)?, source(data, Role::B)?);
    let usable = shared && !data.get(Field::SAT) && cx.is_stable(a) && cx.is_stable(b);
    if !usable || cx.func.named(rest) == cx.func.named(summand) {
        return None;
    }
    let mut new = Inst::neutral(both, inst.mods.clone());
    if both == Opcode::HFMA2 {
        new.mods.set(Field::SWZ_A, data.get(Field::SWZ_A));
        new.mods.set(Field::SWZ_B, data.get(Field::SWZ_B));
        // What B may be besides has a code that C's field refuses.
        let of_b = |inst: &Inst| Swizzle::from_code(inst.get(Field::SWZ_B).code());
        new.mods.set(Field::SWZ_C, if other == Role::A { inst.get(Field::SWZ_A) } else { of_b(inst) });
    }
    let a = if summand.is_neg() { a.neg() } else { a };
    let roles = [(Role::D, source(inst, Role::D)?), (Role::A, a), (Role::B, b), (Role::C, rest)];
    roles.into_iter().for_each(|(role, operand)| new.set_role(role, operand));
    Some(new)
}

impl Cx<'_> {
    /// The product of this block that an operand of any width stands for, perhaps negated, if nobody else reads it.
    fn product(&self, operand: Operand, opcode: Opcode) -> Option<&Inst> {
        let values = self.func.named(operand);
        let alone = values.iter().all(|value| self.reads(*value) == 0);
        let first = self.full_definition(*values.first()?)?;
        let data = &self.func[first];
        let open = data.opcode == opcode && data.flags.contains(InstFlags::CONTRACTS);
        let written = self.func.named(source(data, Role::D)?) == values;
        let near = self.defs.in_block(self.func, first);
        (alone && open && written && near && !operand.is_abs()).then_some(data)
    }
}
