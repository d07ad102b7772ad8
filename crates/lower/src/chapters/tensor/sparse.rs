//! Sparse products of 8-bit floats as two sparse products of halves.
//!
//! Four columns of A, of which two are stored, make a group; a thread's word of A holds two groups, a word of B four
//! rows: one group. The first product takes the even groups, the second the odd ones. In a word of A these are
//! its lower and its upper half. The instruction on halves wants the four rows of a group in two neighbouring
//! threads, two in each, so neighbours exchange halves of their words of B; and it wants the metadata of two
//! threads in the halves of one word.

use crate::chapters::tensor::product::Sparsity;
use crate::error::Lowered;
use crate::function::ops::lut;
use crate::function::{FnLower, ops, special, word_ops};
use oriole_isa::Role::{A, B, C, D, PD};
use oriole_isa::{Cmp, Field, Opcode as Sass, Shfl};
use oriole_ori::Operand;

/// SHFL: four lanes are a segment; all lanes are one.
const IN_QUADS: u32 = 28 << 8 | 31;
const IN_WARP: u32 = 31;

/// PRMT selectors: the lower, the upper halves of two words.
const LOWER_HALVES: u32 = 0x5410;
const UPPER_HALVES: u32 = 0x7632;

/// What tells the threads apart.
pub(crate) struct Place {
    lane: Operand,
    /// The lane's number is odd.
    odd: Operand,
}

/// Which thread this is.
pub(crate) fn place(cx: &mut FnLower<'_, '_>) -> Lowered<Place> {
    let lane = special::hardware_register(cx, "SR_LANEID")?;
    let odd = bit_of(cx, lane, 1)?;
    Ok(Place { lane, odd })
}

/// True where the lane's number has that bit.
fn bit_of(cx: &mut FnLower<'_, '_>, lane: Operand, bit: u32) -> Lowered<Operand> {
    let (masked, set) = (cx.temp()?, cx.temp_pred()?);
    ops::lop3(cx, masked, lane, Operand::imm(bit), Operand::rz(), lut::AND)?;
    ops::isetp(cx, set, Cmp::NE, false, masked, Operand::rz())?;
    Ok(set)
}

/// `value` of another lane.
fn shuffle(cx: &mut FnLower<'_, '_>, mode: Shfl, value: Operand, lane: Operand, clamp: u32) -> Lowered<Operand> {
    let to = cx.temp()?;
    let operands = [(D, to), (PD, Operand::pt()), (A, value), (B, lane), (C, Operand::imm(clamp))];
    let added = cx.emit(Sass::SHFL, &[Field::SHFL.is(mode)], &operands)?;
    cx.func.edit().update(added, |inst| inst.flags |= oriole_ori::InstFlags::ADDED);
    Ok(to)
}

/// `to` = bytes of `b:a`, chosen by one constant where `pred` is true, by another where it is not.
fn permute(cx: &mut FnLower<'_, '_>, pred: Operand, selectors: [u32; 2], a: Operand, b: Operand) -> Lowered<Operand> {
    let (selector, to) = (cx.temp()?, cx.temp()?);
    let first = ops::in_reg(cx, Operand::imm(selectors[0]))?;
    ops::sel(cx, selector, pred, first, Operand::imm(selectors[1]))?;
    cx.emit(Sass::PRMT, &[], &[(D, to), (A, a), (B, selector), (C, b)])?;
    Ok(to)
}

/// Words of B whose lower halves are for the product of the even groups, the upper ones for the odd groups.
pub(crate) fn spread(cx: &mut FnLower<'_, '_>, place: &Place, words: &[Operand]) -> Lowered<Vec<Operand>> {
    let mut result = Vec::new();
    for pair in words.chunks(2) {
        let first = ops::in_reg(cx, pair[0])?;
        let second = ops::in_reg(cx, pair.get(1).copied().unwrap_or(Operand::rz()))?;
        // Even threads give rows 2 and 3 of their group, odd ones rows 0 and 1.
        let given = permute(cx, place.odd, [LOWER_HALVES, UPPER_HALVES], first, second)?;
        let got = shuffle(cx, Shfl::BFLY, given, Operand::imm(1), IN_WARP)?;
        result.push(permute(cx, place.odd, [0x3254, 0x5410], first, got)?);
        result.push(permute(cx, place.odd, [0x3276, 0x7610], second, got)?);
    }
    result.truncate(words.len());
    Ok(result)
}

/// The metadata of both products: threads 0 and 1 of four have that of the even groups, 2 and 3 of the odd ones.
pub(crate) fn metadata(cx: &mut FnLower<'_, '_>, place: &Place, sparsity: Sparsity) -> Lowered<Operand> {
    let groups = even_then_odd(cx, sparsity.metadata)?;
    let (source, next) = (cx.temp()?, cx.temp()?);
    word_ops::shift_left(cx, source, place.lane, Operand::imm(1))?;
    ops::add(cx, next, source, Operand::imm(1))?;
    let first = shuffle(cx, Shfl::IDX, groups, source, IN_QUADS)?;
    let second = shuffle(cx, Shfl::IDX, groups, next, IN_QUADS)?;
    let for_odd = bit_of(cx, place.lane, 2)?;
    permute(cx, for_odd, [UPPER_HALVES, LOWER_HALVES], first, second)
}

/// The metadata of the even groups, four bits each, in the lower half, that of the odd ones in the upper half.
fn even_then_odd(cx: &mut FnLower<'_, '_>, metadata: Operand) -> Lowered<Operand> {
    /// The second of four groups, which changes places with the third.
    const SECOND: u32 = 0x00f0_00f0;
    /// `(A ^ B) & C`
    const DIFFERENCE: u8 = (0xf0 ^ 0xcc) & 0xaa;
    /// `A ^ B ^ C`
    const XOR3: u8 = 0xf0 ^ 0xcc ^ 0xaa;
    let (above, change, back, mixed, to) = (cx.temp()?, cx.temp()?, cx.temp()?, cx.temp()?, cx.temp()?);
    word_ops::shift_right(cx, false, above, metadata, Operand::imm(4))?;
    let second = ops::in_reg(cx, Operand::imm(SECOND))?;
    ops::lop3(cx, change, above, metadata, second, DIFFERENCE)?;
    word_ops::shift_left(cx, back, change, Operand::imm(4))?;
    ops::lop3(cx, mixed, metadata, change, back, XOR3)?;
    ops::prmt(cx, to, mixed, 0x3120, Operand::rz())?;
    Ok(to)
}
