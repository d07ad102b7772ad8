//! Double-precision arithmetic: everything but division and roots, which [`super::division`] has.

use crate::chapters::float32;
use crate::chapters::float32::{float_negated, rounding};
use crate::chapters::integer::operands;
use crate::chapters::wide::Halves;
use crate::error::Lowered;
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::{FnLower, destinations, ops, sources, word_ops};
use oriole_isa::{Dcmp, Field, Opcode, Role};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Instruction};

/// The bit that makes a NaN quiet, in the upper word.
const QUIET: u32 = 0x0008_0000;

/// A double source in a register pair.
pub(crate) fn f64_register(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Operand> {
    let wide = sources::src_f64(cx, operand)?;
    ops::in_pair(cx, wide)
}

/// A double source for a slot that takes constants: one whose lower word is zero may stay one.
pub(crate) fn f64_operand(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Operand> {
    let wide = sources::src_f64(cx, operand)?;
    f64_slot(cx, wide)
}

/// As [`f64_operand`], of a value.
pub(crate) fn f64_slot(cx: &mut FnLower<'_, '_>, wide: Wide) -> Lowered<Operand> {
    match wide.bits() {
        Some(bits) if bits != 0 && bits as u32 == 0 => Ok(Operand::imm_high((bits >> 32) as u32)),
        _ => ops::in_pair(cx, wide),
    }
}

/// `add`, `sub`
pub(crate) fn f64_add_sub(cx: &mut FnLower<'_, '_>, inst: &Instruction, subtract: bool) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let (a, b) = (f64_register(cx, a)?, f64_operand(cx, b)?);
    let b = if subtract { float_negated(b) } else { b };
    let d = destinations::dst64_direct(cx, d)?;
    word_ops::open_op2(cx, inst, Opcode::DADD, &[Field::RND.is(rounding(inst))], d.whole(), [a, b])
}

/// `mul`
pub(crate) fn f64_mul(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let (a, b) = (f64_register(cx, a)?, f64_operand(cx, b)?);
    let d = destinations::dst64_direct(cx, d)?;
    word_ops::open_op2(cx, inst, Opcode::DMUL, &[Field::RND.is(rounding(inst))], d.whole(), [a, b])
}

/// `fma`, `mad`
pub(crate) fn f64_fma(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, c] = operands(inst)?;
    let (a, b) = (f64_register(cx, a)?, f64_operand(cx, b)?);
    let c = if b.as_reg().is_some() { f64_operand(cx, c)? } else { f64_register(cx, c)? };
    let d = destinations::dst64_direct(cx, d)?;
    word_ops::op3(cx, Opcode::DFMA, &[Field::RND.is(rounding(inst))], d.whole(), [a, b, c])
}

/// `neg`, `abs`: a sum with -0.
pub(crate) fn f64_sign(cx: &mut FnLower<'_, '_>, inst: &Instruction, absolute: bool) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = f64_register(cx, a)?;
    let a = if absolute { a.abs() } else { a.neg() };
    let d = destinations::dst64_direct(cx, d)?;
    word_ops::op2(cx, Opcode::DADD, &[], d.whole(), Operand::rz().neg(), a)
}

/// `min`, `max`
pub(crate) fn f64_minmax(cx: &mut FnLower<'_, '_>, inst: &Instruction, least: bool) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let (a, b) = (sources::src_f64(cx, a)?, sources::src_f64(cx, b)?);
    let d = destinations::dst64_direct(cx, d)?.into();
    f64_choose(cx, least, d, a, b)
}

/// `d` = the smaller or larger. The second predicate tells that both are NaN, which makes `b` quiet.
pub(crate) fn f64_choose(cx: &mut FnLower<'_, '_>, least: bool, d: Halves, a: Wide, b: Wide) -> Lowered {
    let first = ops::in_pair(cx, a)?;
    let second = f64_slot(cx, b)?;
    let (which, invalid) = (cx.temp_pred()?, cx.temp_pred()?);
    let op = if least { Dcmp::MIN } else { Dcmp::MAX };
    cx.emit(
        Opcode::DSETP,
        &[Field::DCMP.is(op)],
        &[(Role::PD, which), (Role::PD2, invalid), (Role::A, first), (Role::B, second)],
    )?;
    let quiet = word_ops::logic(cx, lut::OR, b.hi, Operand::imm(QUIET))?;
    let high = float32::chosen(cx, a.hi, b.hi, which)?;
    word_ops::select(cx, d.lo, a.lo, b.lo, which)?;
    word_ops::select(cx, d.hi, quiet, high, invalid)
}
