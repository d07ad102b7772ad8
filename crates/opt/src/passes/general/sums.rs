//! 32-bit sums: with products, with shifted values, of three, with constants.

use super::source;
use super::table::known_bit;
use super::wide::{is_shift, plain_summands};
use super::{Cx, Rewrite, constant, mul_field, word};
use oriole_isa::{Field, Mods, Mul, Opcode, Role, ShiftDir, ShiftType};
use oriole_ori::{BuildError, Inst, Operand};
use smallvec::{SmallVec, smallvec};

/// An instruction from operands by role; neutral elsewhere.
pub(crate) fn build(opcode: Opcode, mods: Mods, roles: &[(Role, Operand)]) -> Inst {
    let mut inst = Inst::neutral(opcode, mods);
    roles.iter().for_each(|(role, operand)| inst.set_role(*role, *operand));
    inst
}

/// The two summands of an addition of two, in both orders.
pub(super) fn orders(summands: &[Operand]) -> impl Iterator<Item = (Operand, Operand)> {
    let pair = <[Operand; 2]>::try_from(summands).ok();
    pair.into_iter().flat_map(|[a, b]| [(a, b), (b, a)])
}

/// `(x + c1) + c2` is `x + (c1 + c2)`.
pub(super) fn constants(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let Some(summands) = plain_summands(inst) else { return Ok(None) };
    let folded = orders(&summands).find_map(|(sum, c2)| {
        let c2 = constant(c2)?;
        let first = cx.def_of(sum).filter(|_| !sum.has_flags())?;
        let writes_it = source(first, Role::D)? == sum;
        let is_sum = first.opcode == Opcode::IADD3 && !first.get(Field::X) && source(first, Role::C)? == Operand::rz();
        let (x, c1) = (source(first, Role::A)?, constant(source(first, Role::B)?)?);
        (writes_it && is_sum && cx.is_stable(x)).then(|| (x, c1.wrapping_add(c2)))
    });
    Ok(folded.and_then(|(x, c)| {
        let roles = [(Role::D, source(inst, Role::D)?), (Role::A, x), (Role::B, word(c))];
        legal(cx, build(Opcode::IADD3, Mods::new(), &roles))
    }))
}

fn legal(cx: &Cx<'_>, inst: Inst) -> Option<Rewrite> {
    cx.legal_form(inst).map(|form| smallvec![form])
}

/// `a * b + c` in one IMAD; `c - a * b`, too, if `b` is a constant.
pub(super) fn product_and_sum(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    Ok(plain_summands(inst).and_then(|summands| {
        orders(&summands).find_map(|(product, c)| {
            let negated = product.is_neg();
            let data = cx.only_use(if negated { product.neg() } else { product }, Opcode::IMAD)?;
            let plain = mul_field(data) == Mul::LO && !data.get(Field::X) && source(data, Role::C)? == Operand::rz();
            let (a, b) = (source(data, Role::A)?, source(data, Role::B)?);
            if !plain || !cx.is_stable(a) || !cx.is_stable(b) {
                return None;
            }
            let b = if negated { word(constant(b)?.wrapping_neg()) } else { b };
            let roles = [(Role::D, source(inst, Role::D)?), (Role::A, a), (Role::B, b), (Role::C, c)];
            legal(cx, build(Opcode::IMAD, Mods::new(), &roles))
        })
    }))
}

/// A left shift by a constant that only this sum reads.
fn shifted(cx: &Cx<'_>, operand: Operand, high: bool) -> Option<(Inst, u32)> {
    let shift = cx.only_use(operand, Opcode::SHF)?;
    let types: &[ShiftType] = if high { &[ShiftType::U64, ShiftType::S64] } else { &[ShiftType::U32, ShiftType::S32] };
    let count = constant(source(shift, Role::B)?).filter(|count| (1..=31).contains(count))?;
    let (a, c) = (source(shift, Role::A)?, source(shift, Role::C)?);
    let usable = is_shift(shift, ShiftDir::L, types, high) && cx.is_stable(a) && (!high || cx.is_stable(c));
    usable.then(|| (shift.clone(), count))
}

/// What LEA adds to its second source: a shifted value.
struct Shifted {
    low: Operand,
    /// The high word of a 64-bit value; `None` where it is the sign of the low word.
    high: Option<Operand>,
    count: u32,
}

/// The value that a sum adds, as LEA makes it, if only this sum reads it.
fn shifted_of(cx: &Cx<'_>, operand: Operand, extended: bool) -> Option<Shifted> {
    if let Some((shift, count)) = shifted(cx, operand, extended) {
        return Some(Shifted { low: source(&shift, Role::A)?, high: Some(source(&shift, Role::C)?), count });
    }
    // The sign of x is the high word of x * 2.
    let shift = cx.only_use(operand, Opcode::SHF)?;
    let low = source(shift, Role::C)?;
    let sign = is_shift(shift, ShiftDir::R, &[ShiftType::S32], true) && constant(source(shift, Role::B)?)? == 31;
    (extended && sign && cx.is_stable(low)).then_some(Shifted { low, high: None, count: 1 })
}

/// `(a << n) + b` in one LEA; in the upper word of a 64-bit sum, LEA.HI.X; `(a >> n) + b` in one LEA.HI.
pub(super) fn shift_and_sum(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    Ok(lea(cx, inst).or_else(|| lea_of_right_shift(cx, inst)))
}

/// A word shifted to the right by n is the upper one of a pair shifted to the left by 32 - n: of the word and zero, or its sign.
fn lea_of_right_shift(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    // A constant is better added to what is shifted: it may go on into an address or a comparison.
    orders(&plain_summands(inst)?).filter(|(_, b)| constant(*b).is_none()).find_map(|(value, b)| {
        let shift = cx.only_use(value, Opcode::SHF)?;
        let signed = is_shift(shift, ShiftDir::R, &[ShiftType::S32], true);
        let usable = signed || is_shift(shift, ShiftDir::R, &[ShiftType::U32], true);
        let count = constant(source(shift, Role::B)?).filter(|count| (1..=31).contains(count))?;
        let low = source(shift, Role::C)?;
        if !usable || low.has_flags() || !cx.is_stable(low) {
            return None;
        }
        let roles = [
            (Role::D, source(inst, Role::D)?),
            (Role::A, low),
            (Role::B, b),
            (Role::Shift, Operand::imm(u32::BITS - count)),
        ];
        let new = build(Opcode::LEA, [Field::HI.is(true), Field::SX32.is(signed)].into_iter().collect(), &roles);
        cx.is_legal(&new).then(|| smallvec![new])
    })
}

fn lea(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    if inst.opcode != Opcode::IADD3 || source(inst, Role::PD2)? != Operand::pt() {
        return None;
    }
    let (a, b, c) = (source(inst, Role::A)?, source(inst, Role::B)?, source(inst, Role::C)?);
    let extended = inst.get(Field::X);
    let carry = source(inst, Role::PA)?;
    let one_carry = known_bit(source(inst, Role::PB)?) == Some(false);
    if c != Operand::rz() || !one_carry || (extended && carry.as_reg().is_none()) {
        return None;
    }
    [(a, b), (b, a)].into_iter().find_map(|(value, b)| {
        let Shifted { low, high, count } = shifted_of(cx, value, extended)?;
        // The carry of x + (-0) is not that of x - 0.
        if b.has_flags() && source(inst, Role::PD)? != Operand::pt() {
            return None;
        }
        let mut roles: SmallVec<[(Role, Operand); 8]> = smallvec![
            (Role::D, source(inst, Role::D)?),
            (Role::PD, source(inst, Role::PD)?),
            (Role::A, low),
            (Role::B, b),
            (Role::Shift, Operand::imm(count)),
        ];
        let mut mods = Mods::new();
        if extended {
            roles.extend([(Role::C, high.unwrap_or(Operand::rz())), (Role::PA, carry)]);
            mods = [Field::X.is(true), Field::HI.is(true), Field::SX32.is(high.is_none())].into_iter().collect();
        }
        let new = build(Opcode::LEA, mods, &roles);
        cx.is_legal(&new).then(|| smallvec![new])
    })
}

/// `(x + y) + z` in one IADD3, where nobody else needs the first sum.
pub(super) fn three_summands(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let Some(summands) = plain_summands(inst) else { return Ok(None) };
    Ok(orders(&summands).find_map(|(sum, z)| {
        let first = cx.only_use(sum, Opcode::IADD3)?;
        let parts = plain_summands(first)?;
        let [x, y] = parts[..] else { return None };
        if !cx.is_stable(x) || !cx.is_stable(y) {
            return None;
        }
        let roles = [(Role::D, source(inst, Role::D)?), (Role::A, x), (Role::B, y), (Role::C, z)];
        legal(cx, build(Opcode::IADD3, Mods::new(), &roles))
    }))
}
