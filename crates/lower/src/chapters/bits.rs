//! Counting, finding, extracting and inserting bits; dot products of small integers.

use super::alu::{IntCmp, flag, lut, sign_of};
use super::integer::operands;
use super::wide::{Carry, Halves};
use super::{Chapter, unknown};
use crate::error::Lowered;
use crate::function::{FnLower, Wide};
use oriole_isa::{Field, Opcode, dot_a, dot_b, dot_n};
use oriole_ori::Operand;
use oriole_ptx::ast::{Instruction, Opcode as Ptx, ScalarType, Word};

/// The opcodes of this file.
pub(super) const CHAPTER: Chapter = &[
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
        return f.op1(Opcode::POPC, &[], d, a);
    }
    let a = f.src64(a)?;
    let (low, high) = (f.temp()?, f.temp()?);
    f.op1(Opcode::POPC, &[], low, a.lo)?;
    f.op1(Opcode::POPC, &[], high, a.hi)?;
    let d = f.dst(d)?;
    f.add(d, low, high)
}

fn clz(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let (word, top) = if is_wide(inst) {
        let a = f.src64(a)?;
        let high = f.test(IntCmp::NE, a.hi, Operand::rz())?;
        let (word, top) = (f.temp()?, f.temp()?);
        f.select(word, a.hi, a.lo, high)?;
        let (narrow, wide) = (f.temp()?, Operand::imm(63));
        f.mov(narrow, Operand::imm(31))?;
        f.select(top, narrow, wide, high)?;
        (word, top)
    } else {
        (f.src(a)?, Operand::imm(31))
    };
    let position = f.temp()?;
    f.op1(Opcode::FLO, &[(Field::Sign, sign_of(false))], position, word)?;
    let d = f.dst(d)?;
    f.add(d, position.neg(), top)
}

fn brev(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    if !is_wide(inst) {
        let a = f.src(a)?;
        let d = f.dst(d)?;
        return f.op1(Opcode::BREV, &[], d, a);
    }
    let a = f.src64(a)?;
    let d = f.dst64(d, &[a])?;
    f.op1(Opcode::BREV, &[], d.lo, a.hi)?;
    f.op1(Opcode::BREV, &[], d.hi, a.lo)
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
        let none = f.test(IntCmp::EQ, position, Operand::imm(u32::MAX))?;
        let amount = f.temp()?;
        f.add(amount, position.neg(), Operand::imm(63))?;
        return f.select(d, position, amount, none);
    }
    let a = f.src(a)?;
    let d = f.dst(d)?;
    f.op1(Opcode::FLO, &[(Field::Sign, sign_of(is_signed(inst))), flag(Field::Sh, shift)], d, a)
}

/// Position of the highest bit that is set (signed: that differs from the sign), or all ones.
fn find_wide(f: &mut FnLower<'_, '_>, mut a: Wide, signed: bool) -> Lowered<Operand> {
    if signed {
        let sign = f.temp()?;
        f.shift_right(true, sign, a.hi, Operand::imm(31))?;
        let (magnitude, d) = f.temp_wide()?;
        f.wide_logic(d, lut::XOR, Wide::of_halves(sign, sign), a)?;
        a = magnitude;
    }
    let (low, high, raised, position) = (f.temp()?, f.temp()?, f.temp()?, f.temp()?);
    let unsigned = [(Field::Sign, sign_of(false))];
    f.op1(Opcode::FLO, &unsigned, low, a.lo)?;
    f.op1(Opcode::FLO, &unsigned, high, a.hi)?;
    f.add(raised, high, Operand::imm(32))?;
    let upper = f.test(IntCmp::NE, a.hi, Operand::rz())?;
    f.select(position, raised, low, upper)?;
    Ok(position)
}

/// The low byte of a position or length. The 64-bit forms take the whole word, as ptxas does: PTX
/// leaves values above 255 open.
fn count(f: &mut FnLower<'_, '_>, operand: &oriole_ptx::ast::Operand) -> Lowered<Operand> {
    let value = f.src(operand)?;
    f.extended(value, 8, false)
}

/// `(1 << length) - 1`, 64 bits; all ones from length 64 on.
fn wide_mask(f: &mut FnLower<'_, '_>, length: Operand) -> Lowered<Wide> {
    let one = f.temp()?;
    f.mov(one, Operand::imm(1))?;
    let (power, power_d) = f.temp_wide()?;
    f.wide_shl(power_d, Wide::of_halves(one, Operand::rz()), length)?;
    let (mask, mask_d) = f.temp_wide()?;
    f.wide_add(mask_d, power, Wide::of_bits(u64::MAX), Carry::default())?;
    Ok(mask)
}

fn bfe(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, position, length] = operands(inst)?;
    let signed = is_signed(inst);
    if !is_wide(inst) {
        let (a, position, length) = (f.src(a)?, count(f, position)?, count(f, length)?);
        let low = f.temp()?;
        f.shift_right(signed, low, a, position)?;
        let d = f.dst(d)?;
        return f.op2(Opcode::SGXT, &[(Field::Sign, sign_of(signed))], d, low, length);
    }
    let (a, position, length) = (f.src64(a)?, f.src(position)?, f.src(length)?);
    let (low, low_d) = f.temp_wide()?;
    f.wide_shr(signed, low_d, a, position)?;
    if !signed {
        let mask = wide_mask(f, length)?;
        let d: Halves = f.dst64_direct(d)?.into();
        return f.wide_logic(d, lut::AND, low, mask);
    }
    // To the top and back: shifting by 64 for an empty field leaves nothing.
    let (used, unused) = (f.temp()?, f.temp()?);
    f.imnmx(false, true, used, length, Operand::imm(64))?;
    f.add(unused, used.neg(), Operand::imm(64))?;
    let (top, top_d) = f.temp_wide()?;
    f.wide_shl(top_d, low, unused)?;
    let d: Halves = f.dst64_direct(d)?.into();
    f.wide_shr(true, d, top, unused)
}

fn bfi(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, field, base, position, length] = operands(inst)?;
    if !is_wide(inst) {
        let (field, base) = (f.src(field)?, f.src(base)?);
        let (position, length) = (count(f, position)?, count(f, length)?);
        let (mask, shifted) = (f.temp()?, f.temp()?);
        f.op2(Opcode::BMSK, &[], mask, position, length)?;
        f.shift_left(shifted, field, position)?;
        let d = f.dst(d)?;
        return f.lop3(d, mask, shifted, base, lut::SELECT);
    }
    let (field, base) = (f.src64(field)?, f.src64(base)?);
    let (position, length) = (f.src(position)?, f.src(length)?);
    let low = wide_mask(f, length)?;
    let (mask, mask_d) = f.temp_wide()?;
    f.wide_shl(mask_d, low, position)?;
    let (shifted, shifted_d) = f.temp_wide()?;
    f.wide_shl(shifted_d, field, position)?;
    let d = f.dst64_direct(d)?;
    f.lop3(d.lo, mask.lo, shifted.lo, base.lo, lut::SELECT)?;
    f.lop3(d.hi, mask.hi, shifted.hi, base.hi, lut::SELECT)
}

fn bmsk(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, position, length] = operands(inst)?;
    let (position, length) = (f.src(position)?, f.src(length)?);
    let d = f.dst(d)?;
    f.op2(Opcode::BMSK, &[flag(Field::Wrap, inst.has(Word::Wrap))], d, position, length)
}

fn szext(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, length] = operands(inst)?;
    let (a, length) = (f.src(a)?, f.src(length)?);
    let fields = [flag(Field::Wrap, inst.has(Word::Wrap)), (Field::Sign, sign_of(is_signed(inst)))];
    let d = f.dst(d)?;
    f.op2(Opcode::SGXT, &fields, d, a, length)
}

fn fns(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, mask, base, offset] = operands(inst)?;
    let arguments = [f.src(mask)?, f.src(base)?, f.src(offset)?];
    f.guard_by_branch()?;
    let found = f.call_routine("__oriole_fns", &arguments)?;
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
    f.op3(Opcode::IDP, &fields, d, [a, b, c])
}
