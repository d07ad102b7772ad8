//! 64-bit integers by halves.

use crate::error::Lowered;
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::word_ops::{IntCmp, inverted, negated};
use crate::function::{FnLower, ops, word_ops};
use oriole_isa::{Bop, Cmp, Field, Mul, Opcode, Role, ShiftDir, ShiftType, Sign};
use oriole_ori::{Operand, RegType, VReg};

/// The halves of a destination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Halves {
    /// Lower 32 bits.
    pub(super) lo: Operand,
    /// Upper 32 bits.
    pub(super) hi: Operand,
}

impl Halves {
    /// The halves of a pair.
    pub(super) fn of(pair: VReg) -> Halves {
        Halves { lo: Operand::lo(pair), hi: Operand::hi(pair) }
    }
}

/// Carries of a chain of additions: predicates, or absent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Carry {
    /// Added to the lowest word.
    pub(super) input: Option<Operand>,
    /// Takes the carry of the highest word.
    pub(super) output: Option<Operand>,
}

/// A fresh pair and its halves.
pub(crate) fn temp_wide(cx: &mut FnLower<'_, '_>) -> Lowered<(Wide, Halves)> {
    let pair = cx.temp_of(RegType::Pair)?;
    Ok((Wide::of_pair(pair), Halves::of(pair)))
}

/// `d = a + b` with carries in and out, 32 bits.
pub(crate) fn add_carry(cx: &mut FnLower<'_, '_>, d: Operand, a: Operand, b: Operand, carry: Carry) -> Lowered {
    let mut operands = vec![(Role::D, d), (Role::A, a), (Role::B, b)];
    operands.extend(carry.output.map(|p| (Role::PD, p)));
    operands.extend(carry.input.map(|p| (Role::PA, p)));
    cx.emit(Opcode::IADD3, &[Field::X.is(carry.input.is_some())], &operands)?;
    Ok(())
}

/// `d = a - b` with "no borrow" predicates in and out, 32 bits.
pub(crate) fn sub_carry(cx: &mut FnLower<'_, '_>, d: Operand, a: Operand, b: Operand, carry: Carry) -> Lowered {
    match (carry.input, carry.output) {
        (Some(_), _) => add_carry(cx, d, a, inverted(b), carry),
        (None, None) => ops::add(cx, d, a, negated(b)),
        // The carry of a + ~b + 1 is "no borrow" for every b, but not that of a + (-b) for a constant.
        (None, Some(_)) => {
            let b = ops::in_reg(cx, b)?;
            match b.is_zero() {
                true => add_carry(cx, d, a, inverted(b), Carry { input: Some(Operand::pt()), ..carry }),
                false => add_carry(cx, d, a, b.neg(), carry),
            }
        }
    }
}

/// `d = a + b`, 64 bits.
pub(crate) fn wide_add(cx: &mut FnLower<'_, '_>, d: Halves, a: Wide, b: Wide, carry: Carry) -> Lowered {
    let middle = cx.temp_pred()?;
    add_carry(cx, d.lo, a.lo, b.lo, Carry { input: carry.input, output: Some(middle) })?;
    add_carry(cx, d.hi, a.hi, b.hi, Carry { input: Some(middle), output: carry.output })
}

/// `d = a - b`, 64 bits.
pub(crate) fn wide_sub(cx: &mut FnLower<'_, '_>, d: Halves, a: Wide, b: Wide, carry: Carry) -> Lowered {
    if let (Some(bits), None, None) = (b.bits(), carry.input, carry.output) {
        return wide_add(cx, d, a, Wide::of_bits(bits.wrapping_neg()), carry);
    }
    let middle = cx.temp_pred()?;
    sub_carry(cx, d.lo, a.lo, b.lo, Carry { input: carry.input, output: Some(middle) })?;
    sub_carry(cx, d.hi, a.hi, b.hi, Carry { input: Some(middle), output: carry.output })
}

/// `d = -a`, 64 bits.
pub(crate) fn wide_neg(cx: &mut FnLower<'_, '_>, d: Halves, a: Wide) -> Lowered {
    wide_sub(cx, d, Wide::of_bits(0), a, Carry::default())
}

/// `d = p ? a : b`, 64 bits.
pub(crate) fn wide_select(cx: &mut FnLower<'_, '_>, d: Halves, a: Wide, b: Wide, p: Operand) -> Lowered {
    word_ops::select(cx, d.lo, a.lo, b.lo, p)?;
    word_ops::select(cx, d.hi, a.hi, b.hi, p)
}

/// `d = table(a, b)`, 64 bits.
pub(crate) fn wide_logic(cx: &mut FnLower<'_, '_>, d: Halves, table: u8, a: Wide, b: Wide) -> Lowered {
    word_ops::lop2(cx, d.lo, table, a.lo, b.lo)?;
    word_ops::lop2(cx, d.hi, table, a.hi, b.hi)
}

/// `pd = a cmp b`, 64 bits.
pub(crate) fn wide_test(cx: &mut FnLower<'_, '_>, compare: IntCmp, a: Wide, b: Wide) -> Lowered<Operand> {
    let p = cx.temp_pred()?;
    wide_setp(cx, compare, [p, Operand::pt()], a, b, (Bop::AND, Operand::pt()))?;
    Ok(p)
}

/// `pd[0] = (a cmp b) bop c`, `pd[1] = !(a cmp b) bop c`, 64 bits.
pub(crate) fn wide_setp(
    cx: &mut FnLower<'_, '_>,
    compare: IntCmp,
    [pd, pd2]: [Operand; 2],
    a: Wide,
    b: Wide,
    (bop, c): (Bop, Operand),
) -> Lowered {
    let low = word_ops::test(cx, IntCmp::unsigned(compare.cmp), a.lo, b.lo)?;
    let [cmp, sign] = compare.fields();
    cx.emit(
        Opcode::ISETP,
        &[cmp, sign, Field::BOP.is(bop), Field::EX.is(true)],
        &[(Role::PD, pd), (Role::PD2, pd2), (Role::A, a.hi), (Role::B, b.hi), (Role::PA, c), (Role::PB, low)],
    )?;
    Ok(())
}

/// `d = least ? min(a, b) : max(a, b)`, 64 bits.
pub(crate) fn wide_minmax(cx: &mut FnLower<'_, '_>, signed: bool, least: bool, d: Halves, a: Wide, b: Wide) -> Lowered {
    let which = if least { Cmp::LT } else { Cmp::GT };
    let p = wide_test(cx, IntCmp { cmp: which, signed }, a, b)?;
    wide_select(cx, d, a, b, p)
}

/// `d = value << count`; counts above 63 give zero. `d` may not be the pair of `value`.
pub(crate) fn wide_shl(cx: &mut FnLower<'_, '_>, d: Halves, value: Wide, count: Operand) -> Lowered {
    word_ops::funnel(cx, d.hi, [value.lo, count, value.hi], ShiftDir::L, ShiftType::U64, true)?;
    word_ops::shift_left(cx, d.lo, value.lo, count)
}

/// `d = value >> count`; counts above 63 give zero, or the sign. `d` may not be the pair of `value`.
pub(crate) fn wide_shr(cx: &mut FnLower<'_, '_>, signed: bool, d: Halves, value: Wide, count: Operand) -> Lowered {
    let kind = if signed { ShiftType::S64 } else { ShiftType::U64 };
    word_ops::funnel(cx, d.lo, [value.lo, count, value.hi], ShiftDir::R, kind, false)?;
    word_ops::shift_right(cx, signed, d.hi, value.hi, count)
}

/// `d = low 64 bits of (a * b + c)`.
pub(crate) fn wide_mad_lo(cx: &mut FnLower<'_, '_>, d: Halves, a: Wide, b: Wide, c: Option<Wide>) -> Lowered {
    let c = match c {
        Some(c) => ops::in_pair(cx, c)?,
        None => Operand::rz(),
    };
    let product = cx.temp_of(RegType::Pair)?;
    let cross = cx.temp()?;
    word_ops::imad_wide(cx, false, Operand::reg(product), a.lo, b.lo, c)?;
    word_ops::imad(cx, cross, a.hi, b.lo, Operand::hi(product))?;
    word_ops::imad(cx, d.hi, a.lo, b.hi, cross)?;
    ops::mov(cx, d.lo, Operand::lo(product))
}

/// `d = high 64 bits of the 128-bit product a * b`.
pub(crate) fn wide_mul_hi(cx: &mut FnLower<'_, '_>, signed: bool, d: Halves, a: Wide, b: Wide) -> Lowered {
    if !signed {
        return wide_mul_hi_unsigned(cx, d, a, b);
    }
    // The signed product is the unsigned one less b where a is negative and a where b is.
    let (plain, plain_d) = temp_wide(cx)?;
    wide_mul_hi_unsigned(cx, plain_d, a, b)?;
    let (b_part, b_part_d) = temp_wide(cx)?;
    where_negative(cx, b_part_d, b, a.hi)?;
    let (a_part, a_part_d) = temp_wide(cx)?;
    where_negative(cx, a_part_d, a, b.hi)?;
    let (partial, partial_d) = temp_wide(cx)?;
    wide_sub(cx, partial_d, plain, b_part, Carry::default())?;
    wide_sub(cx, d, partial, a_part, Carry::default())
}

/// `d = value` where `sign` is negative, else 0.
fn where_negative(cx: &mut FnLower<'_, '_>, d: Halves, value: Wide, sign: Operand) -> Lowered {
    let mask = cx.temp()?;
    word_ops::shift_right(cx, true, mask, sign, Operand::imm(31))?;
    word_ops::lop2(cx, d.lo, lut::AND, mask, value.lo)?;
    word_ops::lop2(cx, d.hi, lut::AND, mask, value.hi)
}

/// Schoolbook multiplication, as ptxas 13.0.88 does it: both cross products are summed with the carry in a predicate, so that only
/// the highest product needs an addend put together.
fn wide_mul_hi_unsigned(cx: &mut FnLower<'_, '_>, d: Halves, a: Wide, b: Wide) -> Lowered {
    let low = product_carry(cx, [a.lo, b.lo, Operand::rz()], Carry::default())?;
    let cross = product_carry(cx, [a.hi, b.lo, Operand::rz()], Carry::default())?;
    let crosses_carry = cx.temp_pred()?;
    let with_output = Carry { input: None, output: Some(crosses_carry) };
    let crosses = product_carry(cx, [a.lo, b.hi, Operand::reg(cross)], with_output)?;
    let addend = cx.temp_of(RegType::Pair)?;
    ops::mov(cx, Operand::lo(addend), Operand::hi(crosses))?;
    let from_crosses = Carry { input: Some(crosses_carry), output: None };
    add_carry(cx, Operand::hi(addend), Operand::rz(), Operand::rz(), from_crosses)?;
    let middle_carry = cx.temp_pred()?;
    let middle = Carry { input: None, output: Some(middle_carry) };
    add_carry(cx, Operand::rz(), Operand::hi(low), Operand::lo(crosses), middle)?;
    let from_middle = Carry { input: Some(middle_carry), output: None };
    let top = product_carry(cx, [a.hi, b.hi, Operand::reg(addend)], from_middle)?;
    ops::mov(cx, d.lo, Operand::lo(top))?;
    ops::mov(cx, d.hi, Operand::hi(top))
}

/// `a * b + c` of words, unsigned, with `c` and the result 64 bits wide, and carries in and out.
fn product_carry(cx: &mut FnLower<'_, '_>, [a, b, c]: [Operand; 3], carry: Carry) -> Lowered<VReg> {
    let pair = cx.temp_of(RegType::Pair)?;
    let mut operands = vec![(Role::D, Operand::reg(pair)), (Role::A, a), (Role::B, b), (Role::C, c)];
    operands.extend(carry.output.map(|p| (Role::PD, p)));
    operands.extend(carry.input.map(|p| (Role::PA, p)));
    let fields = [Field::MUL.is(Mul::WIDE), Field::SIGN.is(Sign::U32), Field::X.is(carry.input.is_some())];
    cx.emit(Opcode::IMAD, &fields, &operands)?;
    Ok(pair)
}
