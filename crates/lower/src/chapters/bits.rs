//! Counting, finding, extracting and inserting bits; dot products of small integers.

use crate::chapters::integer::operands;
use crate::chapters::wide::{Carry, Halves};
use crate::chapters::{calls, wide};
use crate::error::Lowered;
use crate::function::operands::Wide;
use crate::function::ops::{lut, sign_of};
use crate::function::word_ops::IntCmp;
use crate::function::{FnLower, destinations, ops, sources, word_ops};
use crate::handler::{Chapter, unknown};
use oriole_isa::{DotA, DotB, DotN, Field, Opcode};
use oriole_ori::Operand;
use oriole_ptx::ast::{Instruction, Opcode as Ptx, ScalarType, Word};

/// The opcodes of this file.
pub(crate) const CHAPTER: Chapter = &[
    (Ptx::Popc, popc),
    (Ptx::Clz, clz),
    (Ptx::Brev, brev),
    (Ptx::Bfind, bfind),
    (Ptx::Bfe, bfe),
    (Ptx::Bfi, bfi),
    (Ptx::Bmsk, bmsk),
    (Ptx::Szext, szext),
    (Ptx::Fns, fns),
    (Ptx::Dp4a, dot_product),
    (Ptx::Dp2a, dot_product),
];

fn is_wide(inst: &Instruction) -> bool {
    inst.last_type().is_some_and(|ty| ty.bits() == 64)
}

fn is_signed(inst: &Instruction) -> bool {
    inst.last_type().is_some_and(ScalarType::is_signed)
}

fn popc(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    if !is_wide(inst) {
        let a = sources::src(cx, a)?;
        let d = destinations::dst(cx, d)?;
        return word_ops::op1(cx, Opcode::POPC, &[], d, a);
    }
    let a = sources::src64(cx, a)?;
    let (low, high) = (cx.temp()?, cx.temp()?);
    word_ops::op1(cx, Opcode::POPC, &[], low, a.lo)?;
    word_ops::op1(cx, Opcode::POPC, &[], high, a.hi)?;
    let d = destinations::dst(cx, d)?;
    ops::add(cx, d, low, high)
}

fn clz(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let (word, top) = if is_wide(inst) {
        let a = sources::src64(cx, a)?;
        let high = word_ops::test(cx, IntCmp::NE, a.hi, Operand::rz())?;
        let (word, top) = (cx.temp()?, cx.temp()?);
        word_ops::select(cx, word, a.hi, a.lo, high)?;
        let (narrow, wide) = (cx.temp()?, Operand::imm(63));
        ops::mov(cx, narrow, Operand::imm(31))?;
        word_ops::select(cx, top, narrow, wide, high)?;
        (word, top)
    } else {
        (sources::src(cx, a)?, Operand::imm(31))
    };
    let position = cx.temp()?;
    word_ops::op1(cx, Opcode::FLO, &[Field::SIGN.is(sign_of(false))], position, word)?;
    let d = destinations::dst(cx, d)?;
    ops::add(cx, d, position.neg(), top)
}

fn brev(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    if !is_wide(inst) {
        let a = sources::src(cx, a)?;
        let d = destinations::dst(cx, d)?;
        return word_ops::op1(cx, Opcode::BREV, &[], d, a);
    }
    let a = sources::src64(cx, a)?;
    let d = destinations::dst64(cx, d, &[a])?;
    word_ops::op1(cx, Opcode::BREV, &[], d.lo, a.hi)?;
    word_ops::op1(cx, Opcode::BREV, &[], d.hi, a.lo)
}

fn bfind(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let shift = inst.has(Word::Shiftamt);
    if is_wide(inst) {
        let a = sources::src64(cx, a)?;
        let position = find_wide(cx, a, is_signed(inst))?;
        let d = destinations::dst(cx, d)?;
        if !shift {
            return ops::mov(cx, d, position);
        }
        let none = word_ops::test(cx, IntCmp::EQ, position, Operand::imm(u32::MAX))?;
        let amount = cx.temp()?;
        ops::add(cx, amount, position.neg(), Operand::imm(63))?;
        return word_ops::select(cx, d, position, amount, none);
    }
    let a = sources::src(cx, a)?;
    let d = destinations::dst(cx, d)?;
    word_ops::op1(cx, Opcode::FLO, &[Field::SIGN.is(sign_of(is_signed(inst))), Field::SH.is(shift)], d, a)
}

/// Position of the highest bit that is set (signed: that differs from the sign), or all ones.
fn find_wide(cx: &mut FnLower<'_, '_>, mut a: Wide, signed: bool) -> Lowered<Operand> {
    if signed {
        let sign = cx.temp()?;
        word_ops::shift_right(cx, true, sign, a.hi, Operand::imm(31))?;
        let (magnitude, d) = wide::temp_wide(cx)?;
        wide::wide_logic(cx, d, lut::XOR, Wide::of_halves(sign, sign), a)?;
        a = magnitude;
    }
    let (low, high, raised, position) = (cx.temp()?, cx.temp()?, cx.temp()?, cx.temp()?);
    let unsigned = [Field::SIGN.is(sign_of(false))];
    word_ops::op1(cx, Opcode::FLO, &unsigned, low, a.lo)?;
    word_ops::op1(cx, Opcode::FLO, &unsigned, high, a.hi)?;
    ops::add(cx, raised, high, Operand::imm(32))?;
    let upper = word_ops::test(cx, IntCmp::NE, a.hi, Operand::rz())?;
    word_ops::select(cx, position, raised, low, upper)?;
    Ok(position)
}

/// The low byte of a position or length. The 64-bit forms take the whole word, as ptxas does: PTX
/// leaves values above 255 open.
fn count(cx: &mut FnLower<'_, '_>, operand: &oriole_ptx::ast::Operand) -> Lowered<Operand> {
    let value = sources::src(cx, operand)?;
    word_ops::extended(cx, value, 8, false)
}

/// `(1 << length) - 1`, 64 bits; all ones from length 64 on.
fn wide_mask(cx: &mut FnLower<'_, '_>, length: Operand) -> Lowered<Wide> {
    let one = cx.temp()?;
    ops::mov(cx, one, Operand::imm(1))?;
    let (power, power_d) = wide::temp_wide(cx)?;
    wide::wide_shl(cx, power_d, Wide::of_halves(one, Operand::rz()), length)?;
    let (mask, mask_d) = wide::temp_wide(cx)?;
    wide::wide_add(cx, mask_d, power, Wide::of_bits(u64::MAX), Carry::default())?;
    Ok(mask)
}

fn bfe(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, position, length] = operands(inst)?;
    let signed = is_signed(inst);
    if !is_wide(inst) {
        let (a, position, length) = (sources::src(cx, a)?, count(cx, position)?, count(cx, length)?);
        let low = cx.temp()?;
        word_ops::shift_right(cx, signed, low, a, position)?;
        let d = destinations::dst(cx, d)?;
        return word_ops::op2(cx, Opcode::SGXT, &[Field::SIGN.is(sign_of(signed))], d, low, length);
    }
    let (a, position, length) = (sources::src64(cx, a)?, sources::src(cx, position)?, sources::src(cx, length)?);
    let (low, low_d) = wide::temp_wide(cx)?;
    wide::wide_shr(cx, signed, low_d, a, position)?;
    if !signed {
        let mask = wide_mask(cx, length)?;
        let d: Halves = destinations::dst64_direct(cx, d)?.into();
        return wide::wide_logic(cx, d, lut::AND, low, mask);
    }
    // To the top and back: shifting by 64 for an empty field leaves nothing.
    let (used, unused) = (cx.temp()?, cx.temp()?);
    word_ops::imnmx(cx, false, true, used, length, Operand::imm(64))?;
    ops::add(cx, unused, used.neg(), Operand::imm(64))?;
    let (top, top_d) = wide::temp_wide(cx)?;
    wide::wide_shl(cx, top_d, low, unused)?;
    let d: Halves = destinations::dst64_direct(cx, d)?.into();
    wide::wide_shr(cx, true, d, top, unused)
}

fn bfi(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, field, base, position, length] = operands(inst)?;
    if !is_wide(inst) {
        let (field, base) = (sources::src(cx, field)?, sources::src(cx, base)?);
        let (position, length) = (count(cx, position)?, count(cx, length)?);
        let (mask, shifted) = (cx.temp()?, cx.temp()?);
        word_ops::op2(cx, Opcode::BMSK, &[], mask, position, length)?;
        word_ops::shift_left(cx, shifted, field, position)?;
        let d = destinations::dst(cx, d)?;
        return ops::lop3(cx, d, mask, shifted, base, lut::SELECT);
    }
    let (field, base) = (sources::src64(cx, field)?, sources::src64(cx, base)?);
    let (position, length) = (sources::src(cx, position)?, sources::src(cx, length)?);
    let low = wide_mask(cx, length)?;
    let (mask, mask_d) = wide::temp_wide(cx)?;
    wide::wide_shl(cx, mask_d, low, position)?;
    let (shifted, shifted_d) = wide::temp_wide(cx)?;
    wide::wide_shl(cx, shifted_d, field, position)?;
    let d = destinations::dst64_direct(cx, d)?;
    ops::lop3(cx, d.lo, mask.lo, shifted.lo, base.lo, lut::SELECT)?;
    ops::lop3(cx, d.hi, mask.hi, shifted.hi, base.hi, lut::SELECT)
}

fn bmsk(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, position, length] = operands(inst)?;
    let (position, length) = (sources::src(cx, position)?, sources::src(cx, length)?);
    let d = destinations::dst(cx, d)?;
    word_ops::op2(cx, Opcode::BMSK, &[Field::WRAP.is(inst.has(Word::Wrap))], d, position, length)
}

fn szext(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, length] = operands(inst)?;
    let (a, length) = (sources::src(cx, a)?, sources::src(cx, length)?);
    let fields = [Field::WRAP.is(inst.has(Word::Wrap)), Field::SIGN.is(sign_of(is_signed(inst)))];
    let d = destinations::dst(cx, d)?;
    word_ops::op2(cx, Opcode::SGXT, &fields, d, a, length)
}

fn fns(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, mask, base, offset] = operands(inst)?;
    let arguments = [sources::src(cx, mask)?, sources::src(cx, base)?, sources::src(cx, offset)?];
    cx.guard_by_branch()?;
    let found = calls::call_routine(cx, "__oriole_fns", &arguments)?;
    let d = destinations::dst(cx, d)?;
    ops::mov(cx, d, found)
}

fn dot_product(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, c] = operands(inst)?;
    let (Some(first), Some(second)) = (inst.ty(0), inst.ty(1)) else { return Err(unknown(cx, inst)) };
    let (elements, a_signed, a_unsigned) = match inst.opcode {
        Ptx::Dp4a => (DotN::X4A, DotA::S8, DotA::U8),
        _ if inst.has(Word::Hi) => (DotN::X2A_HI, DotA::S16, DotA::U16),
        _ => (DotN::X2A_LO, DotA::S16, DotA::U16),
    };
    let fields = [
        Field::DOT_N.is(elements),
        Field::DOT_A.is(if first.is_signed() { a_signed } else { a_unsigned }),
        Field::DOT_B.is(if second.is_signed() { DotB::S8 } else { DotB::U8 }),
    ];
    let (a, b, c) = (sources::src(cx, a)?, sources::src(cx, b)?, sources::src(cx, c)?);
    let d = destinations::dst(cx, d)?;
    word_ops::op3(cx, Opcode::IDP, &fields, d, [a, b, c])
}
