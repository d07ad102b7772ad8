//! Quotients, reciprocals and roots with IEEE rounding.
//!
//! Float results come from an approximation of the special-function unit, refined by fused
//! multiply-adds whose remainder is exact; operands whose quotient or remainder may leave the normal
//! range go to a routine of the library. A directed rounding takes the last step in that rounding,
//! from a result that is already within one unit of the last place: the remainder's sign decides.

use super::alu::{IntCmp, flag, lut, negated};
use super::float32::{ONE, float_negated, rounding};
use super::integer::operands;
use super::unknown;

use crate::error::{Lowered, invalid};
use crate::function::{FnLower, Wide};
use oriole_isa::{Field, Opcode, Role, bop, cmp, dcmp, fcmp, ffmt, mufu, rnd};
use oriole_ori::{Operand, RegType};
use oriole_ptx::ast::{Instruction, Word};

/// 1.0 as the upper word of a double.
const ONE_HIGH: u32 = 0x3ff0_0000;

impl FnLower<'_, '_> {
    /// The result of `fast` where `slow` is false at the end of it, else that of `otherwise`; both
    /// write to the variable that they are given.
    fn fast_or_slow(
        &mut self,
        reg_type: RegType,
        fast: impl FnOnce(&mut Self, Operand) -> Lowered<Operand>,
        otherwise: impl FnOnce(&mut Self, Operand) -> Lowered,
    ) -> Lowered<Operand> {
        let result = self.variable(reg_type)?;
        let slow = fast(self, result)?;
        let (aside, join) = (self.new_block()?, self.new_block()?);
        self.branch(slow, aside, join)?;
        self.switch_to(aside);
        otherwise(self, result)?;
        self.jump(join);
        self.switch_to(join);
        Ok(result)
    }

    fn ffma(&mut self, rounding: u8, d: Operand, a: Operand, b: Operand, c: Operand) -> Lowered {
        self.op3(Opcode::FFMA, &[(Field::Rnd, rounding)], d, [a, b, c])
    }

    /// `a * b + c` to nearest, in a temporary.
    fn fused(&mut self, a: Operand, b: Operand, c: Operand) -> Lowered<Operand> {
        let d = self.temp()?;
        self.ffma(rnd::RN, d, a, b, c)?;
        Ok(d)
    }

    /// `d` = the double rounded to single; subnormal results to zero with `ftz`.
    pub(super) fn shorten(&mut self, d: Operand, value: Operand, rounding: u8, ftz: bool) -> Lowered {
        let fields = [(Field::DstFmt, ffmt::F32), (Field::SrcFmt, ffmt::F64), (Field::Rnd, rounding)];
        if !ftz {
            return self.op1(Opcode::F2F, &fields, d, value);
        }
        let short = self.temp()?;
        self.op1(Opcode::F2F, &fields, short, value)?;
        let normal = self.shortens_to_normal(value, rounding)?;
        let zero = self.logic(lut::AND, short, Operand::imm(0x8000_0000))?;
        self.select(d, short, zero, normal)
    }

    /// Whether a double rounds to a normal single (or a NaN), as if the exponent had no limit.
    fn shortens_to_normal(&mut self, value: Operand, rounding: u8) -> Lowered<Operand> {
        // 2^-126, and the least numbers that round up to it to nearest and away from zero.
        const EXACT: u64 = 0x3810_0000_0000_0000;
        const NEAREST: u64 = 0x380f_ffff_f000_0000;
        const AWAY: u64 = 0x380f_ffff_e000_0000;
        let bound = match rounding {
            rnd::RN => self.in_pair(Wide::of_bits(NEAREST))?,
            rnd::RZ => self.in_pair(Wide::of_bits(EXACT))?,
            directed => {
                let pair = value.as_reg().map(Wide::of_pair).unwrap_or(Wide::of_bits(0));
                let negative = self.test(IntCmp::LT_S, pair.hi, Operand::rz())?;
                let away = if directed == rnd::RM { negative } else { negative.not() };
                let (bound, bound_d) = self.temp_wide()?;
                self.wide_select(bound_d, Wide::of_bits(AWAY), Wide::of_bits(EXACT), away)?;
                self.in_pair(bound)?
            }
        };
        let p = self.temp_pred()?;
        let fields = [(Field::Dcmp, dcmp::GEU), (Field::Bop, bop::AND)];
        self.emit(Opcode::DSETP, &fields, &[(Role::PD, p), (Role::A, value.abs()), (Role::B, bound)])?;
        Ok(p)
    }

    // ---- single precision ----

    /// `div.{rn,rz,rm,rp}`
    pub(super) fn f32_div(&mut self, inst: &Instruction) -> Lowered {
        let [d, a, b] = operands(inst)?;
        let (rounding, ftz) = (rounding(inst), inst.has(Word::Ftz));
        let (a, b) = (self.src_f32(a)?, self.src_f32(b)?);
        let (a, b) = (self.in_reg(a)?, self.in_reg(b)?);
        self.guard_by_branch()?;
        let result = self.fast_or_slow(
            RegType::R,
            |f, result| f.f32_quotient(result, a, b, rounding),
            |f, result| {
                let (a, b) = if ftz { (f.flushed(a)?, f.flushed(b)?) } else { (a, b) };
                let exact = f.call_routine("__oriole_quotient_f32", &[a, b])?;
                f.shorten(result, exact, rounding, ftz)
            },
        )?;
        let d = self.dst(d)?;
        self.mov(d, result)
    }

    /// The inline quotient, and whether it must not be used.
    fn f32_quotient(&mut self, result: Operand, a: Operand, b: Operand, rounding: u8) -> Lowered<Operand> {
        let (approximate, slow) = (self.temp()?, self.temp_pred()?);
        self.mufu(mufu::RCP, approximate, b)?;
        self.emit(Opcode::FCHK, &[], &[(Role::PD, slow), (Role::A, a), (Role::B, b)])?;
        let error = self.fused(float_negated(b), approximate, Operand::imm(ONE))?;
        let reciprocal = self.fused(approximate, error, approximate)?;
        let quotient = self.fused(a, reciprocal, Operand::rz())?;
        let remainder = self.fused(float_negated(b), quotient, a)?;
        if rounding == rnd::RN {
            self.ffma(rnd::RN, result, reciprocal, remainder, quotient)?;
            return Ok(slow);
        }
        let quotient = self.fused(reciprocal, remainder, quotient)?;
        let remainder = self.fused(float_negated(b), quotient, a)?;
        self.ffma(rounding, result, reciprocal, remainder, quotient)?;
        Ok(slow)
    }

    /// The value with subnormals made zero.
    fn flushed(&mut self, a: Operand) -> Lowered<Operand> {
        self.f32_scaled(a, ONE, true)
    }

    /// `rcp.{rn,rz,rm,rp}`
    pub(super) fn f32_rcp(&mut self, inst: &Instruction) -> Lowered {
        let [d, a] = operands(inst)?;
        let (rounding, ftz) = (rounding(inst), inst.has(Word::Ftz));
        let a = self.src_f32(a)?;
        let a = self.in_reg(a)?;
        self.guard_by_branch()?;
        let result = self.fast_or_slow(
            RegType::R,
            |f, result| f.f32_reciprocal(result, a, rounding),
            |f, result| {
                let a = if ftz { f.flushed(a)? } else { a };
                let one = f.in_reg(Operand::imm(ONE))?;
                let exact = f.call_routine("__oriole_quotient_f32", &[one, a])?;
                f.shorten(result, exact, rounding, ftz)
            },
        )?;
        let d = self.dst(d)?;
        self.mov(d, result)
    }

    /// The inline reciprocal, and whether it must not be used: zero, subnormals, infinities, NaNs,
    /// and what has a subnormal reciprocal.
    fn f32_reciprocal(&mut self, result: Operand, a: Operand, rounding: u8) -> Lowered<Operand> {
        let raised = self.sum(a, Operand::imm(0x0180_0000))?;
        let exponent = self.logic(lut::AND, raised, Operand::imm(0x7f80_0000))?;
        let slow = self.test(IntCmp::unsigned(cmp::LE), exponent, Operand::imm(0x01ff_ffff))?;
        let approximate = self.temp()?;
        self.mufu(mufu::RCP, approximate, a)?;
        let error = self.fused(float_negated(a), approximate, Operand::imm(ONE))?;
        if rounding == rnd::RN {
            self.ffma(rnd::RN, result, approximate, error, approximate)?;
            return Ok(slow);
        }
        let reciprocal = self.fused(approximate, error, approximate)?;
        let error = self.fused(float_negated(a), reciprocal, Operand::imm(ONE))?;
        self.ffma(rounding, result, reciprocal, error, reciprocal)?;
        Ok(slow)
    }

    /// `sqrt.{rn,rz,rm,rp}`
    pub(super) fn f32_sqrt(&mut self, inst: &Instruction) -> Lowered {
        let [d, a] = operands(inst)?;
        let (rounding, ftz) = (rounding(inst), inst.has(Word::Ftz));
        let a = self.src_f32(a)?;
        let a = self.in_reg(a)?;
        self.guard_by_branch()?;
        let result = self.fast_or_slow(
            RegType::R,
            |f, result| f.f32_root(result, a, rounding),
            |f, result| {
                let a = if ftz { f.flushed(a)? } else { a };
                let exact = f.call_routine("__oriole_root_f32", &[a])?;
                f.shorten(result, exact, rounding, false)
            },
        )?;
        let d = self.dst(d)?;
        self.mov(d, result)
    }

    /// The inline root, and whether it must not be used: below 2^-101, negative, infinite, NaN.
    fn f32_root(&mut self, result: Operand, a: Operand, rounding: u8) -> Lowered<Operand> {
        const HALF: u32 = 0x3f00_0000;
        let lowered = self.sum(a, negated(Operand::imm(0x0d00_0000)))?;
        let slow = self.test(IntCmp::unsigned(cmp::GT), lowered, Operand::imm(0x727f_ffff))?;
        let inverse = self.temp()?;
        self.mufu(mufu::RSQ, inverse, a)?;
        let mut root = self.temp()?;
        self.op2(Opcode::FMUL, &[flag(Field::Ftz, true)], root, a, inverse)?;
        let half = self.f32_scaled(inverse, HALF, true)?;
        let mut remainder = self.fused(root.neg(), root, a)?;
        if rounding != rnd::RN {
            root = self.fused(remainder, half, root)?;
            remainder = self.fused(root.neg(), root, a)?;
        }
        self.ffma(rounding, result, remainder, half, root)?;
        Ok(slow)
    }

    // ---- double precision ----

    fn dfma(&mut self, rounding: u8, d: Operand, a: Operand, b: Operand, c: Operand) -> Lowered {
        self.op3(Opcode::DFMA, &[(Field::Rnd, rounding)], d, [a, b, c])
    }

    /// `a * b + c` to nearest, in a temporary.
    fn dfused(&mut self, a: Operand, b: Operand, c: Operand) -> Lowered<Operand> {
        let d = self.temp_pair()?;
        self.dfma(rnd::RN, d, a, b, c)?;
        Ok(d)
    }

    fn dmul(&mut self, a: Operand, b: Operand) -> Lowered<Operand> {
        let d = self.temp_pair()?;
        self.op2(Opcode::DMUL, &[], d, a, b)?;
        Ok(d)
    }

    /// A double whose upper word is `function` of the upper word of `of`, with the given lower word.
    fn mufu64(&mut self, function: u8, of: Operand, low: Operand) -> Lowered<Operand> {
        let pair = self.temp_of(RegType::Pair)?;
        self.mov(Operand::lo(pair), low)?;
        self.mufu(function, Operand::hi(pair), of)?;
        Ok(Operand::reg(pair))
    }

    /// `1 / b` to about 53 bits from an approximation of it.
    fn refined_reciprocal(&mut self, b: Operand, approximate: Operand) -> Lowered<Operand> {
        let one = Operand::imm_high(ONE_HIGH);
        let error = self.dfused(b.neg(), approximate, one)?;
        let error = self.dfused(error, error, error)?;
        let reciprocal = self.dfused(approximate, error, approximate)?;
        let error = self.dfused(b.neg(), reciprocal, one)?;
        self.dfused(reciprocal, error, reciprocal)
    }

    /// `div.{rn,rz,rm,rp}.f64`
    pub(super) fn f64_div(&mut self, inst: &Instruction) -> Lowered {
        let [d, a, b] = operands(inst)?;
        let rounding = rounding(inst);
        let (a, b) = (self.f64_in_registers(a)?, self.f64_in_registers(b)?);
        self.guard_by_branch()?;
        let result = self.fast_or_slow(
            RegType::Pair,
            |f, result| f.f64_quotient(result, a, b, rounding),
            |f, result| f.f64_quotient_slow(result, a.1, b.1, rounding),
        )?;
        self.f64_result(d, result)
    }

    /// A double in a register pair: its halves and the whole.
    fn f64_in_registers(&mut self, operand: &oriole_ptx::ast::Operand) -> Lowered<(Wide, Operand)> {
        let wide = self.src_f64(operand)?;
        let pair = match wide.pair {
            Some(pair) => pair,
            None => {
                let pair = self.temp64()?;
                self.mov64(pair, wide)?;
                pair
            }
        };
        Ok((Wide::of_pair(pair), Operand::reg(pair)))
    }

    fn f64_result(&mut self, d: &oriole_ptx::ast::Operand, result: Operand) -> Lowered {
        let d = self.dst64_direct(d)?;
        match result.as_reg() {
            Some(pair) => self.mov64(d.pair, Wide::of_pair(pair)),
            None => Ok(()),
        }
    }

    fn f64_quotient_slow(&mut self, result: Operand, a: Operand, b: Operand, rounding: u8) -> Lowered {
        let mode = self.rounding_mode(rounding)?;
        let quotient = self.call_routine("__oriole_div_f64", &[a, b, mode])?;
        self.copy_pair(result, quotient)
    }

    fn copy_pair(&mut self, to: Operand, from: Operand) -> Lowered {
        match (to.as_reg(), from.as_reg()) {
            (Some(to), Some(from)) => self.mov64(to, Wide::of_pair(from)),
            _ => Ok(()),
        }
    }

    /// The rounding as the library's routines number it.
    fn rounding_mode(&mut self, rounding: u8) -> Lowered<Operand> {
        let mode = match rounding {
            rnd::RZ => 1,
            rnd::RM => 2,
            rnd::RP => 3,
            _ => 0,
        };
        let word = self.temp()?;
        self.mov(word, Operand::imm(mode))?;
        Ok(word)
    }

    /// The inline quotient, and whether it must not be used: small dividends, whose remainder could
    /// be subnormal, and quotients that are not normal or come from divisors near the top.
    fn f64_quotient(
        &mut self,
        result: Operand,
        a: (Wide, Operand),
        b: (Wide, Operand),
        rounding: u8,
    ) -> Lowered<Operand> {
        const LEAST_DIVIDEND: u32 = 0x0360_0000;
        const LEAST_QUOTIENT: u32 = 0x0010_0000;
        let enough = self.f32_test(fcmp::GEU, a.0.hi.abs(), LEAST_DIVIDEND, false)?;
        let approximate = self.mufu64(mufu::RCP64H, b.0.hi, Operand::imm(1))?;
        let reciprocal = self.refined_reciprocal(b.1, approximate)?;
        let mut quotient = self.dmul(a.1, reciprocal)?;
        let mut remainder = self.dfused(b.1.neg(), quotient, a.1)?;
        if rounding != rnd::RN {
            quotient = self.dfused(reciprocal, remainder, quotient)?;
            remainder = self.dfused(b.1.neg(), quotient, a.1)?;
        }
        self.dfma(rounding, result, reciprocal, remainder, quotient)?;
        // The upper words as floats: 0 * b + q is NaN for the largest b, and for infinite q.
        let top = result.as_reg().map_or(Operand::rz(), Operand::hi);
        let both = self.fused(Operand::rz(), b.0.hi, top)?;
        let fast = self.temp_pred()?;
        let fields = [(Field::Fcmp, fcmp::GT), (Field::Bop, bop::AND)];
        let bound = Operand::imm(LEAST_QUOTIENT);
        self.emit(
            Opcode::FSETP,
            &fields,
            &[(Role::PD, fast), (Role::A, both.abs()), (Role::B, bound), (Role::PA, enough)],
        )?;
        Ok(fast.not())
    }

    /// `rcp.{rn,rz,rm,rp}.f64`
    pub(super) fn f64_rcp(&mut self, inst: &Instruction) -> Lowered {
        let [d, a] = operands(inst)?;
        let rounding = rounding(inst);
        let a = self.f64_in_registers(a)?;
        self.guard_by_branch()?;
        let result = self.fast_or_slow(
            RegType::Pair,
            |f, result| f.f64_reciprocal(result, a, rounding),
            |f, result| {
                let one = f.in_pair(Wide::of_bits(u64::from(ONE_HIGH) << 32))?;
                f.f64_quotient_slow(result, one, a.1, rounding)
            },
        )?;
        self.f64_result(d, result)
    }

    /// The inline reciprocal, and whether it must not be used: zero, subnormals, and what has an
    /// exponent so large that the reciprocal could be subnormal.
    fn f64_reciprocal(&mut self, result: Operand, a: (Wide, Operand), rounding: u8) -> Lowered<Operand> {
        const LEAST_RAISED: u32 = 0x0040_0402;
        let one = Operand::imm_high(ONE_HIGH);
        let raised = self.sum(a.0.hi, Operand::imm(0x0030_0402))?;
        let fast = self.f32_test(fcmp::GEU, raised.abs(), LEAST_RAISED, false)?;
        let approximate = self.mufu64(mufu::RCP64H, a.0.hi, raised)?;
        let error = self.dfused(a.1.neg(), approximate, one)?;
        let error = self.dfused(error, error, error)?;
        let mut reciprocal = self.dfused(approximate, error, approximate)?;
        let mut error = self.dfused(a.1.neg(), reciprocal, one)?;
        if rounding != rnd::RN {
            reciprocal = self.dfused(reciprocal, error, reciprocal)?;
            error = self.dfused(a.1.neg(), reciprocal, one)?;
        }
        self.dfma(rounding, result, reciprocal, error, reciprocal)?;
        Ok(fast.not())
    }

    /// One over the root of `a`, from an approximation, to about 50 bits.
    fn refined_rsqrt(&mut self, a: Operand, approximate: Operand) -> Lowered<Operand> {
        const THREE_EIGHTHS: u32 = 0x3fd8_0000;
        const HALF: u32 = 0x3fe0_0000;
        let square = self.dmul(approximate, approximate)?;
        let error = self.dfused(a, square.neg(), Operand::imm_high(ONE_HIGH))?;
        let slope = self.in_pair(Wide::of_bits(u64::from(THREE_EIGHTHS) << 32))?;
        let factor = self.dfused(error, slope, Operand::imm_high(HALF))?;
        let step = self.dmul(approximate, error)?;
        self.dfused(factor, step, approximate)
    }

    /// `sqrt.{rn,rz,rm,rp}.f64`
    pub(super) fn f64_sqrt(&mut self, inst: &Instruction) -> Lowered {
        let [d, a] = operands(inst)?;
        let rounding = rounding(inst);
        let a = self.f64_in_registers(a)?;
        self.guard_by_branch()?;
        let result = self.fast_or_slow(
            RegType::Pair,
            |f, result| f.f64_root(result, a, rounding),
            |f, result| {
                let mode = f.rounding_mode(rounding)?;
                let root = f.call_routine("__oriole_sqrt_f64", &[a.1, mode])?;
                f.copy_pair(result, root)
            },
        )?;
        self.f64_result(d, result)
    }

    /// The inline root, and whether it must not be used: below 2^-969, negative, infinite, NaN.
    fn f64_root(&mut self, result: Operand, a: (Wide, Operand), rounding: u8) -> Lowered<Operand> {
        let lowered = self.sum(a.0.hi, negated(Operand::imm(0x0350_0000)))?;
        let slow = self.test(IntCmp::GE_U, lowered, Operand::imm(0x7ca0_0000))?;
        let approximate = self.mufu64(mufu::RSQ64H, a.0.hi, lowered)?;
        let inverse = self.refined_rsqrt(a.1, approximate)?;
        let mut root = self.dmul(a.1, inverse)?;
        // Half of it: one less in the exponent.
        let half = self.temp_of(RegType::Pair)?;
        let whole = inverse.as_reg().map_or(Wide::of_bits(0), Wide::of_pair);
        self.mov(Operand::lo(half), whole.lo)?;
        self.add(Operand::hi(half), whole.hi, negated(Operand::imm(0x0010_0000)))?;
        let half = Operand::reg(half);
        let mut remainder = self.dfused(root, root.neg(), a.1)?;
        if rounding != rnd::RN {
            root = self.dfused(remainder, half, root)?;
            remainder = self.dfused(root, root.neg(), a.1)?;
        }
        self.dfma(rounding, result, remainder, half, root)?;
        Ok(slow)
    }

    /// `rsqrt.approx.f64`
    pub(super) fn f64_rsqrt(&mut self, inst: &Instruction) -> Lowered {
        let [d, a] = operands(inst)?;
        let a = self.f64_in_registers(a)?;
        self.guard_by_branch()?;
        let result = self.fast_or_slow(
            RegType::Pair,
            |f, result| {
                let lowered = f.sum(a.0.hi, negated(Operand::imm(0x0010_0000)))?;
                let slow = f.test(IntCmp::GE_U, lowered, Operand::imm(0x7fe0_0000))?;
                let approximate = f.mufu64(mufu::RSQ64H, a.0.hi, Operand::rz())?;
                let refined = f.refined_rsqrt(a.1, approximate)?;
                f.copy_pair(result, refined)?;
                Ok(slow)
            },
            |f, result| {
                let inverse = f.call_routine("__oriole_rsqrt_f64", &[a.1])?;
                f.copy_pair(result, inverse)
            },
        )?;
        self.f64_result(d, result)
    }

    /// `rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64`: the unit's answer, the lower word zero.
    pub(super) fn f64_mufu(&mut self, inst: &Instruction, function: u8) -> Lowered {
        let [d, a] = operands(inst)?;
        let a = self.src_f64(a)?;
        let d = self.dst64(d, &[a])?;
        self.mov(d.lo, Operand::rz())?;
        self.mufu(function, d.hi, a.hi)
    }

    /// Calls a routine of the library: arguments are words and pairs, the result is one or the other.
    pub(super) fn call_routine(&mut self, name: &str, arguments: &[Operand]) -> Lowered<Operand> {
        let mut words = Vec::new();
        for argument in arguments {
            match argument.as_whole_reg().filter(|reg| self.func.vregs[*reg].reg_type == RegType::Pair) {
                Some(pair) => words.extend([Operand::lo(pair), Operand::hi(pair)]),
                None => words.push(*argument),
            }
        }
        let results = self.call_library(name, &words)?;
        match results.as_slice() {
            [word] => Ok(*word),
            [low, high] => {
                let pair = self.temp64()?;
                self.mov64(pair, Wide::of_halves(*low, *high))?;
                Ok(Operand::reg(pair))
            }
            _ => Err(invalid(self.span(), format!("internal: the routine '{name}' has another kind of result"))),
        }
    }
}

/// `div` of every type
pub(super) fn div(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    use oriole_ptx::ast::ScalarType;
    match inst.last_type() {
        Some(ScalarType::F32) if inst.has(Word::Approx) || inst.has(Word::Full) => f.f32_div_approx(inst),
        Some(ScalarType::F32) => f.f32_div(inst),
        Some(ScalarType::F64) => f.f64_div(inst),
        Some(ty) if ty.is_float() => Err(unknown(f, inst)),
        _ => f.int_div(inst),
    }
}
