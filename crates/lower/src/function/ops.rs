//! Short forms of the instructions that many chapters need.

use crate::error::Lowered;
use crate::function::FnLower;
use crate::function::operands::{Wide, word};
use oriole_isa::Role::{A, B, Bank, C, D, Lut, PA, PB, PC, PD, PD2};
use oriole_isa::{Bop, Cmp, Field, MemSize, Opcode, ShiftDir, ShiftType, Sign};
use oriole_ori::{Operand, OperandKind, VReg};

/// `LOP3` tables of three operands, from the patterns of the operands themselves.
pub(crate) mod lut {
    /// Pattern of the first operand.
    pub(crate) const A: u8 = 0xf0;
    /// Pattern of the second operand.
    pub(crate) const B: u8 = 0xcc;
    /// Pattern of the third operand.
    pub(crate) const C: u8 = 0xaa;
    /// `a & b`
    pub(crate) const AND: u8 = A & B;
    /// `~a & b`
    pub(crate) const NOT_AND: u8 = !A & B;
    /// `a | b`
    pub(crate) const OR: u8 = A | B;
    /// `a ^ b`
    pub(crate) const XOR: u8 = A ^ B;
    /// `~b`
    pub(crate) const NOT_B: u8 = !B;
    /// `b` where `a` has ones, else `c`.
    pub(crate) const SELECT: u8 = (A & B) | (!A & C);
}

/// Value of [`Field::SIGN`].
pub(crate) fn sign_of(signed: bool) -> Sign {
    if signed { Sign::S32 } else { Sign::U32 }
}

/// `to = from`, for 32-bit values.
pub(crate) fn mov(cx: &mut FnLower<'_, '_>, to: Operand, from: Operand) -> Lowered {
    if matches!(from.kind(), OperandKind::Const { .. }) && !cx.reads_constants() {
        return load_constant(cx, to, from);
    }
    cx.emit(Opcode::MOV, &[], &[(D, to), (B, from)])?;
    Ok(())
}

/// `to = from`, for pairs.
pub(crate) fn mov64(cx: &mut FnLower<'_, '_>, to: VReg, from: Wide) -> Lowered {
    mov(cx, Operand::lo(to), from.lo)?;
    mov(cx, Operand::hi(to), from.hi)
}

/// `to = from`, for predicates.
pub(crate) fn mov_pred(cx: &mut FnLower<'_, '_>, to: Operand, from: Operand) -> Lowered {
    logic_pred(cx, to, from, Operand::pt(), lut::AND)
}

/// `to = table(a, b)`, for predicates; `table` as for LOP3.
pub(crate) fn logic_pred(cx: &mut FnLower<'_, '_>, to: Operand, a: Operand, b: Operand, table: u8) -> Lowered {
    let operands = [(PD, to), (PA, a), (PB, b), (PC, Operand::pt()), (Lut, Operand::imm(u32::from(table)))];
    cx.emit(Opcode::PLOP3, &[], &operands)?;
    Ok(())
}

/// `to = a + b`, for 32-bit integers.
pub(crate) fn add(cx: &mut FnLower<'_, '_>, to: Operand, a: Operand, b: Operand) -> Lowered {
    cx.emit(Opcode::IADD3, &[], &[(D, to), (A, a), (B, b)])?;
    Ok(())
}

/// `to = a + b`, for 64-bit integers.
pub(crate) fn add64(cx: &mut FnLower<'_, '_>, to: VReg, a: Wide, b: Wide) -> Lowered {
    let carry = cx.temp_pred()?;
    cx.emit(Opcode::IADD3, &[], &[(D, Operand::lo(to)), (PD, carry), (A, a.lo), (B, b.lo)])?;
    cx.emit(Opcode::IADD3, &[Field::X.is(true)], &[(D, Operand::hi(to)), (A, a.hi), (B, b.hi), (PA, carry)])?;
    Ok(())
}

/// `to = a * b + c`, the lower 32 bits.
pub(crate) fn multiply_add(cx: &mut FnLower<'_, '_>, to: Operand, a: Operand, b: Operand, c: Operand) -> Lowered {
    cx.emit(Opcode::IMAD, &[], &[(D, to), (A, a), (B, b), (C, c)])?;
    Ok(())
}

/// `to = a - b`, for 64-bit integers.
pub(crate) fn sub64(cx: &mut FnLower<'_, '_>, to: VReg, a: Wide, b: Wide) -> Lowered {
    let carry = cx.temp_pred()?;
    let (low, high) = (in_reg(cx, b.lo)?, in_reg(cx, b.hi)?);
    cx.emit(Opcode::IADD3, &[], &[(D, Operand::lo(to)), (PD, carry), (A, a.lo), (B, low.neg())])?;
    cx.emit(Opcode::IADD3, &[Field::X.is(true)], &[(D, Operand::hi(to)), (A, a.hi), (B, high.not()), (PA, carry)])?;
    Ok(())
}

/// `to = table(a, b, c)` bit by bit; `table` as [`lut`] has it.
pub(crate) fn lop3(cx: &mut FnLower<'_, '_>, to: Operand, a: Operand, b: Operand, c: Operand, table: u8) -> Lowered {
    cx.emit(Opcode::LOP3, &[], &[(D, to), (A, a), (B, b), (C, c), (Lut, Operand::imm(u32::from(table)))])?;
    Ok(())
}

/// `to = pred ? a : b`
pub(crate) fn sel(cx: &mut FnLower<'_, '_>, to: Operand, pred: Operand, a: Operand, b: Operand) -> Lowered {
    cx.emit(Opcode::SEL, &[], &[(D, to), (A, a), (B, b), (PA, pred)])?;
    Ok(())
}

/// `to` = four bytes of `b:a` (`a` has numbers 0–3), chosen by the nibbles of `selector`.
pub(crate) fn prmt(cx: &mut FnLower<'_, '_>, to: Operand, a: Operand, selector: u32, b: Operand) -> Lowered {
    cx.emit(Opcode::PRMT, &[], &[(D, to), (A, a), (B, Operand::imm(selector)), (C, b)])?;
    Ok(())
}

/// `to = a cmp b`, for 32-bit integers.
pub(crate) fn isetp(
    cx: &mut FnLower<'_, '_>,
    to: Operand,
    comparison: Cmp,
    signed: bool,
    a: Operand,
    b: Operand,
) -> Lowered {
    let mods = [Field::CMP.is(comparison), Field::SIGN.is(sign_of(signed)), Field::BOP.is(Bop::AND)];
    cx.emit(Opcode::ISETP, &mods, &[(PD, to), (PD2, Operand::pt()), (A, a), (B, b)])?;
    Ok(())
}

/// `to = a cmp b`, for 64-bit integers.
pub(crate) fn isetp64(
    cx: &mut FnLower<'_, '_>,
    to: Operand,
    comparison: Cmp,
    signed: bool,
    a: Wide,
    b: Wide,
) -> Lowered {
    let low = cx.temp_pred()?;
    isetp(cx, low, comparison, false, a.lo, b.lo)?;
    let mods =
        [Field::CMP.is(comparison), Field::SIGN.is(sign_of(signed)), Field::BOP.is(Bop::AND), Field::EX.is(true)];
    cx.emit(Opcode::ISETP, &mods, &[(PD, to), (PD2, Operand::pt()), (A, a.hi), (B, b.hi), (PB, low)])?;
    Ok(())
}

/// `to = a != 0`
pub(crate) fn is_nonzero(cx: &mut FnLower<'_, '_>, to: Operand, a: Operand) -> Lowered {
    isetp(cx, to, Cmp::NE, false, a, Operand::rz())
}

/// Fills the upper half of a pair with the sign of its lower half.
pub(crate) fn extend_sign(cx: &mut FnLower<'_, '_>, pair: VReg) -> Lowered {
    let mods = [Field::SHIFT_DIR.is(ShiftDir::R), Field::SHIFT_TYPE.is(ShiftType::S32), Field::HI.is(true)];
    let operands = [(D, Operand::hi(pair)), (A, Operand::rz()), (B, Operand::imm(31)), (C, Operand::lo(pair))];
    cx.emit(Opcode::SHF, &mods, &operands)?;
    Ok(())
}

/// `base + bytes`.
pub(crate) fn moved(cx: &mut FnLower<'_, '_>, base: Operand, bytes: u32) -> Lowered<Operand> {
    if bytes == 0 {
        return Ok(base);
    }
    let temp = cx.temp()?;
    add(cx, temp, base, word(bytes))?;
    Ok(temp)
}

// ---- into registers ----

/// The operand in a register (or RZ), without flags.
pub(crate) fn in_reg(cx: &mut FnLower<'_, '_>, operand: Operand) -> Lowered<Operand> {
    if operand.as_reg().is_some() && !operand.has_flags() {
        return Ok(operand);
    }
    if operand.is_zero() {
        return Ok(Operand::rz());
    }
    let temp = cx.temp()?;
    mov(cx, temp, operand)?;
    Ok(temp)
}

/// The value in a register pair (or RZ, which stands for a pair of zeros too).
pub(crate) fn in_pair(cx: &mut FnLower<'_, '_>, wide: Wide) -> Lowered<Operand> {
    if let Some(pair) = wide.pair {
        return Ok(Operand::reg(pair));
    }
    if wide.lo.is_zero() && wide.hi.is_zero() {
        return Ok(Operand::rz());
    }
    let pair = cx.temp64()?;
    mov(cx, Operand::lo(pair), wide.lo)?;
    mov(cx, Operand::hi(pair), wide.hi)?;
    Ok(Operand::reg(pair))
}

// ---- constants ----

/// `to` = the 32 bits at `c[bank][offset]`.
pub(crate) fn read_constant(cx: &mut FnLower<'_, '_>, to: Operand, bank: u8, offset: u32) -> Lowered {
    mov(cx, to, Operand::cbank(bank, offset))
}

/// `to` = the 64 bits at `c[bank][offset]`.
pub(crate) fn read_constant64(cx: &mut FnLower<'_, '_>, to: VReg, bank: u8, offset: u32) -> Lowered {
    if !cx.reads_constants() && offset.is_multiple_of(8) {
        let mods = [Field::MEM_SIZE.is(MemSize::B64)];
        cx.emit(Opcode::LDC, &mods, &[(D, Operand::reg(to)), (Bank, Operand::cbank(bank, offset))])?;
        return Ok(());
    }
    read_constant(cx, Operand::lo(to), bank, offset)?;
    read_constant(cx, Operand::hi(to), bank, offset + 4)
}

/// `to` = the 32 bits at a constant-bank operand, where arithmetic cannot read it.
pub(crate) fn load_constant(cx: &mut FnLower<'_, '_>, to: Operand, from: Operand) -> Lowered {
    cx.emit(Opcode::LDC, &[], &[(D, to), (Bank, from)])?;
    Ok(())
}
