//! Extended-precision integer arithmetic: additions and multiplications with the carry bit `CC.CF`.
//!
//! The bit lives in one predicate of the function, and means what the hardware's adder gives: the carry out of
//! `a + b` for sums, that of `a + ~b + 1` ("no borrow") for differences. `subc` adds it to `a + ~b`. So a sum may
//! read what a difference left, and the other way round, as in ptxas's code.

use crate::chapters::integer::{int_type, operands};
use crate::chapters::wide;
use crate::chapters::wide::{Carry, Halves};
use crate::error::Lowered;
use crate::function::operands::Wide;
use crate::function::{FnLower, destinations, ops, sources, word_ops};
use crate::handler::{Chapter, unknown};
use oriole_ori::{Operand, RegType, VReg};
use oriole_ptx::ast::{Instruction, Opcode as Ptx, Word};

/// The opcodes of this file, beside those with `.cc` that the sums and products hand over.
pub(crate) const CHAPTER: Chapter = &[(Ptx::Addc, add), (Ptx::Subc, sub), (Ptx::Madc, mad)];

/// `add.cc`, `addc`, `addc.cc`
pub(crate) fn add(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    sum(cx, inst, Ptx::Addc, wide::wide_add, wide::add_carry)
}

/// `sub.cc`, `subc`, `subc.cc`
pub(crate) fn sub(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    sum(cx, inst, Ptx::Subc, wide::wide_sub, wide::sub_carry)
}

/// What makes a sum or a difference of this width, with its carries.
type Sum<C, D, S> = fn(&mut C, D, S, S, Carry) -> Lowered;

/// A sum or a difference, which `reading` is the opcode of where it reads the carry, by the way for its width.
fn sum<'m, 'f>(
    cx: &mut FnLower<'m, 'f>,
    inst: &Instruction,
    reading: Ptx,
    of_64: Sum<FnLower<'m, 'f>, Halves, Wide>,
    of_32: Sum<FnLower<'m, 'f>, Operand, Operand>,
) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let carry = carries(cx, inst, inst.opcode == reading)?;
    if int_type(inst)?.bits == 64 {
        let (a, b) = (sources::src64(cx, a)?, sources::src64(cx, b)?);
        let d: Halves = destinations::dst64_direct(cx, d)?.into();
        return of_64(cx, d, a, b, carry);
    }
    let (a, b) = (sources::src(cx, a)?, sources::src(cx, b)?);
    let d = destinations::dst(cx, d)?;
    of_32(cx, d, a, b, carry)
}

/// `mad.lo.cc`, `madc.hi`, …
pub(crate) fn mad(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, c] = operands(inst)?;
    let ty = int_type(inst)?;
    let hi = inst.has(Word::Hi);
    if ty.bits == 16 {
        return Err(unknown(cx, inst));
    }
    let reads = inst.opcode == Ptx::Madc;
    if ty.bits == 64 {
        let (a, b, c) = (sources::src64(cx, a)?, sources::src64(cx, b)?, sources::src64(cx, c)?);
        let (product, product_d) = wide::temp_wide(cx)?;
        if hi {
            wide::wide_mul_hi(cx, ty.signed, product_d, a, b)?
        } else {
            wide::wide_mad_lo(cx, product_d, a, b, None)?
        };
        let carry = carries(cx, inst, reads)?;
        let d: Halves = destinations::dst64_direct(cx, d)?.into();
        return wide::wide_add(cx, d, product, c, carry);
    }
    let (a, b, c) = (sources::src(cx, a)?, sources::src(cx, b)?, sources::src(cx, c)?);
    let product = cx.temp()?;
    if hi {
        word_ops::imad_hi(cx, ty.signed, product, a, b, Operand::rz())?
    } else {
        word_ops::imad(cx, product, a, b, Operand::rz())?
    };
    let carry = carries(cx, inst, reads)?;
    let d = destinations::dst(cx, d)?;
    wide::add_carry(cx, d, product, c, carry)
}

/// The carries of an instruction: the bit as it reads it, and where it writes it.
fn carries(cx: &mut FnLower<'_, '_>, inst: &Instruction, reads: bool) -> Lowered<Carry> {
    let writes = inst.has(Word::Cc);
    let bit = |cx: &mut FnLower<'_, '_>| carry_bit(cx).map(|pred| Some(Operand::reg(pred)));
    Ok(Carry { input: if reads { bit(cx)? } else { None }, output: if writes { bit(cx)? } else { None } })
}

/// The predicate of `CC.CF`, the same in the whole function: code that stands earlier may run later. It is
/// false until something writes it.
fn carry_bit(cx: &mut FnLower<'_, '_>) -> Lowered<VReg> {
    if let Some(pred) = cx.carry {
        return Ok(pred);
    }
    let pred = cx.temp_of(RegType::P)?;
    cx.at_start(|cx| ops::mov_pred(cx, Operand::reg(pred), Operand::pt().not()))?;
    cx.carry = Some(pred);
    Ok(pred)
}
