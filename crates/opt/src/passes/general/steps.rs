//! Constants that are added to 64-bit addresses one after the other, as unrolled loops do: they go to the end, where accesses take
//! them as offsets.

use super::address::{constant_part, takes_offset, wide_base};
use super::wide::WideSum;
use super::{Cx, Rewrite, mul_field, source, word};
use oriole_isa::{Field, Mods, Mul, Opcode, Role};
use oriole_ori::{BuildError, Inst, InstId, Operand, RegType, VReg};
use smallvec::smallvec;

/// A value that more read keeps its place: each of them would be looked at.
const MOST_READERS: u32 = 64;

/// `IMAD.WIDE` that adds a base and a constant, for accesses alone: the constant is added behind the product, where they fold it.
pub(super) fn of_product(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let Some((pair, base, value)) = product_and_constant(cx, inst) else { return Ok(None) };
    let (lo, hi, carry) = (cx.func.new_vreg(RegType::R)?, cx.func.new_vreg(RegType::R)?, cx.func.new_vreg(RegType::P)?);
    let mut product = inst.clone();
    product.set_role(Role::D, cx.func.tuple(&[lo, hi]));
    product.set_role(Role::C, base);
    let [low, high] = sum(pair, [lo, hi].map(Operand::reg), carry, value);
    Ok(cx.is_legal(&product).then(|| smallvec![product, low, high]))
}

/// The results of such a product, the base, and the constant.
fn product_and_constant(cx: &mut Cx<'_>, inst: &Inst) -> Option<([VReg; 2], Operand, i64)> {
    let is_plain = inst.opcode == Opcode::IMAD && mul_field(inst) == Mul::WIDE && !inst.get(Field::X);
    if !is_plain || inst.guard().is_some() || source(inst, Role::PD)? != Operand::pt() {
        return None;
    }
    let (pair, addend) = (cx.pair(source(inst, Role::D)?)?, source(inst, Role::C)?);
    let (base, value) = constant_part(cx, addend)?;
    let lists = cx.func.def_use()?;
    let alone = |reg: VReg| {
        lists.count(reg) <= MOST_READERS && lists.users(reg).all(|user| takes_offset(cx, &cx.func[user], pair, value))
    };
    (!addend.has_flags() && pair.into_iter().all(alone)).then_some((pair, base, value))
}

/// A sum with a constant whose other summand is one too: one constant.
pub(super) fn of_sums(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let Some((low, rewrite)) = of_sum(cx, inst) else { return Ok(None) };
    cx.replaced.insert(low);
    Ok(Some(rewrite))
}

fn of_sum(cx: &mut Cx<'_>, inst: &Inst) -> Option<(InstId, Rewrite)> {
    let wide = WideSum::ending(cx, inst, None)?;
    let pair = wide.movable(cx, inst)?;
    let whole = cx.func.tuple(&pair);
    let (base, value) = constant_part(cx, whole)?;
    let [lo, hi] = cx.pair(base)?;
    // One step is what the sum is already.
    let (first, step) = wide_base(cx, whole)?;
    if first == base || !is_passed_over(cx, first, value.wrapping_sub(step)) {
        return None;
    }
    let [low_sum, high_sum] = sum(pair, [lo, hi].map(Operand::reg), wide.carry, value);
    (cx.is_legal(&low_sum) && cx.is_legal(&high_sum)).then(|| (wide.low, smallvec![low_sum, high_sum]))
}

/// Whether a sum with a constant, that much behind its base, is read by accesses that fold the constant, by products and by further such sums alone. One
/// that lives on for another reader is the nearer base: the far one would live as long as well.
fn is_passed_over(cx: &Cx<'_>, sum: Operand, value: i64) -> bool {
    let Some((pair, lists)) = cx.pair(sum).zip(cx.func.def_use()) else { return false };
    let adds = |user: &Inst| {
        let constants = [Role::A, Role::B, Role::C].into_iter().filter_map(|role| source(user, role)?.as_imm()).count();
        match user.opcode {
            Opcode::IADD3 => constants == 1,
            // The constant goes behind the product.
            opcode => opcode == Opcode::IMAD && mul_field(user) == Mul::WIDE,
        }
    };
    pair.into_iter().all(|reg| {
        let users = || lists.users(reg).map(|user| &cx.func[user]);
        lists.count(reg) <= MOST_READERS && users().all(|user| adds(user) || takes_offset(cx, user, pair, value))
    })
}

/// `pair = base + value`, by way of a carry.
fn sum(pair: [VReg; 2], base: [Operand; 2], carry: VReg, value: i64) -> [Inst; 2] {
    debug_assert_ne!(value, 0, "somebody added something");
    let mut low = Inst::neutral(Opcode::IADD3, Mods::new());
    low.set_role(Role::D, Operand::reg(pair[0]));
    low.set_role(Role::PD, Operand::reg(carry));
    low.set_role(Role::A, base[0]);
    low.set_role(Role::B, word(value as u32));
    let mut high = Inst::neutral(Opcode::IADD3, std::iter::once(Field::X.is(true)).collect());
    high.set_role(Role::D, Operand::reg(pair[1]));
    high.set_role(Role::A, base[1]);
    high.set_role(Role::B, word((value >> 32) as u32));
    high.set_role(Role::PA, Operand::reg(carry));
    [low, high]
}
