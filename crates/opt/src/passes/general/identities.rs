//! Algebraic identities: sums with zero, products with one, choices that are none.

use super::sums::build;
use super::table::known_bit;
use super::{Cx, Rewrite, commute, constant, mov, mov_pred, shift_of, source, word};
use oriole_isa::{Bop, Field, Mul, Opcode, Prmt, Role, ShiftDir, ShiftType};
use oriole_ori::{BuildError, Inst, Operand, OperandKind};
use smallvec::{SmallVec, smallvec};

/// What is simplified here.
pub(super) const SIMPLIFIED: [Opcode; 8] =
    [Opcode::MOV, Opcode::IADD3, Opcode::IMAD, Opcode::SHF, Opcode::SEL, Opcode::FSEL, Opcode::ISETP, Opcode::PRMT];

/// The rule.
pub(super) fn simplify(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    Ok(match inst.opcode {
        Opcode::MOV => self_copy(inst),
        Opcode::IADD3 => sum(cx, inst),
        Opcode::IMAD => product(cx, inst),
        Opcode::SHF => shift(inst),
        Opcode::SEL | Opcode::FSEL => choice(inst),
        Opcode::ISETP => unused_result(cx, inst),
        Opcode::PRMT => permutation(inst),
        _ => None,
    })
}

/// A value that is either `holds` or undetermined, combined with a predicate as comparisons do it.
pub(super) fn combine(how: Bop, holds: bool, with: Operand) -> Option<Operand> {
    Some(match (how, holds) {
        (Bop::AND, false) => Operand::pt().not(),
        (Bop::OR, true) => Operand::pt(),
        (Bop::AND, true) | (Bop::OR | Bop::XOR, false) => with,
        (Bop::XOR, true) => with.not(),
        _ => return None,
    })
}

/// `r = r` goes away.
fn self_copy(inst: &Inst) -> Option<Rewrite> {
    (inst.operands[0] == inst.operands[1] && inst.operands[0].as_reg().is_some()).then(SmallVec::new)
}

/// Predicate results that nobody reads are left out.
fn unused_result(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    let mut new = inst.clone();
    for role in [Role::PD, Role::PD2] {
        let at = inst.position(role)?;
        let reg = inst.operands[at].as_reg().filter(|reg| cx.func.is_value(*reg));
        // A comparison keeps its first result: without any it is dead anyway.
        let needed = role == Role::PD && inst.opcode == Opcode::ISETP;
        if !needed && reg.is_some_and(|reg| cx.reads(reg) == 0) {
            new.operands[at] = Operand::pt();
        }
    }
    (new != *inst).then(|| smallvec![new])
}

/// The summands of IADD3 without the zeros. One of them at most is a constant: only B can be.
struct Summands {
    rest: SmallVec<[Operand; 3]>,
    constant: u32,
}

fn summands(inst: &Inst) -> Option<Summands> {
    let mut sum = Summands { rest: SmallVec::new(), constant: 0 };
    for role in [Role::A, Role::B, Role::C] {
        let operand = source(inst, role)?;
        match constant(operand) {
            Some(0) => {}
            Some(bits) => sum.constant = bits,
            None => sum.rest.push(operand),
        }
    }
    Some(sum)
}

fn sum(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    if let Some(rewrite) = unused_result(cx, inst) {
        return Some(rewrite);
    }
    let (pd, pd2, d) = (source(inst, Role::PD)?, source(inst, Role::PD2)?, source(inst, Role::D)?);
    let carries = [source(inst, Role::PA)?, source(inst, Role::PB)?];
    if inst.get(Field::X) {
        return without_carry(inst, carries);
    }
    let Summands { rest, constant } = summands(inst)?;
    let value = match (rest.as_slice(), constant) {
        ([], bits) => word(bits),
        ([one], 0) if !one.has_flags() => *one,
        _ => return commute::canonical(inst).map(|new| smallvec![new]),
    };
    let no_carry_out = pd == Operand::pt() && pd2 == Operand::pt();
    match no_carry_out {
        true => Some(smallvec![mov(d, value)]),
        // One summand never carries.
        false if pd2 == Operand::pt() => Some(smallvec![mov(d, value), mov_pred(pd, Operand::pt().not())]),
        false => None,
    }
}

/// An extended sum whose carries in are known to be zero is a plain one.
fn without_carry(inst: &Inst, carries: [Operand; 2]) -> Option<Rewrite> {
    let none = carries.iter().all(|carry| known_bit(*carry) == Some(false));
    let mut new = inst.clone();
    for role in [Role::A, Role::B, Role::C] {
        let at = inst.position(role)?;
        match constant(inst.operands[at].with_not(false)) {
            Some(bits) if inst.operands[at].is_not() => new.operands[at] = word(!bits),
            _ if inst.operands[at].is_not() => return None,
            _ => {}
        }
    }
    new.mods.set(Field::X, false);
    for role in [Role::PA, Role::PB] {
        new.operands[inst.position(role)?] = Operand::pt().not();
    }
    none.then(|| smallvec![new])
}

fn product(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    if inst.get(Field::X) || source(inst, Role::PD)? != Operand::pt() {
        return None;
    }
    let (a, b, c, d) = (source(inst, Role::A)?, source(inst, Role::B)?, source(inst, Role::C)?, source(inst, Role::D)?);
    let zero = constant(a) == Some(0) || constant(b) == Some(0);
    match inst.get(Field::MUL) {
        Mul::LO if zero => Some(smallvec![sum_of(d, [c, Operand::rz()])]),
        Mul::HI if zero && c == Operand::rz() => Some(smallvec![mov(d, c)]),
        Mul::LO if constant(b) == Some(1) => Some(smallvec![sum_of(d, [a, c])]),
        // As what is written as a shift, so that both are one expression, and sums take them in.
        Mul::LO if c == Operand::rz() && !a.has_flags() => {
            let count = constant(b).filter(|b| b.is_power_of_two())?.trailing_zeros();
            let shift = shift_of(d, a, ShiftDir::L, count);
            cx.is_legal(&shift).then(|| smallvec![shift])
        }
        Mul::WIDE if zero && c == Operand::rz() => {
            let [lo, hi] = cx.pair(d)?;
            Some(smallvec![mov(lo.into(), c), mov(hi.into(), c)])
        }
        Mul::WIDE if zero => {
            let ([lo, hi], [low, high]) = (cx.pair(d)?, cx.pair(c).filter(|_| !c.has_flags())?);
            Some(smallvec![mov(lo.into(), low.into()), mov(hi.into(), high.into())])
        }
        _ => None,
    }
}

pub(super) fn sum_of(d: Operand, [a, b]: [Operand; 2]) -> Inst {
    build(Opcode::IADD3, Default::default(), &[(Role::D, d), (Role::A, a), (Role::B, b)])
}

/// A shift by zero, or of zeros.
fn shift(inst: &Inst) -> Option<Rewrite> {
    let (a, b, c, d) = (source(inst, Role::A)?, source(inst, Role::B)?, source(inst, Role::C)?, source(inst, Role::D)?);
    if constant(a) == Some(0) && constant(c) == Some(0) {
        return Some(smallvec![mov(d, Operand::rz())]);
    }
    let high = inst.get(Field::HI);
    if constant(b) == Some(0) {
        return Some(smallvec![mov(d, if high { c } else { a })]);
    }
    // By a whole word: a word is the other one, or what came in.
    let kind = inst.get(Field::SHIFT_TYPE);
    if inst.get(Field::WRAP) || shifted_by(kind, constant(b)?) != u32::BITS {
        return None;
    }
    let signed = matches!(kind, ShiftType::S32 | ShiftType::S64);
    let word = match (inst.get(Field::SHIFT_DIR) == ShiftDir::L, high) {
        (true, true) => a,
        (true, false) => Operand::rz(),
        (false, false) => c,
        (false, true) if !signed => Operand::rz(),
        (false, true) => return None,
    };
    Some(smallvec![mov(d, word)])
}

/// How far a pair of words is shifted by a count without `.W`: by all of its type's bits at most.
pub(super) fn shifted_by(kind: ShiftType, count: u32) -> u32 {
    let bits = if matches!(kind, ShiftType::U64 | ShiftType::S64) { u64::BITS } else { u32::BITS };
    count.min(bits)
}

/// A choice between equals, or with a known predicate.
fn choice(inst: &Inst) -> Option<Rewrite> {
    let (a, b, d, p) =
        (source(inst, Role::A)?, source(inst, Role::B)?, source(inst, Role::D)?, source(inst, Role::PA)?);
    let value = match known_bit(p) {
        Some(true) => a,
        Some(false) => b,
        None if a == b => a,
        None => return None,
    };
    let plain = !value.has_flags() && !inst.get(Field::FTZ);
    plain.then(|| smallvec![mov(d, value)])
}

/// A permutation that is none.
fn permutation(inst: &Inst) -> Option<Rewrite> {
    let (a, b, c, d) = (source(inst, Role::A)?, source(inst, Role::B)?, source(inst, Role::C)?, source(inst, Role::D)?);
    let value = match b.kind() {
        _ if inst.get(Field::PRMT) != Prmt::IDX => return None,
        OperandKind::Imm(0x3210, _) => a,
        OperandKind::Imm(0x7654, _) => c,
        _ => return None,
    };
    Some(smallvec![mov(d, value)])
}
