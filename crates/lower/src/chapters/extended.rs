//! Extended-precision integer arithmetic: additions and multiplications with the carry bit `CC.CF`.
//!
//! The bit lives in one predicate of the function, and means what the hardware's adder gives: the carry out of
//! `a + b` for sums, that of `a + ~b + 1` ("no borrow") for differences. `subc` adds it to `a + ~b`. So a sum may
//! read what a difference left, and the other way round, as in ptxas's code.

use crate::chapters::integer::{int_type, operands};
use crate::chapters::wide;
use crate::chapters::wide::{Carry, Halves};
use crate::error::Lowered;
use crate::function::{FnLower, word_ops};
use crate::handler::{Chapter, unknown};
use oriole_ori::{Operand, RegType, VReg};
use oriole_ptx::ast::{Instruction, Opcode as Ptx, Word};

/// The opcodes of this file, beside those with `.cc` that the sums and products hand over.
pub(crate) const CHAPTER: Chapter = &[(Ptx::Addc, add), (Ptx::Subc, sub), (Ptx::Madc, mad)];

/// `add.cc`, `addc`, `addc.cc`
pub(crate) fn add(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let reads = inst.opcode == Ptx::Addc;
    let carry = carries(f, inst, reads)?;
    if int_type(inst)?.bits == 64 {
        let (a, b) = (f.src64(a)?, f.src64(b)?);
        let d: Halves = f.dst64_direct(d)?.into();
        return wide::wide_add(f, d, a, b, carry);
    }
    let (a, b) = (f.src(a)?, f.src(b)?);
    let d = f.dst(d)?;
    wide::add_carry(f, d, a, b, carry)
}

/// `sub.cc`, `subc`, `subc.cc`
pub(crate) fn sub(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let reads = inst.opcode == Ptx::Subc;
    let carry = carries(f, inst, reads)?;
    if int_type(inst)?.bits == 64 {
        let (a, b) = (f.src64(a)?, f.src64(b)?);
        let d: Halves = f.dst64_direct(d)?.into();
        return wide::wide_sub(f, d, a, b, carry);
    }
    let (a, b) = (f.src(a)?, f.src(b)?);
    let d = f.dst(d)?;
    wide::sub_carry(f, d, a, b, carry)
}

/// `mad.lo.cc`, `madc.hi`, …
pub(crate) fn mad(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, c] = operands(inst)?;
    let ty = int_type(inst)?;
    let hi = inst.has(Word::Hi);
    if ty.bits == 16 {
        return Err(unknown(f, inst));
    }
    let reads = inst.opcode == Ptx::Madc;
    if ty.bits == 64 {
        let (a, b, c) = (f.src64(a)?, f.src64(b)?, f.src64(c)?);
        let (product, product_d) = wide::temp_wide(f)?;
        if hi {
            wide::wide_mul_hi(f, ty.signed, product_d, a, b)?
        } else {
            wide::wide_mad_lo(f, product_d, a, b, None)?
        };
        let carry = carries(f, inst, reads)?;
        let d: Halves = f.dst64_direct(d)?.into();
        return wide::wide_add(f, d, product, c, carry);
    }
    let (a, b, c) = (f.src(a)?, f.src(b)?, f.src(c)?);
    let product = f.temp()?;
    if hi {
        word_ops::imad_hi(f, ty.signed, product, a, b, Operand::rz())?
    } else {
        word_ops::imad(f, product, a, b, Operand::rz())?
    };
    let carry = carries(f, inst, reads)?;
    let d = f.dst(d)?;
    wide::add_carry(f, d, product, c, carry)
}

/// The carries of an instruction: the bit as it reads it, and where it writes it.
fn carries(f: &mut FnLower<'_, '_>, inst: &Instruction, reads: bool) -> Lowered<Carry> {
    let writes = inst.has(Word::Cc);
    let bit = |f: &mut FnLower<'_, '_>| carry_bit(f).map(|pred| Some(Operand::reg(pred)));
    Ok(Carry { input: if reads { bit(f)? } else { None }, output: if writes { bit(f)? } else { None } })
}

/// The predicate of `CC.CF`, the same in the whole function: code that stands earlier may run later. It is
/// false until something writes it.
fn carry_bit(cx: &mut FnLower<'_, '_>) -> Lowered<VReg> {
    if let Some(pred) = cx.carry {
        return Ok(pred);
    }
    let pred = cx.temp_of(RegType::P)?;
    cx.at_start(|f| f.mov_pred(Operand::reg(pred), Operand::pt().not()))?;
    cx.carry = Some(pred);
    Ok(pred)
}
