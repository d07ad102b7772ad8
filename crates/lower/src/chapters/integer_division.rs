//! Integer division: 32 bits in line, 64 bits by the library.

use super::alu::{IntCmp, flag, lut};
use super::integer::{IntType, int_type, operands};
use super::wide::{Carry, Halves};
use crate::error::Lowered;
use crate::function::{FnLower, Wide};
use oriole_isa::{Field, Opcode, ifmt, mufu, rnd, rnd_int};
use oriole_ori::{Operand, RegType};
use oriole_ptx::ast::{Instruction, Opcode as Ptx};

impl FnLower<'_, '_> {
    /// `div`, `rem` of integers
    pub(super) fn int_div(&mut self, inst: &Instruction) -> Lowered {
        let ty = int_type(inst)?;
        let remainder = inst.opcode == Ptx::Rem;
        if ty.bits == 64 {
            return self.int_div64(inst, ty, remainder);
        }
        let [d, a, b] = operands(inst)?;
        let (a, b) = (self.int_src(a, ty)?, self.int_src(b, ty)?);
        let (a, b) = (self.in_reg(a)?, self.in_reg(b)?);
        let result = if ty.signed { self.div32_signed(a, b, remainder)? } else { self.div32(a, b, remainder)? };
        // What division by zero gives is open in PTX; all ones.
        let some = self.test(IntCmp::NE, b, Operand::rz())?;
        let d = self.dst(d)?;
        self.select(d, result, Operand::imm(u32::MAX), some)
    }

    fn div32_signed(&mut self, a: Operand, b: Operand, remainder: bool) -> Lowered<Operand> {
        let (a_size, b_size) = (self.temp()?, self.temp()?);
        self.op1(Opcode::IABS, &[], a_size, a)?;
        self.op1(Opcode::IABS, &[], b_size, b)?;
        let size = self.div32(a_size, b_size, remainder)?;
        let sign = if remainder { a } else { self.logic(lut::XOR, a, b)? };
        let negative = self.test(IntCmp::LT_S, sign, Operand::rz())?;
        let opposite = self.sum(Operand::rz(), size.neg())?;
        self.chosen(opposite, size, negative)
    }

    /// Quotient or remainder of unsigned words, from a reciprocal that is a little too small.
    fn div32(&mut self, a: Operand, b: Operand, remainder: bool) -> Lowered<Operand> {
        let (float, inverse) = (self.temp()?, self.temp()?);
        self.op1(Opcode::I2F, &[(Field::SrcInt, ifmt::U32), (Field::Rnd, rnd::RP)], float, b)?;
        self.mufu(mufu::RCP, inverse, float)?;
        // Times 2^32, less two units of the last place.
        let scaled = self.sum(inverse, Operand::imm(0x0fff_fffe))?;
        let pair = self.temp_of(RegType::Pair)?;
        self.mov(Operand::lo(pair), Operand::rz())?;
        let first = Operand::hi(pair);
        let fields = [
            flag(Field::Ftz, true),
            (Field::DstInt, ifmt::U32),
            (Field::RndInt, rnd_int::TRUNC),
            flag(Field::Ntz, true),
        ];
        self.op1(Opcode::F2I, &fields, first, scaled)?;
        let minus_b = self.sum(Operand::rz(), b.neg())?;
        let (error, reciprocal, quotient, rest) = (self.temp()?, self.temp()?, self.temp()?, self.temp()?);
        self.imad(error, minus_b, first, Operand::rz())?;
        self.imad_hi(false, reciprocal, first, error, Operand::reg(pair))?;
        self.imad_hi(false, quotient, reciprocal, a, Operand::rz())?;
        self.imad(rest, quotient, minus_b, a)?;
        let (quotient, rest) = self.corrected(b, minus_b, quotient, rest)?;
        let (quotient, rest) = self.corrected(b, minus_b, quotient, rest)?;
        Ok(if remainder { rest } else { quotient })
    }

    /// One more in the quotient where the remainder is not below the divisor.
    fn corrected(
        &mut self,
        b: Operand,
        minus_b: Operand,
        quotient: Operand,
        rest: Operand,
    ) -> Lowered<(Operand, Operand)> {
        let over = self.test(IntCmp::GE_U, rest, b)?;
        let next = self.sum(quotient, Operand::imm(1))?;
        let less = self.sum(rest, minus_b)?;
        Ok((self.chosen(next, quotient, over)?, self.chosen(less, rest, over)?))
    }

    fn int_div64(&mut self, inst: &Instruction, ty: IntType, remainder: bool) -> Lowered {
        let [d, a, b] = operands(inst)?;
        let (a, b) = (self.src64(a)?, self.src64(b)?);
        self.guard_by_branch()?;
        let ((a_size, a_negative), (b_size, b_negative)) = if ty.signed {
            (self.wide_abs(a)?, self.wide_abs(b)?)
        } else {
            ((a, Operand::pt().not()), (b, Operand::pt().not()))
        };
        let (dividend, divisor) = (self.in_whole_pair(a_size)?, self.in_whole_pair(b_size)?);
        let quotient = self.call_routine("__oriole_div_u64", &[dividend, divisor])?;
        let mut result = quotient.as_reg().map_or(Wide::of_bits(0), Wide::of_pair);
        if remainder {
            let (product, product_d) = self.temp_wide()?;
            self.wide_mad_lo(product_d, result, b_size, None)?;
            let (rest, rest_d) = self.temp_wide()?;
            self.wide_sub(rest_d, a_size, product, Carry::default())?;
            result = rest;
        }
        if ty.signed {
            let negative = if remainder { a_negative } else { self.pred_logic(lut::XOR, a_negative, b_negative)? };
            let (opposite, opposite_d) = self.temp_wide()?;
            self.wide_neg(opposite_d, result)?;
            let (chosen, chosen_d) = self.temp_wide()?;
            self.wide_select(chosen_d, opposite, result, negative)?;
            result = chosen;
        }
        // What division by zero gives is open in PTX; all ones, remainders too.
        let bits = self.logic(lut::OR, b.lo, b.hi)?;
        let some = self.test(IntCmp::NE, bits, Operand::rz())?;
        let d: Halves = self.dst64_direct(d)?.into();
        self.wide_select(d, result, Wide::of_bits(u64::MAX), some)
    }

    /// The value in a register pair, zero too.
    fn in_whole_pair(&mut self, wide: Wide) -> Lowered<Operand> {
        if let Some(pair) = wide.pair {
            return Ok(Operand::reg(pair));
        }
        let pair = self.temp64()?;
        self.mov64(pair, wide)?;
        Ok(Operand::reg(pair))
    }
}
