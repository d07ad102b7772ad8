//! Single-precision arithmetic: everything but division and roots with IEEE rounding, which
//! [`super::division`] has.

use crate::chapters::integer::operands;
use crate::chapters::wide;
use crate::error::{Lowered, invalid};
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::word_ops::{IntCmp, flag};
use crate::function::{FnLower, word_ops};
use crate::handler::unknown;
use oriole_isa::{Field, Opcode, Role, bop, cmp, fcmp, mufu, rnd};
use oriole_ori::{Operand, OperandKind};
use oriole_ptx::ast::{self, Instruction, Opcode as Ptx, Rounding, ScalarType, Word};

/// The least normal number.
pub(crate) const LEAST_NORMAL: u32 = 0x0080_0000;
/// 2^24, which makes every subnormal number normal.
const TWO_24: u32 = 0x4b80_0000;
/// 2^126: reciprocals of larger numbers are subnormal.
const TWO_126: u32 = 0x7e80_0000;
/// 1.0
pub(crate) const ONE: u32 = 0x3f80_0000;
/// 0.25
const QUARTER: u32 = 0x3e80_0000;
/// 1 / (2 pi), rounded down: the sine unit counts in turns.
const TURNS: u32 = 0x3e22_f983;

/// Value of [`Field::Rnd`].
pub(crate) fn rounding(inst: &Instruction) -> u8 {
    match inst.rounding() {
        Some(Rounding::Rz) => rnd::RZ,
        Some(Rounding::Rm) => rnd::RM,
        Some(Rounding::Rp) => rnd::RP,
        _ => rnd::RN,
    }
}

/// The negation of a float operand; constants are negated here.
pub(crate) fn float_negated(operand: Operand) -> Operand {
    match operand.kind() {
        OperandKind::Imm(bits, kind) => Operand::imm_of(bits ^ 0x8000_0000, kind),
        _ => operand.neg(),
    }
}

/// The fields of an arithmetic instruction: rounding, `.ftz`, `.sat`.
fn arithmetic_fields(inst: &Instruction) -> [(Field, u8); 3] {
    [(Field::Rnd, rounding(inst)), flag(Field::Ftz, inst.has(Word::Ftz)), flag(Field::Sat, inst.has(Word::Sat))]
}

/// `add`, `sub`
pub(crate) fn f32_add_sub(cx: &mut FnLower<'_, '_>, inst: &Instruction, subtract: bool) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let (a, b) = (cx.src_f32(a)?, cx.src_f32(b)?);
    let b = if subtract { float_negated(b) } else { b };
    let d = cx.dst(d)?;
    word_ops::open_op2(cx, inst, Opcode::FADD, &arithmetic_fields(inst), d, [a, b])
}

/// `mul`
pub(crate) fn f32_mul(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let (a, b) = (cx.src_f32(a)?, cx.src_f32(b)?);
    let d = cx.dst(d)?;
    word_ops::open_op2(cx, inst, Opcode::FMUL, &arithmetic_fields(inst), d, [a, b])
}

/// `fma`, `mad`
pub(crate) fn f32_fma(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, c] = operands(inst)?;
    let (a, b, c) = (cx.src_f32(a)?, cx.src_f32(b)?, cx.src_f32(c)?);
    let d = cx.dst(d)?;
    word_ops::op3(cx, Opcode::FFMA, &arithmetic_fields(inst), d, [a, b, c])
}

/// `neg`, `abs`: a sum with -0, which also flushes and makes NaNs canonical.
pub(crate) fn f32_sign(cx: &mut FnLower<'_, '_>, inst: &Instruction, absolute: bool) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = cx.src_f32(a)?;
    let a = cx.in_reg(a)?;
    let a = if absolute { a.abs() } else { a.neg() };
    let d = cx.dst(d)?;
    word_ops::op2(cx, Opcode::FADD, &[flag(Field::Ftz, inst.has(Word::Ftz))], d, a, Operand::rz().neg())
}

/// `min`, `max`, of two or three operands
pub(crate) fn f32_minmax(cx: &mut FnLower<'_, '_>, inst: &Instruction, least: bool) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let xorsign = inst.has(Word::Xorsign);
    let (mut a, mut b) = (cx.src_f32(a)?, cx.src_f32(b)?);
    let absolute = inst.has(Word::Abs);
    if xorsign || absolute {
        (a, b) = (cx.in_reg(a)?.abs(), cx.in_reg(b)?.abs());
    }
    let fields =
        [flag(Field::Ftz, inst.has(Word::Ftz)), flag(Field::Nan, inst.has(Word::NaN)), flag(Field::Xorsign, xorsign)];
    let which = (Role::PA, Operand::pt().with_not(!least));
    if let Some(c) = inst.operands.get(3) {
        let both = cx.temp()?;
        cx.emit(Opcode::FMNMX, &fields, &[(Role::D, both), (Role::A, a), (Role::B, b), which])?;
        (a, b) = (both, cx.src_f32(c)?);
        if absolute {
            b = cx.in_reg(b)?.abs();
        }
        if xorsign {
            return Err(unknown(cx, inst));
        }
    }
    let d = cx.dst(d)?;
    cx.emit(Opcode::FMNMX, &fields, &[(Role::D, d), (Role::A, a), (Role::B, b), which])?;
    Ok(())
}

/// `d = a * b` with no modifiers but `ftz`.
pub(crate) fn f32_scaled(cx: &mut FnLower<'_, '_>, a: Operand, factor: u32, ftz: bool) -> Lowered<Operand> {
    let d = cx.temp()?;
    word_ops::op2(cx, Opcode::FMUL, &[flag(Field::Ftz, ftz)], d, a, Operand::imm(factor))?;
    Ok(d)
}

/// `|a| fcmp bound`, or `a fcmp bound`.
pub(crate) fn f32_test(
    cx: &mut FnLower<'_, '_>,
    comparison: u8,
    a: Operand,
    bound: u32,
    ftz: bool,
) -> Lowered<Operand> {
    let p = cx.temp_pred()?;
    let fields = [(Field::Fcmp, comparison), flag(Field::Ftz, ftz), (Field::Bop, bop::AND)];
    cx.emit(Opcode::FSETP, &fields, &[(Role::PD, p), (Role::A, a), (Role::B, Operand::imm(bound))])?;
    Ok(p)
}

/// `d = function(b)` on the special-function unit.
pub(crate) fn mufu(cx: &mut FnLower<'_, '_>, function: u8, d: Operand, b: Operand) -> Lowered {
    word_ops::op1(cx, Opcode::MUFU, &[(Field::Mufu, function)], d, b)
}

/// `p ? a : b` in a temporary.
pub(crate) fn chosen(cx: &mut FnLower<'_, '_>, a: Operand, b: Operand, p: Operand) -> Lowered<Operand> {
    let d = cx.temp()?;
    word_ops::select(cx, d, a, b, p)?;
    Ok(d)
}

/// The value, times 2^24 where it is subnormal; and whether it is not.
fn made_normal(cx: &mut FnLower<'_, '_>, a: Operand) -> Lowered<(Operand, Operand)> {
    let normal = f32_test(cx, fcmp::GEU, a.abs(), LEAST_NORMAL, false)?;
    let scaled = f32_scaled(cx, a, TWO_24, false)?;
    Ok((chosen(cx, a, scaled, normal)?, normal))
}

/// `sqrt.approx`, `rsqrt.approx`, `lg2.approx`: of a subnormal operand times 2^24, corrected by `op`.
fn approximate_scaled(
    cx: &mut FnLower<'_, '_>,
    inst: &Instruction,
    function: u8,
    op: Opcode,
    correction: u32,
) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = cx.src_f32(a)?;
    let a = cx.in_reg(a)?;
    if inst.has(Word::Ftz) {
        let d = cx.dst(d)?;
        return mufu(cx, function, d, a);
    }
    let (x, normal) = made_normal(cx, a)?;
    let (y, corrected) = (cx.temp()?, cx.temp()?);
    mufu(cx, function, y, x)?;
    word_ops::op2(cx, op, &[], corrected, y, Operand::imm(correction))?;
    let d = cx.dst(d)?;
    word_ops::select(cx, d, y, corrected, normal)
}

/// `sqrt.approx`
pub(crate) fn f32_sqrt_approx(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    const TWO_MINUS_12: u32 = 0x3980_0000;
    approximate_scaled(cx, inst, mufu::SQRT, Opcode::FMUL, TWO_MINUS_12)
}

/// `rsqrt.approx`
pub(crate) fn f32_rsqrt_approx(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    const TWO_12: u32 = 0x4580_0000;
    approximate_scaled(cx, inst, mufu::RSQ, Opcode::FMUL, TWO_12)
}

/// `rcp.approx`: operand and result are scaled where one of them is subnormal.
pub(crate) fn f32_rcp_approx(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = cx.src_f32(a)?;
    let a = cx.in_reg(a)?;
    if inst.has(Word::Ftz) {
        let d = cx.dst(d)?;
        return mufu(cx, mufu::RCP, d, a);
    }
    let normal = f32_test(cx, fcmp::GEU, a.abs(), LEAST_NORMAL, false)?;
    let large = f32_test(cx, fcmp::GT, a.abs(), TWO_126, false)?;
    let up = cx.temp()?;
    cx.mov(up, Operand::imm(TWO_24))?;
    let scale = chosen(cx, up, Operand::imm(ONE), normal.not())?;
    let scale = chosen(cx, scale, Operand::imm(QUARTER), large.not())?;
    let (x, y) = (cx.temp()?, cx.temp()?);
    word_ops::op2(cx, Opcode::FMUL, &[], x, a, scale)?;
    mufu(cx, mufu::RCP, y, x)?;
    let d = cx.dst(d)?;
    word_ops::op2(cx, Opcode::FMUL, &[], d, scale, y)
}

/// `div.approx` (within 2 ulp, divisors up to 2^126) and `div.full` (all divisors)
pub(crate) fn f32_div_approx(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let ftz = inst.has(Word::Ftz);
    let (mut a, mut b) = (cx.src_f32(a)?, cx.src_f32(b)?);
    b = cx.in_reg(b)?;
    if inst.has(Word::Full) {
        let large = f32_test(cx, fcmp::GT, b.abs(), TWO_126, ftz)?;
        (a, b) = both_scaled(cx, a, b, QUARTER, large.not(), ftz)?;
    }
    if !ftz {
        let normal = f32_test(cx, fcmp::GEU, b.abs(), LEAST_NORMAL, false)?;
        (a, b) = both_scaled(cx, a, b, TWO_24, normal, false)?;
    }
    let reciprocal = cx.temp()?;
    mufu(cx, mufu::RCP, reciprocal, b)?;
    let d = cx.dst(d)?;
    word_ops::op2(cx, Opcode::FMUL, &[flag(Field::Ftz, ftz)], d, reciprocal, a)
}

/// Both operands of a division as they are where `plain`, else times `factor`.
fn both_scaled(
    cx: &mut FnLower<'_, '_>,
    a: Operand,
    b: Operand,
    factor: u32,
    plain: Operand,
    ftz: bool,
) -> Lowered<(Operand, Operand)> {
    let a = cx.in_reg(a)?;
    let (a_scaled, b_scaled) = (f32_scaled(cx, a, factor, ftz)?, f32_scaled(cx, b, factor, ftz)?);
    Ok((chosen(cx, a, a_scaled, plain)?, chosen(cx, b, b_scaled, plain)?))
}

/// `sin.approx`, `cos.approx`
pub(crate) fn trigonometric(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = f.src_f32(a)?;
    let turns = f.temp()?;
    word_ops::op2(f, Opcode::FMUL, &[(Field::Rnd, rnd::RZ)], turns, a, Operand::imm(TURNS))?;
    let d = f.dst(d)?;
    mufu(f, if inst.opcode == Ptx::Sin { mufu::SIN } else { mufu::COS }, d, turns)
}

/// `lg2.approx`
pub(crate) fn lg2(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    const MINUS_24: u32 = 0xc1c0_0000;
    approximate_scaled(f, inst, mufu::LG2, Opcode::FADD, MINUS_24)
}

/// `ex2.approx`: a small result is the square of the root of it.
pub(crate) fn ex2(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    const MINUS_126: u32 = 0xc2fc_0000;
    const HALF: u32 = 0x3f00_0000;
    let [d, a] = operands(inst)?;
    let a = f.src_f32(a)?;
    let a = f.in_reg(a)?;
    if inst.has(Word::Ftz) {
        let d = f.dst(d)?;
        return mufu(f, mufu::EX2, d, a);
    }
    let normal = f32_test(f, fcmp::GEU, a, MINUS_126, false)?;
    let half = f32_scaled(f, a, HALF, false)?;
    let x = chosen(f, a, half, normal)?;
    let (y, square) = (f.temp()?, f.temp()?);
    mufu(f, mufu::EX2, y, x)?;
    word_ops::op2(f, Opcode::FMUL, &[], square, y, y)?;
    let d = f.dst(d)?;
    word_ops::select(f, d, y, square, normal)
}

/// `tanh.approx`
pub(crate) fn tanh(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = f.src_f32(a)?;
    let d = f.dst(d)?;
    mufu(f, mufu::TANH, d, a)
}

/// `copysign`: the sign of the first operand, the rest of the second.
pub(crate) fn copysign(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
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
pub(crate) fn testp(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
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
            let normal = word_ops::pred_logic(f, lut::AND, low, high)?;
            let zero = magnitude.test(f, cmp::EQ, 0)?;
            word_ops::pred_logic(f, lut::OR, normal, zero)?
        }
        Word::Subnormal => {
            let (low, high) = (magnitude.test(f, cmp::GT, 0)?, magnitude.test(f, cmp::LT, least_normal)?);
            word_ops::pred_logic(f, lut::AND, low, high)?
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
            let hi = word_ops::logic(f, lut::AND, a.hi, mask)?;
            return Ok(Magnitude::Double(Wide::of_halves(a.lo, hi)));
        }
        let a = f.src_f32(a)?;
        Ok(Magnitude::Single(word_ops::logic(f, lut::AND, a, mask)?))
    }

    /// Compares with a bound whose lower word is zero.
    fn test(&self, f: &mut FnLower<'_, '_>, comparison: u8, bound: u32) -> Lowered<Operand> {
        let compare = IntCmp::unsigned(comparison);
        match *self {
            Magnitude::Single(bits) => word_ops::test(f, compare, bits, Operand::imm(bound)),
            Magnitude::Double(wide) => wide::wide_test(f, compare, wide, Wide::of_bits(u64::from(bound) << 32)),
        }
    }
}
