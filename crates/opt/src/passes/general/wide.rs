//! 64-bit values as pairs: sums in two instructions, products and shifts.

use super::copies::follows;
use super::source;
use super::table::known_bit;
use super::{Cx, Rewrite, constant, mul_field};
use oriole_isa::{Field, Mods, Mul, Opcode, Role, ShiftDir, ShiftType, Sign};
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
    pub(super) carry: VReg,
}

impl WideSum {
    /// The sum whose high word the instruction computes, if `lo` is its low word (any, if `None`).
    pub(super) fn ending(cx: &Cx<'_>, high: &Inst, lo: Option<Operand>) -> Option<WideSum> {
        if high.opcode != Opcode::IADD3 || !high.get(Field::X) || high.guard().is_some() {
            return None;
        }
        let carry = source(high, Role::PA)?;
        let one_carry = known_bit(source(high, Role::PB)?) == Some(false) && !carry.is_not();
        let low = cx.full_definition(carry.as_reg()?)?;
        let first = &cx.func[low];
        let plain = first.opcode == Opcode::IADD3 && !first.get(Field::X);
        let writes = lo.is_none_or(|lo| source(first, Role::D) == Some(lo)) && source(first, Role::PD)? == carry;
        let lone_carry = source(first, Role::PD2)? == Operand::pt();
        if !(one_carry && plain && writes && lone_carry && no_carry_out(high)?) {
            return None;
        }
        let (lows, highs) = (two_summands(first)?, two_summands(high)?);
        // A high word that adds the low one is no half of a sum that is computed at once.
        let apart = source(first, Role::D).is_none_or(|lo| !highs.contains(&lo));
        apart.then_some(WideSum { low, lows, highs, carry: carry.as_reg()? })
    }

    /// Its words, if the low one can be computed where `high` computes the high one.
    pub(super) fn movable(&self, cx: &Cx<'_>, high: &Inst) -> Option<[VReg; 2]> {
        let (lo, hi) = (source(&cx.func[self.low], Role::D)?.as_reg()?, source(high, Role::D)?.as_reg()?);
        let values = cx.func.is_value(lo) && cx.func.is_value(hi);
        (values && cx.reads(self.carry) == 0 && cx.may_sink(self.low)).then_some([lo, hi])
    }

    /// The two 64-bit summands as pairs of words, arranged so that words that belong together stand together.
    pub(super) fn summands(&self, cx: &Cx<'_>) -> Option<[(Operand, Operand); 2]> {
        let ([a, b], [c, d]) = (self.lows, self.highs);
        let straight = [(a, c), (b, d)];
        let crossed = [(a, d), (b, c)];
        [straight, crossed].into_iter().find(|pairs| pairs.iter().all(|pair| cx.belong(*pair)))
    }
}

fn no_carry_out(inst: &Inst) -> Option<bool> {
    Some(source(inst, Role::PD)? == Operand::pt() && source(inst, Role::PD2)? == Operand::pt())
}

/// The summands of an addition of two, which have no flags.
pub(crate) fn two_summands(inst: &Inst) -> Option<[Operand; 2]> {
    let [a, b, c] = [source(inst, Role::A)?, source(inst, Role::B)?, source(inst, Role::C)?];
    (c == Operand::rz() && !a.has_flags() && !b.has_flags()).then_some([a, b])
}

impl Cx<'_> {
    /// Whether two words are those of one 64-bit value: neighbouring words of a variable, of one instruction's result or
    /// of a constant bank, or constants.
    fn belong(&self, (lo, hi): (Operand, Operand)) -> bool {
        if constant(lo).is_some() && constant(hi).is_some() {
            return true;
        }
        let (Some(low), Some(high)) = (lo.as_reg(), hi.as_reg()) else {
            // One of two words of a bank may stand in a register, where there was room for one alone.
            let in_bank = |word: Operand| match self.copied(word) {
                Some(copied) if matches!(copied.kind(), OperandKind::Const { .. }) => copied,
                _ => word,
            };
            return follows(in_bank(lo), in_bank(hi), 1);
        };
        let home = |reg: VReg| self.func[reg].home;
        let of_one_variable = home(low) != 0 && home(high) == home(low) + 1;
        let results = self.def_of(lo).and_then(|inst| self.pair(source(inst, Role::D)?));
        of_one_variable || results == Some([low, high])
    }

    /// Two words that belong together as one 64-bit operand: a tuple, a constant's two words, or both constants (`RZ`
    /// where they are zero, the low word else).
    pub(super) fn wide_of(&mut self, (lo, hi): (Operand, Operand)) -> Option<Operand> {
        if let (Some(low), Some(_)) = (constant(lo), constant(hi)) {
            return Some(super::word(low));
        }
        match (lo.as_reg(), hi.as_reg(), lo.kind()) {
            (Some(low), Some(high), _) => Some(self.func.tuple(&[low, high])),
            (None, None, OperandKind::Const { offset, .. }) => (follows(lo, hi, 1) && offset % 8 == 0).then_some(lo),
            _ => None,
        }
    }

    /// The instruction of a kind among the last few, if nothing since reads what it writes.
    pub(super) fn recent(&self, suits: impl Fn(&Inst) -> bool) -> Option<(InstId, &Inst)> {
        let recent = self.passed().iter().rev().take(NEAR).filter(|id| !self.replaced.contains(**id));
        let found = *recent.into_iter().find(|id| suits(&self.func[**id]))?;
        self.may_sink(found).then(|| (found, &self.func[found]))
    }

    /// Whether instruction `first` stands close before this place, with nothing in between that reads what it writes.
    fn may_sink(&self, first: InstId) -> bool {
        let mut written: SmallVec<[VReg; 4]> = SmallVec::new();
        self.func.for_each_def(first, |mention| written.push(mention.reg));
        for id in self.passed().iter().rev().take(NEAR) {
            if *id == first {
                return true;
            }
            let mut read = false;
            self.func.for_each_use(*id, |mention| read |= written.contains(&mention.reg));
            if read {
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
    if inst.opcode != Opcode::IMAD || mul_field(inst) != Mul::WIDE || inst.get(Field::X) {
        return Ok(None);
    }
    let at = inst.position(Role::C);
    let Some((at, value)) = at.and_then(|at| Some((at, cx.wide_constant(inst.operands[at])?))) else { return Ok(None) };
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
    let (Some(bits), Some(OperandKind::Const { .. }), Some(at)) = (factor, addend, inst.position(Role::B)) else {
        return Ok(false);
    };
    inst.operands[at] = cx.constant_register(bits)?;
    Ok(cx.is_legal(inst))
}

fn wide_product_and_sum(cx: &mut Cx<'_>, inst: &Inst) -> Option<(InstId, Inst)> {
    let sum = WideSum::ending(cx, inst, None)?;
    let [lo, hi] = sum.movable(cx, inst)?;
    let [first, second] = sum.summands(cx)?;
    let (mut new, addend) = [(first, second), (second, first)].into_iter().find_map(|(product, addend)| {
        let data = cx.def_of(product.0)?;
        let whole = cx.pair(source(data, Role::D)?)? == [product.0.as_reg()?, product.1.as_reg()?];
        (whole && is_plain_product(data)).then(|| (data.clone(), addend))
    })?;
    let stable = [Role::A, Role::B].iter().all(|role| source(&new, *role).is_some_and(|o| cx.is_stable(o)));
    let value = cx.wide_of(addend)?;
    let usable = matches!(value.kind(), OperandKind::Tuple(_) | OperandKind::Const { .. });
    if !stable || !usable || !cx.is_stable(addend.0) || !cx.is_stable(addend.1) {
        return None;
    }
    new.set_role(Role::D, cx.func.tuple(&[lo, hi]));
    new.set_role(Role::C, value);
    Some((sum.low, new))
}

/// `IMAD.WIDE` without addend and carries.
fn is_plain_product(inst: &Inst) -> bool {
    let wide = inst.opcode == Opcode::IMAD && mul_field(inst) == Mul::WIDE && !inst.get(Field::X);
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
fn extended_shift(cx: &mut Cx<'_>, inst: &Inst) -> Option<(InstId, Inst)> {
    if inst.opcode != Opcode::SHF || inst.guard().is_some() {
        return None;
    }
    let is_upper = |inst: &Inst| is_shift(inst, ShiftDir::L, &[ShiftType::U64, ShiftType::S64], true);
    let is_lower = |inst: &Inst| is_shift(inst, ShiftDir::L, &[ShiftType::U32, ShiftType::S32], false);
    let (a, count) = (source(inst, Role::A)?, constant(source(inst, Role::B)?)?);
    let same =
        |other: &Inst| source(other, Role::A) == Some(a) && source(other, Role::B).and_then(constant) == Some(count);
    let (first, lower, upper) = match (is_upper(inst), is_lower(inst)) {
        (true, _) => {
            cx.recent(|other| is_lower(other) && same(other)).map(|(id, other)| (id, other.clone(), inst.clone()))
        }
        (_, true) => {
            cx.recent(|other| is_upper(other) && same(other)).map(|(id, other)| (id, inst.clone(), other.clone()))
        }
        _ => None,
    }?;
    let high = source(&upper, Role::C)?;
    let (lo, hi) = (source(&lower, Role::D)?.as_reg()?, source(&upper, Role::D)?.as_reg()?);
    let plain = lower.guard().is_none() && upper.guard().is_none() && cx.func.is_value(lo) && cx.func.is_value(hi);
    let stable = cx.is_stable(a) && cx.is_stable(high) && a.as_reg().is_some();
    if !plain || !stable || !(1..=30).contains(&count) {
        return None;
    }
    let extension = if constant(high) == Some(0) { Sign::U32 } else { sign_of(cx, a, high)? };
    let mods: Mods = [Field::MUL.is(Mul::WIDE), Field::SIGN.is(extension)].into_iter().collect();
    let mut new = Inst::neutral(Opcode::IMAD, mods);
    let pair = cx.func.tuple(&[lo, hi]);
    let roles = [(Role::D, pair), (Role::A, a), (Role::B, Operand::imm(1 << count)), (Role::C, Operand::rz())];
    roles.into_iter().for_each(|(role, operand)| new.set_role(role, operand));
    cx.is_legal(&new).then_some((first, new))
}

/// Whether `high` is the sign of `a`, as `SHF.R.S32.HI` makes it.
fn sign_of(cx: &Cx<'_>, a: Operand, high: Operand) -> Option<Sign> {
    let shift = cx.def_of(high)?;
    let signs = is_shift(shift, ShiftDir::R, &[ShiftType::S32], true)
        && source(shift, Role::C)? == a
        && constant(source(shift, Role::B)?)? == 31;
    (signs && cx.is_stable(a)).then_some(Sign::S32)
}

/// Whether it is a shift in this direction, of one of these types, that gives the low or the high word.
pub(super) fn is_shift(inst: &Inst, dir: ShiftDir, types: &[ShiftType], high: bool) -> bool {
    inst.opcode == Opcode::SHF
        && inst.get(Field::SHIFT_DIR) == dir
        && types.contains(&inst.get(Field::SHIFT_TYPE))
        && inst.get(Field::HI) == high
        && !inst.get(Field::WRAP)
}

/// The summands of an addition without carries, zeros left out.
pub(super) fn plain_summands(inst: &Inst) -> Option<SmallVec<[Operand; 3]>> {
    if inst.opcode != Opcode::IADD3 || inst.get(Field::X) || !no_carry_out(inst)? {
        return None;
    }
    let roles = [source(inst, Role::A)?, source(inst, Role::B)?, source(inst, Role::C)?];
    Some(roles.into_iter().filter(|o| *o != Operand::rz()).collect())
}
