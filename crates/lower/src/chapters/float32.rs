//! Single-precision arithmetic: everything but division and roots with IEEE rounding, which
//! [`super::division`] has.

use super::alu::{IntCmp, flag, lut};
use super::integer::operands;
use super::unknown;
use crate::error::{Lowered, invalid};
use crate::function::{FnLower, Wide};
use oriole_isa::{Field, Opcode, Role, bop, cmp, fcmp, mufu, rnd};
use oriole_ori::{Operand, OperandKind};
use oriole_ptx::ast::{self, Instruction, Opcode as Ptx, Rounding, ScalarType, Word};

/// The least normal number.
pub(super) const LEAST_NORMAL: u32 = 0x0080_0000;
/// 2^24, which makes every subnormal number normal.
const TWO_24: u32 = 0x4b80_0000;
/// 2^126: reciprocals of larger numbers are subnormal.
const TWO_126: u32 = 0x7e80_0000;
/// 1.0
pub(super) const ONE: u32 = 0x3f80_0000;
/// 0.25
const QUARTER: u32 = 0x3e80_0000;
/// 1 / (2 pi), rounded down: the sine unit counts in turns.
const TURNS: u32 = 0x3e22_f983;

/// Value of [`Field::Rnd`].
pub(super) fn rounding(inst: &Instruction) -> u8 {
    match inst.rounding() {
        Some(Rounding::Rz) => rnd::RZ,
        Some(Rounding::Rm) => rnd::RM,
        Some(Rounding::Rp) => rnd::RP,
        _ => rnd::RN,
    }
}

/// The negation of a float operand; constants are negated here.
pub(super) fn float_negated(operand: Operand) -> Operand {
    match operand.kind() {
        OperandKind::Imm(bits, kind) => Operand::imm_of(bits ^ 0x8000_0000, kind),
        _ => operand.neg(),
    }
}

/// The fields of an arithmetic instruction: rounding, `.ftz`, `.sat`.
fn arithmetic_fields(inst: &Instruction) -> [(Field, u8); 3] {
    [(Field::Rnd, rounding(inst)), flag(Field::Ftz, inst.has(Word::Ftz)), flag(Field::Sat, inst.has(Word::Sat))]
}

impl FnLower<'_, '_> {
    /// `add`, `sub`
    pub(super) fn f32_add_sub(&mut self, inst: &Instruction, subtract: bool) -> Lowered {
        let [d, a, b] = operands(inst)?;
        let (a, b) = (self.src_f32(a)?, self.src_f32(b)?);
        let b = if subtract { float_negated(b) } else { b };
        let d = self.dst(d)?;
        self.open_op2(inst, Opcode::FADD, &arithmetic_fields(inst), d, [a, b])
    }

    /// `mul`
    pub(super) fn f32_mul(&mut self, inst: &Instruction) -> Lowered {
        let [d, a, b] = operands(inst)?;
        let (a, b) = (self.src_f32(a)?, self.src_f32(b)?);
        let d = self.dst(d)?;
        self.open_op2(inst, Opcode::FMUL, &arithmetic_fields(inst), d, [a, b])
    }

    /// `fma`, `mad`
    pub(super) fn f32_fma(&mut self, inst: &Instruction) -> Lowered {
        let [d, a, b, c] = operands(inst)?;
        let (a, b, c) = (self.src_f32(a)?, self.src_f32(b)?, self.src_f32(c)?);
        let d = self.dst(d)?;
        self.op3(Opcode::FFMA, &arithmetic_fields(inst), d, [a, b, c])
    }

    /// `neg`, `abs`: a sum with -0, which also flushes and makes NaNs canonical.
    pub(super) fn f32_sign(&mut self, inst: &Instruction, absolute: bool) -> Lowered {
        let [d, a] = operands(inst)?;
        let a = self.src_f32(a)?;
        let a = self.in_reg(a)?;
        let a = if absolute { a.abs() } else { a.neg() };
        let d = self.dst(d)?;
        self.op2(Opcode::FADD, &[flag(Field::Ftz, inst.has(Word::Ftz))], d, a, Operand::rz().neg())
    }

    /// `min`, `max`, of two or three operands
    pub(super) fn f32_minmax(&mut self, inst: &Instruction, least: bool) -> Lowered {
        let [d, a, b] = operands(inst)?;
        let xorsign = inst.has(Word::Xorsign);
        let (mut a, mut b) = (self.src_f32(a)?, self.src_f32(b)?);
        let absolute = inst.has(Word::Abs);
        if xorsign || absolute {
            (a, b) = (self.in_reg(a)?.abs(), self.in_reg(b)?.abs());
        }
        let fields = [
            flag(Field::Ftz, inst.has(Word::Ftz)),
            flag(Field::Nan, inst.has(Word::NaN)),
            flag(Field::Xorsign, xorsign),
        ];
        let which = (Role::PA, Operand::pt().with_not(!least));
        if let Some(c) = inst.operands.get(3) {
            let both = self.temp()?;
            self.emit(Opcode::FMNMX, &fields, &[(Role::D, both), (Role::A, a), (Role::B, b), which])?;
            (a, b) = (both, self.src_f32(c)?);
            if absolute {
                b = self.in_reg(b)?.abs();
            }
            if xorsign {
                return Err(unknown(self, inst));
            }
        }
        let d = self.dst(d)?;
        self.emit(Opcode::FMNMX, &fields, &[(Role::D, d), (Role::A, a), (Role::B, b), which])?;
        Ok(())
    }

    /// `d = a * b` with no modifiers but `ftz`.
    pub(super) fn f32_scaled(&mut self, a: Operand, factor: u32, ftz: bool) -> Lowered<Operand> {
        let d = self.temp()?;
        self.op2(Opcode::FMUL, &[flag(Field::Ftz, ftz)], d, a, Operand::imm(factor))?;
        Ok(d)
    }

    /// `|a| fcmp bound`, or `a fcmp bound`.
    pub(super) fn f32_test(&mut self, comparison: u8, a: Operand, bound: u32, ftz: bool) -> Lowered<Operand> {
        let p = self.temp_pred()?;
        let fields = [(Field::Fcmp, comparison), flag(Field::Ftz, ftz), (Field::Bop, bop::AND)];
        self.emit(Opcode::FSETP, &fields, &[(Role::PD, p), (Role::A, a), (Role::B, Operand::imm(bound))])?;
        Ok(p)
    }

    /// `d = function(b)` on the special-function unit.
    pub(super) fn mufu(&mut self, function: u8, d: Operand, b: Operand) -> Lowered {
        self.op1(Opcode::MUFU, &[(Field::Mufu, function)], d, b)
    }

    /// `p ? a : b` in a temporary.
    pub(super) fn chosen(&mut self, a: Operand, b: Operand, p: Operand) -> Lowered<Operand> {
        let d = self.temp()?;
        self.select(d, a, b, p)?;
        Ok(d)
    }

    /// The value, times 2^24 where it is subnormal; and whether it is not.
    fn made_normal(&mut self, a: Operand) -> Lowered<(Operand, Operand)> {
        let normal = self.f32_test(fcmp::GEU, a.abs(), LEAST_NORMAL, false)?;
        let scaled = self.f32_scaled(a, TWO_24, false)?;
        Ok((self.chosen(a, scaled, normal)?, normal))
    }

    /// `sqrt.approx`, `rsqrt.approx`, `lg2.approx`: of a subnormal operand times 2^24, corrected by `op`.
    fn approximate_scaled(&mut self, inst: &Instruction, function: u8, op: Opcode, correction: u32) -> Lowered {
        let [d, a] = operands(inst)?;
        let a = self.src_f32(a)?;
        let a = self.in_reg(a)?;
        if inst.has(Word::Ftz) {
            let d = self.dst(d)?;
            return self.mufu(function, d, a);
        }
        let (x, normal) = self.made_normal(a)?;
        let (y, corrected) = (self.temp()?, self.temp()?);
        self.mufu(function, y, x)?;
        self.op2(op, &[], corrected, y, Operand::imm(correction))?;
        let d = self.dst(d)?;
        self.select(d, y, corrected, normal)
    }

    /// `sqrt.approx`
    pub(super) fn f32_sqrt_approx(&mut self, inst: &Instruction) -> Lowered {
        const TWO_MINUS_12: u32 = 0x3980_0000;
        self.approximate_scaled(inst, mufu::SQRT, Opcode::FMUL, TWO_MINUS_12)
    }

    /// `rsqrt.approx`
    pub(super) fn f32_rsqrt_approx(&mut self, inst: &Instruction) -> Lowered {
        const TWO_12: u32 = 0x4580_0000;
        self.approximate_scaled(inst, mufu::RSQ, Opcode::FMUL, TWO_12)
    }

    /// `rcp.approx`: operand and result are scaled where one of them is subnormal.
    pub(super) fn f32_rcp_approx(&mut self, inst: &Instruction) -> Lowered {
        let [d, a] = operands(inst)?;
        let a = self.src_f32(a)?;
        let a = self.in_reg(a)?;
        if inst.has(Word::Ftz) {
            let d = self.dst(d)?;
            return self.mufu(mufu::RCP, d, a);
        }
        let normal = self.f32_test(fcmp::GEU, a.abs(), LEAST_NORMAL, false)?;
        let large = self.f32_test(fcmp::GT, a.abs(), TWO_126, false)?;
        let up = self.temp()?;
        self.mov(up, Operand::imm(TWO_24))?;
        let scale = self.chosen(up, Operand::imm(ONE), normal.not())?;
        let scale = self.chosen(scale, Operand::imm(QUARTER), large.not())?;
        let (x, y) = (self.temp()?, self.temp()?);
        self.op2(Opcode::FMUL, &[], x, a, scale)?;
        self.mufu(mufu::RCP, y, x)?;
        let d = self.dst(d)?;
        self.op2(Opcode::FMUL, &[], d, scale, y)
    }

    /// `div.approx` (within 2 ulp, divisors up to 2^126) and `div.full` (all divisors)
    pub(super) fn f32_div_approx(&mut self, inst: &Instruction) -> Lowered {
        let [d, a, b] = operands(inst)?;
        let ftz = inst.has(Word::Ftz);
        let (mut a, mut b) = (self.src_f32(a)?, self.src_f32(b)?);
        b = self.in_reg(b)?;
        if inst.has(Word::Full) {
            let large = self.f32_test(fcmp::GT, b.abs(), TWO_126, ftz)?;
            (a, b) = self.both_scaled(a, b, QUARTER, large.not(), ftz)?;
        }
        if !ftz {
            let normal = self.f32_test(fcmp::GEU, b.abs(), LEAST_NORMAL, false)?;
            (a, b) = self.both_scaled(a, b, TWO_24, normal, false)?;
        }
        let reciprocal = self.temp()?;
        self.mufu(mufu::RCP, reciprocal, b)?;
        let d = self.dst(d)?;
        self.op2(Opcode::FMUL, &[flag(Field::Ftz, ftz)], d, reciprocal, a)
    }

    /// Both operands of a division as they are where `plain`, else times `factor`.
    fn both_scaled(
        &mut self,
        a: Operand,
        b: Operand,
        factor: u32,
        plain: Operand,
        ftz: bool,
    ) -> Lowered<(Operand, Operand)> {
        let a = self.in_reg(a)?;
        let (a_scaled, b_scaled) = (self.f32_scaled(a, factor, ftz)?, self.f32_scaled(b, factor, ftz)?);
        Ok((self.chosen(a, a_scaled, plain)?, self.chosen(b, b_scaled, plain)?))
    }
}

/// `sin.approx`, `cos.approx`
pub(super) fn trigonometric(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = f.src_f32(a)?;
    let turns = f.temp()?;
    f.op2(Opcode::FMUL, &[(Field::Rnd, rnd::RZ)], turns, a, Operand::imm(TURNS))?;
    let d = f.dst(d)?;
    f.mufu(if inst.opcode == Ptx::Sin { mufu::SIN } else { mufu::COS }, d, turns)
}

/// `lg2.approx`
pub(super) fn lg2(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    const MINUS_24: u32 = 0xc1c0_0000;
    f.approximate_scaled(inst, mufu::LG2, Opcode::FADD, MINUS_24)
}

/// `ex2.approx`: a small result is the square of the root of it.
pub(super) fn ex2(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    const MINUS_126: u32 = 0xc2fc_0000;
    const HALF: u32 = 0x3f00_0000;
    let [d, a] = operands(inst)?;
    let a = f.src_f32(a)?;
    let a = f.in_reg(a)?;
    if inst.has(Word::Ftz) {
        let d = f.dst(d)?;
        return f.mufu(mufu::EX2, d, a);
    }
    let normal = f.f32_test(fcmp::GEU, a, MINUS_126, false)?;
    let half = f.f32_scaled(a, HALF, false)?;
    let x = f.chosen(a, half, normal)?;
    let (y, square) = (f.temp()?, f.temp()?);
    f.mufu(mufu::EX2, y, x)?;
    f.op2(Opcode::FMUL, &[], square, y, y)?;
    let d = f.dst(d)?;
    f.select(d, y, square, normal)
}

/// `tanh.approx`
pub(super) fn tanh(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = f.src_f32(a)?;
    let d = f.dst(d)?;
    f.mufu(mufu::TANH, d, a)
}

/// `copysign`: the sign of the first operand, the rest of the second.
pub(super) fn copysign(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, sign, magnitude] = operands(inst)?;
    let mask = Operand::imm(0x8000_0000);
    let table = (lut::B & lut::C) | (!lut::B & lut::A);
    if inst.last_type() == Some(ScalarType::F64) {
        let (sign, magnitude) = (f.src_f64(sign)?, f.src_f64(magnitude)?);
        let d = f.dst64_direct(d)?;
        f.mov(d.lo, magnitude.lo)?;
        return f.lop3(d.hi, magnitude.hi, mask, sign.hi, table);
    }
    let (sign, magnitude) = (f.src_f32(sign)?, f.src_f32(magnitude)?);
    let d = f.dst(d)?;
    f.lop3(d, magnitude, mask, sign, table)
}

/// `testp`: every property is a range of the magnitude's bits.
pub(super) fn testp(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let double = inst.last_type() == Some(ScalarType::F64);
    let question = inst.words().next().ok_or_else(|| invalid(inst.span, "testp needs a property"))?;
    let (infinity, least_normal) = if double { (0x7ff0_0000, 0x0010_0000) } else { (0x7f80_0000, LEAST_NORMAL) };
    let magnitude = Magnitude::of(f, a, double)?;
    let p = match question {
        Word::Finite => magnitude.test(f, cmp::LT, infinity)?,
        Word::Infinite => magnitude.test(f, cmp::EQ, infinity)?,
        Word::Number => magnitude.test(f, cmp::LE, infinity)?,
        Word::Notanumber => magnitude.test(f, cmp::GT, infinity)?,
        // Zero counts as normal.
        Word::Normal => {
            let (low, high) = (magnitude.test(f, cmp::GE, least_normal)?, magnitude.test(f, cmp::LT, infinity)?);
            let normal = f.pred_logic(lut::AND, low, high)?;
            let zero = magnitude.test(f, cmp::EQ, 0)?;
            f.pred_logic(lut::OR, normal, zero)?
        }
        Word::Subnormal => {
            let (low, high) = (magnitude.test(f, cmp::GT, 0)?, magnitude.test(f, cmp::LT, least_normal)?);
            f.pred_logic(lut::AND, low, high)?
        }
        _ => return Err(unknown(f, inst)),
    };
    let d = f.dst_pred(d)?;
    f.mov_pred(d, p)
}

/// The bits of a float without its sign.
enum Magnitude {
    Single(Operand),
    Double(Wide),
}

impl Magnitude {
    fn of(f: &mut FnLower<'_, '_>, a: &ast::Operand, double: bool) -> Lowered<Magnitude> {
        let mask = Operand::imm(0x7fff_ffff);
        if double {
            let a = f.src_f64(a)?;
            let hi = f.logic(lut::AND, a.hi, mask)?;
            return Ok(Magnitude::Double(Wide::of_halves(a.lo, hi)));
        }
        let a = f.src_f32(a)?;
        Ok(Magnitude::Single(f.logic(lut::AND, a, mask)?))
    }

    /// Compares with a bound whose lower word is zero.
    fn test(&self, f: &mut FnLower<'_, '_>, comparison: u8, bound: u32) -> Lowered<Operand> {
        let compare = IntCmp::unsigned(comparison);
        match *self {
            Magnitude::Single(bits) => f.test(compare, bits, Operand::imm(bound)),
            Magnitude::Double(wide) => f.wide_test(compare, wide, Wide::of_bits(u64::from(bound) << 32)),
        }
    }
}
