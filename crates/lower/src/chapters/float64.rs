//! Double-precision arithmetic: everything but division and roots, which [`super::division`] has.

use super::alu::lut;
use super::float32::{float_negated, rounding};
use super::integer::operands;
use super::wide::Halves;
use crate::error::Lowered;
use crate::function::{FnLower, Wide};
use oriole_isa::{Field, Opcode, Role, dcmp};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Instruction};

/// The bit that makes a NaN quiet, in the upper word.
const QUIET: u32 = 0x0008_0000;

impl FnLower<'_, '_> {
    /// A double source in a register pair.
    pub(super) fn f64_register(&mut self, operand: &ast::Operand) -> Lowered<Operand> {
        let wide = self.src_f64(operand)?;
        self.in_pair(wide)
    }

    /// A double source for a slot that takes constants: one whose lower word is zero may stay one.
    pub(super) fn f64_operand(&mut self, operand: &ast::Operand) -> Lowered<Operand> {
        let wide = self.src_f64(operand)?;
        self.f64_slot(wide)
    }

    /// As [`Self::f64_operand`], of a value.
    pub(super) fn f64_slot(&mut self, wide: Wide) -> Lowered<Operand> {
        match wide.bits() {
            Some(bits) if bits != 0 && bits as u32 == 0 => Ok(Operand::imm_high((bits >> 32) as u32)),
            _ => self.in_pair(wide),
        }
    }

    /// `add`, `sub`
    pub(super) fn f64_add_sub(&mut self, inst: &Instruction, subtract: bool) -> Lowered {
        let [d, a, b] = operands(inst)?;
        let (a, b) = (self.f64_register(a)?, self.f64_operand(b)?);
        let b = if subtract { float_negated(b) } else { b };
        let d = self.dst64_direct(d)?;
        self.open_op2(inst, Opcode::DADD, &[(Field::Rnd, rounding(inst))], d.whole(), [a, b])
    }

    /// `mul`
    pub(super) fn f64_mul(&mut self, inst: &Instruction) -> Lowered {
        let [d, a, b] = operands(inst)?;
        let (a, b) = (self.f64_register(a)?, self.f64_operand(b)?);
        let d = self.dst64_direct(d)?;
        self.open_op2(inst, Opcode::DMUL, &[(Field::Rnd, rounding(inst))], d.whole(), [a, b])
    }

    /// `fma`, `mad`
    pub(super) fn f64_fma(&mut self, inst: &Instruction) -> Lowered {
        let [d, a, b, c] = operands(inst)?;
        let (a, b) = (self.f64_register(a)?, self.f64_operand(b)?);
        let c = if b.as_reg().is_some() { self.f64_operand(c)? } else { self.f64_register(c)? };
        let d = self.dst64_direct(d)?;
        self.op3(Opcode::DFMA, &[(Field::Rnd, rounding(inst))], d.whole(), [a, b, c])
    }

    /// `neg`, `abs`: a sum with -0.
    pub(super) fn f64_sign(&mut self, inst: &Instruction, absolute: bool) -> Lowered {
        let [d, a] = operands(inst)?;
        let a = self.f64_register(a)?;
        let a = if absolute { a.abs() } else { a.neg() };
        let d = self.dst64_direct(d)?;
        self.op2(Opcode::DADD, &[], d.whole(), Operand::rz().neg(), a)
    }

    /// `min`, `max`
    pub(super) fn f64_minmax(&mut self, inst: &Instruction, least: bool) -> Lowered {
        let [d, a, b] = operands(inst)?;
        let (a, b) = (self.src_f64(a)?, self.src_f64(b)?);
        let d = self.dst64_direct(d)?.into();
        self.f64_choose(least, d, a, b)
    }

    /// `d` = the smaller or larger. The second predicate tells that both are NaN, which makes `b` quiet.
    pub(super) fn f64_choose(&mut self, least: bool, d: Halves, a: Wide, b: Wide) -> Lowered {
        let first = self.in_pair(a)?;
        let second = self.f64_slot(b)?;
        let (which, invalid) = (self.temp_pred()?, self.temp_pred()?);
        let op = if least { dcmp::MIN } else { dcmp::MAX };
        self.emit(
            Opcode::DSETP,
            &[(Field::Dcmp, op)],
            &[(Role::PD, which), (Role::PD2, invalid), (Role::A, first), (Role::B, second)],
        )?;
        let quiet = self.logic(lut::OR, b.hi, Operand::imm(QUIET))?;
        let high = self.chosen(a.hi, b.hi, which)?;
        self.select(d.lo, a.lo, b.lo, which)?;
        self.select(d.hi, quiet, high, invalid)
    }
}
