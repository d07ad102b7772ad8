//! The new value of an atomic operation that the program computes itself.

use crate::error::Lowered;
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::{FnLower, ops};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, C, D};
use oriole_isa::{Cmp, Field, HalfFmt, Opcode as Sass};
use oriole_ori::Operand;
use oriole_ptx::ast::{Instruction, ScalarType, Word};

/// `op(old, value)` in a fresh register.
pub(crate) fn combine(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    op: Word,
    ty: ScalarType,
    old: Operand,
    value: Operand,
) -> Lowered<Operand> {
    if op == Word::Exch {
        return Ok(value);
    }
    match (ty, op) {
        (ScalarType::F32, Word::Add) => arithmetic(cx, Sass::FADD, old, value),
        (ScalarType::F64, Word::Add) => {
            let sum = Operand::reg(cx.temp64()?);
            cx.emit(Sass::DADD, &[], &[(D, sum), (A, value), (B, old)])?;
            Ok(sum)
        }
        (ScalarType::F16 | ScalarType::F16x2, Word::Add) => arithmetic(cx, Sass::HADD2, old, value),
        (ScalarType::Bf16 | ScalarType::Bf16x2, Word::Add) => bf16_add(cx, old, value),
        (ty, op) if ty.bits() == 64 && !ty.is_float() => wide_integer(cx, instruction, op, ty, old, value),
        _ => Err(unknown(cx, instruction)),
    }
}

fn arithmetic(cx: &mut FnLower<'_, '_>, opcode: Sass, old: Operand, value: Operand) -> Lowered<Operand> {
    let sum = cx.temp()?;
    cx.emit(opcode, &[], &[(D, sum), (A, old), (B, value)])?;
    Ok(sum)
}

/// `old + value` in bf16: on targets without the addition `old * 1 + value`.
fn bf16_add(cx: &mut FnLower<'_, '_>, old: Operand, value: Operand) -> Lowered<Operand> {
    let mods = [Field::HALF_FMT.is(HalfFmt::BF16_V2)];
    if cx.has_with(Sass::HADD2, Field::HALF_FMT.is(HalfFmt::BF16_V2)) {
        let sum = cx.temp()?;
        cx.emit(Sass::HADD2, &mods, &[(D, sum), (A, old), (B, value)])?;
        return Ok(sum);
    }
    const ONES: u32 = 0x3f80_3f80;
    let ones = ops::in_reg(cx, Operand::imm(ONES))?;
    let sum = cx.temp()?;
    cx.emit(Sass::HFMA2, &mods, &[(D, sum), (A, old), (B, ones), (C, value)])?;
    Ok(sum)
}

fn wide_integer(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    op: Word,
    ty: ScalarType,
    old: Operand,
    value: Operand,
) -> Lowered<Operand> {
    let new = cx.temp64()?;
    let (a, b) = (halves(old), halves(value));
    match op {
        Word::Add => ops::add64(cx, new, a, b)?,
        Word::And | Word::Or | Word::Xor => {
            let table = [(Word::And, lut::AND), (Word::Or, lut::OR), (Word::Xor, lut::XOR)];
            let table = table.iter().find(|(word, _)| *word == op).map_or(lut::AND, |(_, table)| *table);
            ops::lop3(cx, Operand::lo(new), a.lo, b.lo, Operand::rz(), table)?;
            ops::lop3(cx, Operand::hi(new), a.hi, b.hi, Operand::rz(), table)?;
        }
        Word::Min | Word::Max => {
            let keep = cx.temp_pred()?;
            let comparison = if op == Word::Min { Cmp::LT } else { Cmp::GT };
            ops::isetp64(cx, keep, comparison, ty.is_signed(), a, b)?;
            ops::sel(cx, Operand::lo(new), keep, a.lo, b.lo)?;
            ops::sel(cx, Operand::hi(new), keep, a.hi, b.hi)?;
        }
        _ => return Err(unknown(cx, instruction)),
    }
    Ok(Operand::reg(new))
}

fn halves(pair: Operand) -> Wide {
    match pair.as_reg() {
        Some(reg) => Wide::of_pair(reg),
        None => Wide::of_halves(Operand::rz(), Operand::rz()),
    }
}
