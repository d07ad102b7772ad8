//! Constant folding: instructions whose sources are all known.

use super::bits::{extend, permute};
use super::table::known_bit;
use super::{Cx, Rewrite, constant, mov, mov_pred, source, truth, word};
use oriole_isa::{Bop, Cmp, Field, Fold, Mul, Prmt, Role, ShiftDir, ShiftType, Sign};
use oriole_ori::{BuildError, Inst, Operand};
use smallvec::smallvec;

/// An instruction with one 32-bit result and known sources becomes a MOV of the result; a wide product
/// two; a comparison a copy of a predicate.
pub(super) fn constants(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    // A form takes one constant, so others may still stand in registers.
    let mut resolved = inst.clone();
    let negates = may_be_negated(inst);
    for at in 0..inst.operands.len() {
        let value = inst.operands[at];
        if !inst.is_use(at) || value.as_reg().is_none() {
            continue;
        }
        if !value.has_flags() {
            let known = cx.copied(value).and_then(constant);
            resolved.operands[at] = known.map_or(value, word);
        } else if negates && value.is_neg() && !value.neg().has_flags() {
            let known = cx.copied(value.neg()).and_then(constant);
            resolved.operands[at] = known.map_or(value, |bits| word(bits.wrapping_neg()));
        }
    }
    Ok(folded(cx, &resolved))
}

/// Its sources are words of a sum without carries: one that is negated is the word that it is with its sign changed.
fn may_be_negated(inst: &Inst) -> bool {
    let sum = match inst.opcode.fold() {
        Fold::Sum => true,
        Fold::MultiplyAdd => inst.get(Field::MUL) == Mul::LO,
        _ => false,
    };
    sum && !inst.get(Field::X) && destination(inst).is_some()
}

fn folded(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    match inst.opcode.fold() {
        Fold::Compare => compare(inst),
        Fold::Sum => sum(inst),
        Fold::MultiplyAdd if inst.get(Field::MUL) == Mul::WIDE => wide_product(cx, inst),
        _ => {
            let value = value(inst)?;
            Some(smallvec![mov(destination(inst)?, word(value))])
        }
    }
}

fn known(inst: &Inst, role: Role) -> Option<u32> {
    constant(source(inst, role)?)
}

/// The destination, if the instruction writes no other register.
fn destination(inst: &Inst) -> Option<Operand> {
    let others_absent = [Role::PD, Role::PD2].iter().all(|role| source(inst, *role).is_none_or(|o| o == Operand::pt()));
    source(inst, Role::D).filter(|_| others_absent)
}

/// The result of an instruction with known sources and one 32-bit destination.
fn value(inst: &Inst) -> Option<u32> {
    let a = || known(inst, Role::A);
    let b = || known(inst, Role::B);
    let c = || known(inst, Role::C);
    match inst.opcode.fold() {
        Fold::MultiplyAdd if inst.get(Field::MUL) == Mul::LO && !inst.get(Field::X) => {
            Some(a()?.wrapping_mul(b()?).wrapping_add(c()?))
        }
        Fold::Logic => Some(truth::apply(known(inst, Role::Lut)? as u8, [a()?, b()?, c()?])),
        Fold::Shift => shift(inst, a()?, b()?, c()?),
        Fold::ShiftAdd if !inst.get(Field::HI) && !inst.get(Field::X) => {
            Some((a()? << (known(inst, Role::Shift)? & 31)).wrapping_add(b()?))
        }
        Fold::Absolute => Some((b()? as i32).unsigned_abs()),
        Fold::Count => Some(b()?.count_ones()),
        Fold::Reverse => Some(b()?.reverse_bits()),
        Fold::Extend if !inst.get(Field::WRAP) => Some(extend(a()?, b()?, inst.get(Field::SIGN) == Sign::S32)),
        Fold::Permute if inst.get(Field::PRMT) == Prmt::IDX => Some(permute(a()?, b()?, c()?)),
        _ => None,
    }
}

/// A word of the pair `c:a` shifted by `b`, where the count does not wrap or take all 64 bits.
fn shift(inst: &Inst, a: u32, b: u32, c: u32) -> Option<u32> {
    let kind = inst.get(Field::SHIFT_TYPE);
    let signed = matches!(kind, ShiftType::S32 | ShiftType::S64);
    let by = super::identities::shifted_by(kind, b);
    if by == u64::BITS || inst.get(Field::WRAP) && b >= u32::BITS {
        return None;
    }
    let pair = u64::from(a) | u64::from(c) << 32;
    let shifted = match inst.get(Field::SHIFT_DIR) {
        ShiftDir::L => pair << by,
        _ if signed => ((pair as i64) >> by) as u64,
        _ => pair >> by,
    };
    Some(if inst.get(Field::HI) { (shifted >> 32) as u32 } else { shifted as u32 })
}

fn wide_product(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    let d = cx.pair(destination(inst)?)?;
    let (a, b) = (known(inst, Role::A)?, known(inst, Role::B)?);
    let plain = known(inst, Role::C)? == 0 && !inst.get(Field::X);
    let product = match inst.get(Field::SIGN) == Sign::S32 {
        true => (i64::from(a as i32) * i64::from(b as i32)) as u64,
        false => u64::from(a) * u64::from(b),
    };
    let halves = d.into_iter().zip([product as u32, (product >> 32) as u32]);
    plain.then(|| halves.map(|(half, bits)| mov(half.into(), word(bits))).collect())
}

/// A sum of known words, its carry in known too; a copy of the carry out where that is asked for.
fn sum(inst: &Inst) -> Option<Rewrite> {
    let carry = |role| known_bit(source(inst, role)?);
    let carries = if inst.get(Field::X) { [carry(Role::PA)?, carry(Role::PB)?] } else { [false; 2] };
    let words = [known(inst, Role::A)?, known(inst, Role::B)?, known(inst, Role::C)?];
    let total = words.into_iter().map(u64::from).chain(carries.map(u64::from)).sum::<u64>();
    let (d, pd) = (source(inst, Role::D)?, source(inst, Role::PD)?);
    let mut copies: Rewrite = smallvec![mov(d, word(total as u32))];
    if pd != Operand::pt() {
        copies.push(mov_pred(pd, Operand::pt().with_not(total >> 32 == 0)));
    }
    // Of two carries out it is not said which is which.
    let one_carry = pd == Operand::pt() || total >> 32 <= 1;
    (one_carry && source(inst, Role::PD2)? == Operand::pt()).then_some(copies)
}

/// What ISETP says of two words, the predicates aside.
pub(super) fn compares(inst: &Inst, a: u32, b: u32) -> Option<bool> {
    let order = if inst.get(Field::SIGN) == Sign::S32 { (a as i32).cmp(&(b as i32)) } else { a.cmp(&b) };
    Some(match inst.get(Field::CMP) {
        Cmp::F => false,
        Cmp::T => true,
        Cmp::LT => order.is_lt(),
        Cmp::LE => order.is_le(),
        Cmp::EQ => order.is_eq(),
        Cmp::NE => order.is_ne(),
        Cmp::GE => order.is_ge(),
        Cmp::GT => order.is_gt(),
        _ => return None,
    })
}

fn compare(inst: &Inst) -> Option<Rewrite> {
    if source(inst, Role::PD2)? != Operand::pt() {
        return None;
    }
    let (a, b) = (known(inst, Role::A)?, known(inst, Role::B)?);
    let (pd, combines, other) = (source(inst, Role::PD)?, inst.get(Field::BOP), source(inst, Role::PA)?);
    // Of two words that are equal the low ones decide.
    let low = source(inst, Role::PB).filter(|_| inst.get(Field::EX) && a == b);
    let holds = match low.map(|low| (low, known_bit(low))) {
        None => compares(inst, a, b)?,
        Some(_) if matches!(inst.get(Field::CMP), Cmp::F | Cmp::T) => return None,
        Some((_, Some(holds))) => holds,
        Some((low, None)) => {
            let alone = combines == Bop::AND && other == Operand::pt();
            return alone.then(|| smallvec![mov_pred(pd, low)]);
        }
    };
    Some(smallvec![mov_pred(pd, super::identities::combine(combines, holds, other)?)])
}
