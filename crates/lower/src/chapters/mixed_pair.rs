//! Arithmetic on pairs of several formats: halves widened to singles, singles whose results are halves, products of halves in
//! both formats.

use crate::chapters::float32::rounding;
use crate::chapters::half::is_half;
use crate::chapters::integer::operands;
use crate::error::Lowered;
use crate::function::{FnLower, destinations, ops, sources, word_ops};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, C, D};
use oriole_isa::{Fh2, Field, HalfFmt, Opcode, Rnd};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Instruction, Opcode as Ptx, ScalarType, Word};

/// `add`, `sub`, `mul`, `fma` with types of their own for the result and the sources.
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    if !cx.has(Opcode::FHADD2) {
        return Err(unknown(cx, inst));
    }
    match (inst.ty(0), inst.ty(1)) {
        (Some(ScalarType::F32x2), Some(halves)) if is_half(halves) => to_singles(cx, inst, halves),
        (Some(halves), Some(ScalarType::F32x2)) if is_half(halves) => to_halves(cx, inst, halves),
        (Some(halves), Some(same)) if is_half(halves) && same == halves => product_of_halves(cx, inst, halves),
        _ => Err(unknown(cx, inst)),
    }
}

/// A pair of singles.
fn singles(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Operand> {
    let wide = sources::src64(cx, operand)?;
    ops::in_pair(cx, wide)
}

/// A pair of halves.
fn halves(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Operand> {
    let word = sources::src(cx, operand)?;
    ops::in_reg(cx, word)
}

/// The last source: negated in a difference.
fn last(cx: &mut FnLower<'_, '_>, inst: &Instruction, operand: &ast::Operand) -> Lowered<Operand> {
    let value = singles(cx, operand)?;
    Ok(if inst.opcode == Ptx::Sub { value.neg() } else { value })
}

/// The first source is halves, all others and the result are singles.
fn to_singles(cx: &mut FnLower<'_, '_>, inst: &Instruction, format: ScalarType) -> Lowered {
    let formats = if format == ScalarType::Bf16x2 { Fh2::F32_BF16 } else { Fh2::F32_F16 };
    let fields = [Field::FH2.is(formats), Field::RND.is(rounding(inst))];
    if inst.opcode == Ptx::Fma {
        let [d, a, b, c] = operands(inst)?;
        let (a, b, c) = (halves(cx, a)?, singles(cx, b)?, singles(cx, c)?);
        let d = destinations::dst64_direct(cx, d)?.whole();
        cx.emit(Opcode::FHFMA2, &fields, &[(D, d), (A, a), (B, b), (C, c)])?;
        return Ok(());
    }
    let [d, a, b] = operands(inst)?;
    let (a, b) = (halves(cx, a)?, last(cx, inst, b)?);
    let d = destinations::dst64_direct(cx, d)?.whole();
    cx.emit(Opcode::FHADD2, &fields, &[(D, d), (A, a), (B, b)])?;
    Ok(())
}

/// The sources are singles, the result is halves.
fn to_halves(cx: &mut FnLower<'_, '_>, inst: &Instruction, format: ScalarType) -> Lowered {
    let formats = if format == ScalarType::Bf16x2 { Fh2::BF16_F32 } else { Fh2::F16_F32 };
    let fields = [Field::FH2.is(formats), Field::FTZ.is(inst.has(Word::Ftz)), Field::RND.is(Rnd::RZ)];
    let [d, a, b] = operands(inst)?;
    let (a, b) = (singles(cx, a)?, last(cx, inst, b)?);
    let d = destinations::dst(cx, d)?;
    let opcode = if inst.opcode == Ptx::Mul { Opcode::FHMUL2 } else { Opcode::FHADD2 };
    cx.emit(opcode, &fields, &[(D, d), (A, a), (B, b)])?;
    Ok(())
}

/// `mul` of halves of the result's format and halves of the other.
fn product_of_halves(cx: &mut FnLower<'_, '_>, inst: &Instruction, format: ScalarType) -> Lowered {
    // The instruction names the format of its second source.
    let other = if format == ScalarType::Bf16x2 { HalfFmt::F16 } else { HalfFmt::BF16_V2 };
    let [d, a, b] = operands(inst)?;
    let (a, b) = (halves(cx, a)?, halves(cx, b)?);
    let d = destinations::dst(cx, d)?;
    word_ops::op2(cx, Opcode::HMUL2_MIXED, &[Field::HALF_FMT.is(other)], d, a, b)
}
