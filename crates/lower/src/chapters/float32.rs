//! Single-precision arithmetic: everything but division and roots with IEEE rounding, which
//! [`super::division`] has.

use crate::chapters::integer::operands;
use crate::chapters::wide;
use crate::error::{Lowered, invalid};
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::word_ops::IntCmp;
use crate::function::{FnLower, destinations, ops, sources, word_ops};
use crate::handler::unknown;
use oriole_isa::{Bop, Cmp, Fcmp, Field, Mufu, Opcode, Rnd, Role, Setting};
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

/// Value of [`Field::RND`].
pub(crate) fn rounding(inst: &Instruction) -> Rnd {
    match inst.rounding() {
        Some(Rounding::Rz) => Rnd::RZ,
        Some(Rounding::Rm) => Rnd::RM,
        Some(Rounding::Rp) => Rnd::RP,
        _ => Rnd::RN,
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
fn arithmetic_fields(inst: &Instruction) -> [Setting; 3] {
    [Field::RND.is(rounding(inst)), Field::FTZ.is(inst.has(Word::Ftz)), Field::SAT.is(inst.has(Word::Sat))]
}

/// `add`, `sub`
pub(crate) fn f32_add_sub(cx: &mut FnLower<'_, '_>, inst: &Instruction, subtract: bool) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let (a, b) = (sources::src_f32(cx, a)?, sources::src_f32(cx, b)?);
    let b = if subtract { float_negated(b) } else { b };
    let d = destinations::dst(cx, d)?;
    word_ops::open_op2(cx, inst, Opcode::FADD, &arithmetic_fields(inst), d, [a, b])
}

/// `mul`
pub(crate) fn f32_mul(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let (a, b) = (sources::src_f32(cx, a)?, sources::src_f32(cx, b)?);
    let d = destinations::dst(cx, d)?;
    word_ops::open_op2(cx, inst, Opcode::FMUL, &arithmetic_fields(inst), d, [a, b])
}

/// `fma`, `mad`
pub(crate) fn f32_fma(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, c] = operands(inst)?;
    let (a, b, c) = (sources::src_f32(cx, a)?, sources::src_f32(cx, b)?, sources::src_f32(cx, c)?);
    let d = destinations::dst(cx, d)?;
    word_ops::op3(cx, Opcode::FFMA, &arithmetic_fields(inst), d, [a, b, c])
}

/// `neg`, `abs`: a sum with -0, which also flushes and makes NaNs canonical.
pub(crate) fn f32_sign(cx: &mut FnLower<'_, '_>, inst: &Instruction, absolute: bool) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = sources::src_f32(cx, a)?;
    let a = ops::in_reg(cx, a)?;
    let a = if absolute { a.abs() } else { a.neg() };
    let d = destinations::dst(cx, d)?;
    word_ops::op2(cx, Opcode::FADD, &[Field::FTZ.is(inst.has(Word::Ftz))], d, a, Operand::rz().neg())
}

/// `min`, `max`, of two or three operands
pub(crate) fn f32_minmax(cx: &mut FnLower<'_, '_>, inst: &Instruction, least: bool) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let xorsign = inst.has(Word::Xorsign);
    let (mut a, mut b) = (sources::src_f32(cx, a)?, sources::src_f32(cx, b)?);
    let absolute = inst.has(Word::Abs);
    if xorsign || absolute {
        (a, b) = (ops::in_reg(cx, a)?.abs(), ops::in_reg(cx, b)?.abs());
    }
    let fields = [Field::FTZ.is(inst.has(Word::Ftz)), Field::NAN.is(inst.has(Word::NaN)), Field::XORSIGN.is(xorsign)];
    let which = (Role::PA, Operand::pt().with_not(!least));
    if let Some(c) = inst.operands.get(3) {
        let both = cx.temp()?;
        cx.emit(Opcode::FMNMX, &fields, &[(Role::D, both), (Role::A, a), (Role::B, b), which])?;
        (a, b) = (both, sources::src_f32(cx, c)?);
        if absolute {
            b = ops::in_reg(cx, b)?.abs();
        }
        if xorsign {
            return Err(unknown(cx, inst));
        }
    }
    let d = destinations::dst(cx, d)?;
    cx.emit(Opcode::FMNMX, &fields, &[(Role::D, d), (Role::A, a), (Role::B, b), which])?;
    Ok(())
}

/// `d = a * b` with no modifiers but `ftz`.
pub(crate) fn f32_scaled(cx: &mut FnLower<'_, '_>, a: Operand, factor: u32, ftz: bool) -> Lowered<Operand> {
    let d = cx.temp()?;
    word_ops::op2(cx, Opcode::FMUL, &[Field::FTZ.is(ftz)], d, a, Operand::imm(factor))?;
    Ok(d)
}

/// `|a| fcmp bound`, or `a fcmp bound`.
pub(crate) fn f32_test(
    cx: &mut FnLower<'_, '_>,
    comparison: Fcmp,
    a: Operand,
    bound: u32,
    ftz: bool,
) -> Lowered<Operand> {
    let p = cx.temp_pred()?;
    let fields = [Field::FCMP.is(comparison), Field::FTZ.is(ftz), Field::BOP.is(Bop::AND)];
    cx.emit(Opcode::FSETP, &fields, &[(Role::PD, p), (Role::A, a), (Role::B, Operand::imm(bound))])?;
    Ok(p)
}

/// `d = function(b)` on the special-function unit.
pub(crate) fn mufu(cx: &mut FnLower<'_, '_>, function: Mufu, d: Operand, b: Operand) -> Lowered {
    word_ops::op1(cx, Opcode::MUFU, &[Field::MUFU.is(function)], d, b)
}

/// `p ? a : b` in a temporary.
pub(crate) fn chosen(cx: &mut FnLower<'_, '_>, a: Operand, b: Operand, p: Operand) -> Lowered<Operand> {
    let d = cx.temp()?;
    word_ops::select(cx, d, a, b, p)?;
    Ok(d)
}

/// The value, times 2^24 where it is subnormal; and whether it is not.
fn made_normal(cx: &mut FnLower<'_, '_>, a: Operand) -> Lowered<(Operand, Operand)> {
    let normal = f32_test(cx, Fcmp::GEU, a.abs(), LEAST_NORMAL, false)?;
    let scaled = f32_scaled(cx, a, TWO_24, false)?;
    Ok((chosen(cx, a, scaled, normal)?, normal))
}

/// `sqrt.approx`, `rsqrt.approx`, `lg2.approx`: of a subnormal operand times 2^24, corrected by `op`.
fn approximate_scaled(
    cx: &mut FnLower<'_, '_>,
    inst: &Instruction,
    function: Mufu,
    op: Opcode,
    correction: u32,
) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = sources::src_f32(cx, a)?;
    let a = ops::in_reg(cx, a)?;
    if inst.has(Word::Ftz) {
        let d = destinations::dst(cx, d)?;
        return mufu(cx, function, d, a);
    }
    let (x, normal) = made_normal(cx, a)?;
    let (y, corrected) = (cx.temp()?, cx.temp()?);
    mufu(cx, function, y, x)?;
    word_ops::op2(cx, op, &[], corrected, y, Operand::imm(correction))?;
    let d = destinations::dst(cx, d)?;
    word_ops::select(cx, d, y, corrected, normal)
}

/// `sqrt.approx`
pub(crate) fn f32_sqrt_approx(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    const TWO_MINUS_12: u32 = 0x3980_0000;
    approximate_scaled(cx, inst, Mufu::SQRT, Opcode::FMUL, TWO_MINUS_12)
}

/// `rsqrt.approx`
pub(crate) fn f32_rsqrt_approx(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    const TWO_12: u32 = 0x4580_0000;
    approximate_scaled(cx, inst, Mufu::RSQ, Opcode::FMUL, TWO_12)
}

/// `rcp.approx`: operand and result are scaled where one of them is subnormal.
pub(crate) fn f32_rcp_approx(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = sources::src_f32(cx, a)?;
    let a = ops::in_reg(cx, a)?;
    if inst.has(Word::Ftz) {
        let d = destinations::dst(cx, d)?;
        return mufu(cx, Mufu::RCP, d, a);
    }
    let normal = f32_test(cx, Fcmp::GEU, a.abs(), LEAST_NORMAL, false)?;
    let large = f32_test(cx, Fcmp::GT, a.abs(), TWO_126, false)?;
    let up = cx.temp()?;
    ops::mov(cx, up, Operand::imm(TWO_24))?;
    let scale = chosen(cx, up, Operand::imm(ONE), normal.not())?;
    let scale = chosen(cx, scale, Operand::imm(QUARTER), large.not())?;
    let (x, y) = (cx.temp()?, cx.temp()?);
    word_ops::op2(cx, Opcode::FMUL, &[], x, a, scale)?;
    mufu(cx, Mufu::RCP, y, x)?;
    let d = destinations::dst(cx, d)?;
    word_ops::op2(cx, Opcode::FMUL, &[], d, scale, y)
}

/// `div.approx` (within 2 ulp, divisors up to 2^126) and `div.full` (all divisors)
pub(crate) fn f32_div_approx(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let ftz = inst.has(Word::Ftz);
    let (mut a, mut b) = (sources::src_f32(cx, a)?, sources::src_f32(cx, b)?);
    b = ops::in_reg(cx, b)?;
    if inst.has(Word::Full) {
        let large = f32_test(cx, Fcmp::GT, b.abs(), TWO_126, ftz)?;
        (a, b) = both_scaled(cx, a, b, QUARTER, large.not(), ftz)?;
    }
    if !ftz {
        let normal = f32_test(cx, Fcmp::GEU, b.abs(), LEAST_NORMAL, false)?;
        (a, b) = both_scaled(cx, a, b, TWO_24, normal, false)?;
    }
    let reciprocal = cx.temp()?;
    mufu(cx, Mufu::RCP, reciprocal, b)?;
    let d = destinations::dst(cx, d)?;
    word_ops::op2(cx, Opcode::FMUL, &[Field::FTZ.is(ftz)], d, reciprocal, a)
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
    let a = ops::in_reg(cx, a)?;
    let (a_scaled, b_scaled) = (f32_scaled(cx, a, factor, ftz)?, f32_scaled(cx, b, factor, ftz)?);
    Ok((chosen(cx, a, a_scaled, plain)?, chosen(cx, b, b_scaled, plain)?))
}

/// `sin.approx`, `cos.approx`
pub(crate) fn trigonometric(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = sources::src_f32(cx, a)?;
    let turns = cx.temp()?;
    word_ops::op2(cx, Opcode::FMUL, &[Field::RND.is(Rnd::RZ)], turns, a, Operand::imm(TURNS))?;
    let d = destinations::dst(cx, d)?;
    mufu(cx, if inst.opcode == Ptx::Sin { Mufu::SIN } else { Mufu::COS }, d, turns)
}

/// `lg2.approx`
pub(crate) fn lg2(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    const MINUS_24: u32 = 0xc1c0_0000;
    approximate_scaled(cx, inst, Mufu::LG2, Opcode::FADD, MINUS_24)
}

/// `ex2.approx`: a small result is the square of the root of it.
pub(crate) fn ex2(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    const MINUS_126: u32 = 0xc2fc_0000;
    const HALF: u32 = 0x3f00_0000;
    let [d, a] = operands(inst)?;
    let a = sources::src_f32(cx, a)?;
    let a = ops::in_reg(cx, a)?;
    if inst.has(Word::Ftz) {
        let d = destinations::dst(cx, d)?;
        return mufu(cx, Mufu::EX2, d, a);
    }
    let normal = f32_test(cx, Fcmp::GEU, a, MINUS_126, false)?;
    let half = f32_scaled(cx, a, HALF, false)?;
    let x = chosen(cx, a, half, normal)?;
    let (y, square) = (cx.temp()?, cx.temp()?);
    mufu(cx, Mufu::EX2, y, x)?;
    word_ops::op2(cx, Opcode::FMUL, &[], square, y, y)?;
    let d = destinations::dst(cx, d)?;
    word_ops::select(cx, d, y, square, normal)
}

/// `tanh.approx`
pub(crate) fn tanh(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = sources::src_f32(cx, a)?;
    let d = destinations::dst(cx, d)?;
    mufu(cx, Mufu::TANH, d, a)
}

/// `copysign`: the sign of the first operand, the rest of the second.
pub(crate) fn copysign(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, sign, magnitude] = operands(inst)?;
    let mask = Operand::imm(0x8000_0000);
    let table = (lut::B & lut::C) | (!lut::B & lut::A);
    if inst.last_type() == Some(ScalarType::F64) {
        let (sign, magnitude) = (sources::src_f64(cx, sign)?, sources::src_f64(cx, magnitude)?);
        let d = destinations::dst64_direct(cx, d)?;
        ops::mov(cx, d.lo, magnitude.lo)?;
        return ops::lop3(cx, d.hi, magnitude.hi, mask, sign.hi, table);
    }
    let (sign, magnitude) = (sources::src_f32(cx, sign)?, sources::src_f32(cx, magnitude)?);
    let d = destinations::dst(cx, d)?;
    ops::lop3(cx, d, magnitude, mask, sign, table)
}

/// `testp`: every property is a range of the magnitude's bits.
pub(crate) fn testp(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let double = inst.last_type() == Some(ScalarType::F64);
    let question = inst.words().next().ok_or_else(|| invalid(inst.span, "testp needs a property"))?;
    let (infinity, least_normal) = if double { (0x7ff0_0000, 0x0010_0000) } else { (0x7f80_0000, LEAST_NORMAL) };
    let magnitude = Magnitude::of(cx, a, double)?;
    let p = match question {
        Word::Finite => magnitude.test(cx, Cmp::LT, infinity)?,
        Word::Infinite => magnitude.test(cx, Cmp::EQ, infinity)?,
        Word::Number => magnitude.test(cx, Cmp::LE, infinity)?,
        Word::Notanumber => magnitude.test(cx, Cmp::GT, infinity)?,
        // Zero counts as normal.
        Word::Normal => {
            let (low, high) = (magnitude.test(cx, Cmp::GE, least_normal)?, magnitude.test(cx, Cmp::LT, infinity)?);
            let normal = word_ops::pred_logic(cx, lut::AND, low, high)?;
            let zero = magnitude.test(cx, Cmp::EQ, 0)?;
            word_ops::pred_logic(cx, lut::OR, normal, zero)?
        }
        Word::Subnormal => {
            let (low, high) = (magnitude.test(cx, Cmp::GT, 0)?, magnitude.test(cx, Cmp::LT, least_normal)?);
            word_ops::pred_logic(cx, lut::AND, low, high)?
        }
        _ => return Err(unknown(cx, inst)),
    };
    let d = destinations::dst_pred(cx, d)?;
    ops::mov_pred(cx, d, p)
}

/// The bits of a float without its sign.
enum Magnitude {
    Single(Operand),
    Double(Wide),
}

impl Magnitude {
    fn of(cx: &mut FnLower<'_, '_>, a: &ast::Operand, double: bool) -> Lowered<Magnitude> {
        let mask = Operand::imm(0x7fff_ffff);
        if double {
            let a = sources::src_f64(cx, a)?;
            let hi = word_ops::logic(cx, lut::AND, a.hi, mask)?;
            return Ok(Magnitude::Double(Wide::of_halves(a.lo, hi)));
        }
        let a = sources::src_f32(cx, a)?;
        Ok(Magnitude::Single(word_ops::logic(cx, lut::AND, a, mask)?))
    }

    /// Compares with a bound whose lower word is zero.
    fn test(&self, cx: &mut FnLower<'_, '_>, comparison: Cmp, bound: u32) -> Lowered<Operand> {
        let compare = IntCmp::unsigned(comparison);
        match *self {
            Magnitude::Single(bits) => word_ops::test(cx, compare, bits, Operand::imm(bound)),
            Magnitude::Double(wide) => wide::wide_test(cx, compare, wide, Wide::of_bits(u64::from(bound) << 32)),
        }
    }
}
