//! Counting, finding, extracting and inserting bits; dot products of small integers.

use crate::chapters::integer::operands;
use crate::chapters::wide::{Carry, Halves};
use crate::chapters::{calls, wide};
use crate::error::Lowered;
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::word_ops::{IntCmp, flag, sign_of};
use crate::function::{FnLower, word_ops};
use crate::handler::{Chapter, unknown};
use oriole_isa::{Field, Opcode, dot_a, dot_b, dot_n};
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

fn popc(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    if !is_wide(inst) {
        let a = f.src(a)?;
        let d = f.dst(d)?;
        return word_ops::op1(f, Opcode::POPC, &[], d, a);
    }
    let a = f.src64(a)?;
    let (low, high) = (f.temp()?, f.temp()?);
    word_ops::op1(f, Opcode::POPC, &[], low, a.lo)?;
    word_ops::op1(f, Opcode::POPC, &[], high, a.hi)?;
    let d = f.dst(d)?;
    f.add(d, low, high)
}

fn clz(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let (word, top) = if is_wide(inst) {
        let a = f.src64(a)?;
        let high = word_ops::test(f, IntCmp::NE, a.hi, Operand::rz())?;
        let (word, top) = (f.temp()?, f.temp()?);
        word_ops::select(f, word, a.hi, a.lo, high)?;
        let (narrow, wide) = (f.temp()?, Operand::imm(63));
        f.mov(narrow, Operand::imm(31))?;
        word_ops::select(f, top, narrow, wide, high)?;
        (word, top)
    } else {
        (f.src(a)?, Operand::imm(31))
    };
    let position = f.temp()?;
    word_ops::op1(f, Opcode::FLO, &[(Field::Sign, sign_of(false))], position, word)?;
    let d = f.dst(d)?;
    f.add(d, position.neg(), top)
}

fn brev(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    if !is_wide(inst) {
        let a = f.src(a)?;
        let d = f.dst(d)?;
        return word_ops::op1(f, Opcode::BREV, &[], d, a);
    }
    let a = f.src64(a)?;
    let d = f.dst64(d, &[a])?;
    word_ops::op1(f, Opcode::BREV, &[], d.lo, a.hi)?;
    word_ops::op1(f, Opcode::BREV, &[], d.hi, a.lo)
}

fn bfind(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let shift = inst.has(Word::Shiftamt);
    if is_wide(inst) {
        let a = f.src64(a)?;
        let position = find_wide(f, a, is_signed(inst))?;
        let d = f.dst(d)?;
        if !shift {
            return f.mov(d, position);
        }
        let none = word_ops::test(f, IntCmp::EQ, position, Operand::imm(u32::MAX))?;
        let amount = f.temp()?;
        f.add(amount, position.neg(), Operand::imm(63))?;
        return word_ops::select(f, d, position, amount, none);
    }
    let a = f.src(a)?;
    let d = f.dst(d)?;
    word_ops::op1(f, Opcode::FLO, &[(Field::Sign, sign_of(is_signed(inst))), flag(Field::Sh, shift)], d, a)
}

/// Position of the highest bit that is set (signed: that differs from the sign), or all ones.
fn find_wide(f: &mut FnLower<'_, '_>, mut a: Wide, signed: bool) -> Lowered<Operand> {
    if signed {
        let sign = f.temp()?;
        word_ops::shift_right(f, true, sign, a.hi, Operand::imm(31))?;
        let (magnitude, d) = wide::temp_wide(f)?;
        wide::wide_logic(f, d, lut::XOR, Wide::of_halves(sign, sign), a)?;
        a = magnitude;
    }
    let (low, high, raised, position) = (f.temp()?, f.temp()?, f.temp()?, f.temp()?);
    let unsigned = [(Field::Sign, sign_of(false))];
    word_ops::op1(f, Opcode::FLO, &unsigned, low, a.lo)?;
    word_ops::op1(f, Opcode::FLO, &unsigned, high, a.hi)?;
    f.add(raised, high, Operand::imm(32))?;
    let upper = word_ops::test(f, IntCmp::NE, a.hi, Operand::rz())?;
    word_ops::select(f, position, raised, low, upper)?;
    Ok(position)
}

/// The low byte of a position or length. The 64-bit forms take the whole word, as ptxas does: PTX
/// leaves values above 255 open.
fn count(f: &mut FnLower<'_, '_>, operand: &oriole_ptx::ast::Operand) -> Lowered<Operand> {
    let value = f.src(operand)?;
    word_ops::extended(f, value, 8, false)
}

/// `(1 << length) - 1`, 64 bits; all ones from length 64 on.
fn wide_mask(f: &mut FnLower<'_, '_>, length: Operand) -> Lowered<Wide> {
    let one = f.temp()?;
    f.mov(one, Operand::imm(1))?;
    let (power, power_d) = wide::temp_wide(f)?;
    wide::wide_shl(f, power_d, Wide::of_halves(one, Operand::rz()), length)?;
    let (mask, mask_d) = wide::temp_wide(f)?;
    wide::wide_add(f, mask_d, power, Wide::of_bits(u64::MAX), Carry::default())?;
    Ok(mask)
}

fn bfe(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, position, length] = operands(inst)?;
    let signed = is_signed(inst);
    if !is_wide(inst) {
        let (a, position, length) = (f.src(a)?, count(f, position)?, count(f, length)?);
        let low = f.temp()?;
        word_ops::shift_right(f, signed, low, a, position)?;
        let d = f.dst(d)?;
        return word_ops::op2(f, Opcode::SGXT, &[(Field::Sign, sign_of(signed))], d, low, length);
    }
    let (a, position, length) = (f.src64(a)?, f.src(position)?, f.src(length)?);
    let (low, low_d) = wide::temp_wide(f)?;
    wide::wide_shr(f, signed, low_d, a, position)?;
    if !signed {
        let mask = wide_mask(f, length)?;
        let d: Halves = f.dst64_direct(d)?.into();
        return wide::wide_logic(f, d, lut::AND, low, mask);
    }
    // To the top and back: shifting by 64 for an empty field leaves nothing.
    let (used, unused) = (f.temp()?, f.temp()?);
    word_ops::imnmx(f, false, true, used, length, Operand::imm(64))?;
    f.add(unused, used.neg(), Operand::imm(64))?;
    let (top, top_d) = wide::temp_wide(f)?;
    wide::wide_shl(f, top_d, low, unused)?;
    let d: Halves = f.dst64_direct(d)?.into();
    wide::wide_shr(f, true, d, top, unused)
}

fn bfi(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, field, base, position, length] = operands(inst)?;
    if !is_wide(inst) {
        let (field, base) = (f.src(field)?, f.src(base)?);
        let (position, length) = (count(f, position)?, count(f, length)?);
        let (mask, shifted) = (f.temp()?, f.temp()?);
        word_ops::op2(f, Opcode::BMSK, &[], mask, position, length)?;
        word_ops::shift_left(f, shifted, field, position)?;
        let d = f.dst(d)?;
        return f.lop3(d, mask, shifted, base, lut::SELECT);
    }
    let (field, base) = (f.src64(field)?, f.src64(base)?);
    let (position, length) = (f.src(position)?, f.src(length)?);
    let low = wide_mask(f, length)?;
    let (mask, mask_d) = wide::temp_wide(f)?;
    wide::wide_shl(f, mask_d, low, position)?;
    let (shifted, shifted_d) = wide::temp_wide(f)?;
    wide::wide_shl(f, shifted_d, field, position)?;
    let d = f.dst64_direct(d)?;
    f.lop3(d.lo, mask.lo, shifted.lo, base.lo, lut::SELECT)?;
    f.lop3(d.hi, mask.hi, shifted.hi, base.hi, lut::SELECT)
}

fn bmsk(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, position, length] = operands(inst)?;
    let (position, length) = (f.src(position)?, f.src(length)?);
    let d = f.dst(d)?;
    word_ops::op2(f, Opcode::BMSK, &[flag(Field::Wrap, inst.has(Word::Wrap))], d, position, length)
}

fn szext(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, length] = operands(inst)?;
    let (a, length) = (f.src(a)?, f.src(length)?);
    let fields = [flag(Field::Wrap, inst.has(Word::Wrap)), (Field::Sign, sign_of(is_signed(inst)))];
    let d = f.dst(d)?;
    word_ops::op2(f, Opcode::SGXT, &fields, d, a, length)
}

fn fns(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, mask, base, offset] = operands(inst)?;
    let arguments = [f.src(mask)?, f.src(base)?, f.src(offset)?];
    f.guard_by_branch()?;
    let found = calls::call_routine(f, "__oriole_fns", &arguments)?;
    let d = f.dst(d)?;
    f.mov(d, found)
}

fn dot_product(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, c] = operands(inst)?;
    let (Some(first), Some(second)) = (inst.ty(0), inst.ty(1)) else { return Err(unknown(f, inst)) };
    let (elements, a_signed, a_unsigned) = match inst.opcode {
        Ptx::Dp4a => (dot_n::X4A, dot_a::S8, dot_a::U8),
        _ if inst.has(Word::Hi) => (dot_n::X2A_HI, dot_a::S16, dot_a::U16),
        _ => (dot_n::X2A_LO, dot_a::S16, dot_a::U16),
    };
    let fields = [
        (Field::DotN, elements),
        (Field::DotA, if first.is_signed() { a_signed } else { a_unsigned }),
        (Field::DotB, if second.is_signed() { dot_b::S8 } else { dot_b::U8 }),
    ];
    let (a, b, c) = (f.src(a)?, f.src(b)?, f.src(c)?);
    let d = f.dst(d)?;
    word_ops::op3(f, Opcode::IDP, &fields, d, [a, b, c])
}
