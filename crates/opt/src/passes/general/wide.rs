//! 64-bit values as pairs: sums in two instructions, products and shifts.

use super::copies::follows;
use super::facts::component;
use super::fold::source;
use super::table::known_bit;
use super::{Cx, Rewrite, constant, mul_field};
use oriole_isa::{Field, Mods, Opcode, Role, mul, shift_dir, shift_type, sign};
use oriole_ori::{BuildError, Inst, InstId, Operand, OperandKind, VReg};
use smallvec::{SmallVec, smallvec};

/// How far apart the two instructions of a 64-bit operation may stand.
const NEAR: usize = 8;

/// A 64-bit sum: `lo, carry = a + b`, `hi = a' + b' + carry`. Which high word goes with which low word does
/// not matter to the sum.
pub(super) struct WideSum {
    /// The instruction that adds the low words.
    pub(super) low: InstId,
    lows: [Operand; 2],
    highs: [Operand; 2],
    carry: VReg,
}

impl WideSum {
    /// The sum whose high word `high` computes, if `lo` is its low word.
    pub(super) fn ending(cx: &Cx<'_>, at: InstId, high: &Inst, lo: Operand) -> Option<WideSum> {
        let sum = WideSum::here(cx, high, lo)?;
        cx.holds(Operand::reg(sum.carry), at).then_some(sum)
    }

    /// The same, where `high` stands at the current place.
    fn here(cx: &Cx<'_>, high: &Inst, lo: Operand) -> Option<WideSum> {
        if high.opcode != Opcode::IADD3 || high.get(Field::X) == 0 || high.guard().is_some() {
            return None;
        }
        let carry = source(high, Role::PA)?;
        let one_carry = known_bit(source(high, Role::PB)?) == Some(false) && !carry.is_not();
        let (low, first) = cx.def_of(carry)?;
        let plain = first.opcode == Opcode::IADD3 && first.get(Field::X) == 0;
        let writes = source(first, Role::D)? == lo && source(first, Role::PD)? == carry;
        let lone_carry = source(first, Role::PD2)? == Operand::pt();
        let current = cx.facts.def_of(cx.func, lo) == Some(low);
        if !(one_carry && plain && writes && lone_carry && current && no_carry_out(high)?) {
            return None;
        }
        Some(WideSum { low, lows: two_summands(first)?, highs: two_summands(high)?, carry: carry.as_reg()? })
    }

    /// The two 64-bit summands as pairs of words, arranged so that the words of a register stand together.
    pub(super) fn summands(&self, cx: &Cx<'_>) -> Option<[(Operand, Operand); 2]> {
        let ([a, b], [c, d]) = (self.lows, self.highs);
        let straight = [(a, c), (b, d)];
        let crossed = [(a, d), (b, c)];
        [straight, crossed].into_iter().find(|pairs| pairs.iter().all(|pair| cx.wide_of(*pair).is_some()))
    }
}

fn no_carry_out(inst: &Inst) -> Option<bool> {
    Some(source(inst, Role::PD)? == Operand::pt() && source(inst, Role::PD2)? == Operand::pt())
}

/// The summands of an addition of two, which have no flags.
fn two_summands(inst: &Inst) -> Option<[Operand; 2]> {
    let [a, b, c] = [source(inst, Role::A)?, source(inst, Role::B)?, source(inst, Role::C)?];
    (c == Operand::rz() && !a.has_flags() && !b.has_flags()).then_some([a, b])
}

impl Cx<'_> {
    /// Two words as one 64-bit operand: a register pair, a constant's two words, or both constants (`RZ`
    /// where they are zero, the low word else).
    pub(super) fn wide_of(&self, (lo, hi): (Operand, Operand)) -> Option<Operand> {
        if let (Some(low), Some(_)) = (constant(lo), constant(hi)) {
            return Some(super::word(low));
        }
        follows(lo, hi, 1).then(|| self.wide_value(lo, 2)).flatten()
    }

    /// The pair whose high half the instruction writes, and its low half.
    pub(super) fn low_half(&self, inst: &Inst) -> Option<(VReg, Operand)> {
        let (pair, k) = component(self.func, source(inst, Role::D)?)?;
        let is_pair = self.func.vregs[pair].components == 2 && k == 1 && !self.func.vregs[pair].is_fixed();
        is_pair.then(|| (pair, Operand::lo(pair)))
    }

    /// Whether instruction `first` stands close before this place, with nothing in between that reads or
    /// writes the component that it writes.
    pub(super) fn may_sink(&self, first: InstId, (reg, k): (VReg, u8)) -> bool {
        for id in self.out.iter().rev().take(NEAR) {
            if *id == first {
                return true;
            }
            let mut mentioned = false;
            self.func.for_each_reg(*id, |m| mentioned |= m.reg == reg && m.range.contains(&k));
            if mentioned {
                return false;
            }
        }
        false
    }
}

/// A 64-bit sum with a product that was made for it: one IMAD.WIDE.
pub(super) fn product_and_sum(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let Some((low, mut new)) = wide_product_and_sum(cx, inst) else { return Ok(None) };
    if !cx.is_legal(&new) && !factor_in_register(cx, &mut new)? {
        return Ok(None);
    }
    cx.replaced.insert(low);
    Ok(Some(smallvec![new]))
}

/// `IMAD.WIDE` whose addend is a copy of two neighbouring constants adds these themselves: the factor takes one
/// register, and the same for all addresses of a kind, where addends take two each.
pub(super) fn constant_addend(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    if inst.opcode != Opcode::IMAD || mul_field(inst) != mul::WIDE || inst.get(Field::X) != 0 {
        return Ok(None);
    }
    let at = inst.opcode.position(Role::C);
    let Some((at, value)) = at.and_then(|at| Some((at, cx.wide_copy(inst.operands[at])?))) else { return Ok(None) };
    if !matches!(value.kind(), OperandKind::Const { .. }) {
        return Ok(None);
    }
    let mut new = inst.clone();
    new.operands[at] = value;
    Ok(factor_in_register(cx, &mut new)?.then(|| smallvec![new]))
}

/// Lets a product with a constant factor and a constant addend, which no form has, take the factor from a register.
fn factor_in_register(cx: &mut Cx<'_>, inst: &mut Inst) -> Result<bool, BuildError> {
    let (factor, addend) = (source(inst, Role::B).and_then(constant), source(inst, Role::C).map(Operand::kind));
    let (Some(bits), Some(OperandKind::Const { .. }), Some(at)) = (factor, addend, inst.opcode.position(Role::B))
    else {
        return Ok(false);
    };
    inst.operands[at] = cx.constant_register(bits)?;
    Ok(cx.is_legal(inst))
}

fn wide_product_and_sum(cx: &Cx<'_>, inst: &Inst) -> Option<(InstId, Inst)> {
    let (pair, lo) = cx.low_half(inst)?;
    let sum = WideSum::here(cx, inst, lo)?;
    if cx.facts.reads((sum.carry, 0)) > 0 || !cx.may_sink(sum.low, (pair, 0)) {
        return None;
    }
    let [first, second] = sum.summands(cx)?;
    let (at, product, addend) = [(first, second), (second, first)].into_iter().find_map(|(product, addend)| {
        let (at, data) = cx.def_of(product.0)?;
        let same = cx.facts.def_of(cx.func, product.1) == Some(at) && is_plain_product(data);
        same.then_some((at, data, addend))
    })?;
    let addend_holds = cx.holds(addend.0, sum.low);
    let value = cx.wide_of(addend)?;
    let usable = matches!(value.kind(), OperandKind::Reg(..) | OperandKind::Const { .. });
    let factors_hold = [Role::A, Role::B].iter().all(|role| source(product, *role).is_some_and(|o| cx.holds(o, at)));
    if !addend_holds || !usable || !factors_hold {
        return None;
    }
    let mut new = product.clone();
    new.operands[product.opcode.position(Role::D)?] = Operand::reg(pair);
    new.operands[product.opcode.position(Role::C)?] = value;
    Some((sum.low, new))
}

/// `IMAD.WIDE` without addend and carries.
fn is_plain_product(inst: &Inst) -> bool {
    let wide = inst.opcode == Opcode::IMAD && mul_field(inst) == mul::WIDE && inst.get(Field::X) == 0;
    wide && source(inst, Role::C) == Some(Operand::rz()) && source(inst, Role::PD) == Some(Operand::pt())
}

/// A 32-bit value extended to 64 bits and shifted left: one IMAD.WIDE.
pub(super) fn shift_to_product(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let Some((low, new)) = extended_shift(cx, inst) else { return Ok(None) };
    cx.replaced.insert(low);
    Ok(Some(smallvec![new]))
}

/// The halves of a 64-bit left shift, of which the instruction at hand is the second: the first, and the
/// product.
fn extended_shift(cx: &Cx<'_>, inst: &Inst) -> Option<(InstId, Inst)> {
    if inst.opcode != Opcode::SHF || inst.guard().is_some() {
        return None;
    }
    let (pair, k) = component(cx.func, source(inst, Role::D)?)?;
    if cx.func.vregs[pair].components != 2 || cx.func.vregs[pair].is_fixed() {
        return None;
    }
    let (other, first) = cx.def_of(Operand::comp(pair, 1 - k))?;
    let (lower, upper) = if k == 1 { (first, inst) } else { (inst, first) };
    let (a, count, high) = (source(upper, Role::A)?, constant(source(upper, Role::B)?)?, source(upper, Role::C)?);
    let shifts = is_shift(upper, shift_dir::L, &[shift_type::U64, shift_type::S64], true)
        && is_shift(lower, shift_dir::L, &[shift_type::U32, shift_type::S32], false)
        && source(lower, Role::A)? == a
        && constant(source(lower, Role::B)?)? == count;
    let in_place = cx.holds(a, other) && (k == 1 || cx.holds(high, other)) && cx.may_sink(other, (pair, 1 - k));
    if !shifts || !in_place || a.as_reg().is_none_or(|reg| reg == pair) || !(1..=30).contains(&count) {
        return None;
    }
    let extension = if constant(high) == Some(0) { sign::U32 } else { sign_of(cx, a, high)? };
    let mods: Mods = [(Field::Mul, mul::WIDE), (Field::Sign, extension)].into_iter().collect();
    let mut new = Inst::neutral(Opcode::IMAD, mods);
    let roles =
        [(Role::D, Operand::reg(pair)), (Role::A, a), (Role::B, Operand::imm(1 << count)), (Role::C, Operand::rz())];
    for (role, operand) in roles {
        new.operands[Opcode::IMAD.position(role)?] = operand;
    }
    cx.is_legal(&new).then_some((other, new))
}

/// Whether `high` is the sign of `a`, as `SHF.R.S32.HI` makes it.
fn sign_of(cx: &Cx<'_>, a: Operand, high: Operand) -> Option<u8> {
    let (at, shift) = cx.def_of(high)?;
    let signs = is_shift(shift, shift_dir::R, &[shift_type::S32], true)
        && source(shift, Role::C)? == a
        && constant(source(shift, Role::B)?)? == 31;
    (signs && cx.holds(a, at)).then_some(sign::S32)
}

/// Whether it is a shift in this direction, of one of these types, that gives the low or the high word.
pub(super) fn is_shift(inst: &Inst, dir: u8, types: &[u8], high: bool) -> bool {
    inst.opcode == Opcode::SHF
        && inst.get(Field::ShiftDir) == dir
        && types.contains(&inst.get(Field::ShiftType))
        && (inst.get(Field::Hi) == 1) == high
        && inst.get(Field::Wrap) == 0
}

/// The summands of an addition without carries, zeros left out.
pub(super) fn plain_summands(inst: &Inst) -> Option<SmallVec<[Operand; 3]>> {
    if inst.opcode != Opcode::IADD3 || inst.get(Field::X) != 0 || !no_carry_out(inst)? {
        return None;
    }
    let roles = [source(inst, Role::A)?, source(inst, Role::B)?, source(inst, Role::C)?];
    Some(roles.into_iter().filter(|o| *o != Operand::rz()).collect())
}
