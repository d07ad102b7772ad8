//! Half-precision arithmetic: `f16`, `bf16` and pairs of them.

use crate::chapters::float32::rounding;
use crate::chapters::integer::operands;
use crate::error::Lowered;
use crate::function::word_ops::flag;
use crate::function::{FnLower, word_ops};
use crate::handler::unknown;
use oriole_isa::{Field, Opcode, Role, fh_fmt, half_b, half_fmt, mufu, mufu_fmt, swizzle};
use oriole_ori::Operand;
use oriole_ptx::ast::{Instruction, Opcode as Ptx, ScalarType, Word};

/// Whether an instruction works on halves.
pub(crate) fn is_half(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F16 | ScalarType::F16x2 | ScalarType::Bf16 | ScalarType::Bf16x2)
}

/// The format of an instruction on halves.
#[derive(Clone, Copy, Debug)]
struct Format {
    bf16: bool,
    packed: bool,
}

impl Format {
    fn of(inst: &Instruction) -> Format {
        let ty = inst.last_type();
        Format {
            bf16: matches!(ty, Some(ScalarType::Bf16 | ScalarType::Bf16x2)),
            packed: matches!(ty, Some(ScalarType::F16x2 | ScalarType::Bf16x2)),
        }
    }

    /// The fields that say it: a single half is the low one, twice.
    fn fields(self, slots: &[Field]) -> Vec<(Field, u8)> {
        let mut fields = vec![(Field::HalfFmt, if self.bf16 { half_fmt::BF16_V2 } else { half_fmt::F16 })];
        if !self.packed {
            fields.extend(slots.iter().map(|slot| (*slot, swizzle::H0_H0)));
        }
        fields
    }
}

/// The modifiers that half arithmetic shares.
fn modifiers(inst: &Instruction) -> Vec<(Field, u8)> {
    let known = [(Word::Ftz, Field::Ftz), (Word::Sat, Field::Sat), (Word::Relu, Field::Relu), (Word::Oob, Field::Oob)];
    known.iter().filter(|(word, _)| inst.has(*word)).map(|(_, field)| (*field, 1)).collect()
}

const AB: [Field; 2] = [Field::SwzA, Field::SwzB];
const ABC: [Field; 3] = [Field::SwzA, Field::SwzB, Field::SwzC];

/// A half source in a register: constants of one half stand in the low one.
fn half_src(cx: &mut FnLower<'_, '_>, operand: &oriole_ptx::ast::Operand) -> Lowered<Operand> {
    let value = cx.src(operand)?;
    cx.in_reg(value)
}

/// `add`, `sub`, `mul`
pub(crate) fn half_binary(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let (a, b) = (half_src(cx, a)?, half_src(cx, b)?);
    let (op, b) = match inst.opcode {
        Ptx::Add => (Opcode::HADD2, b),
        Ptx::Sub => (Opcode::HADD2, b.neg()),
        _ => (Opcode::HMUL2, b),
    };
    let fields = [Format::of(inst).fields(&AB), modifiers(inst)].concat();
    let d = cx.dst(d)?;
    word_ops::open_op2(cx, inst, op, &fields, d, [a, b])
}

/// `fma`
pub(crate) fn half_fma(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, c] = operands(inst)?;
    let (a, b, c) = (half_src(cx, a)?, half_src(cx, b)?, half_src(cx, c)?);
    let fields = [Format::of(inst).fields(&ABC), modifiers(inst)].concat();
    let d = cx.dst(d)?;
    word_ops::op3(cx, Opcode::HFMA2, &fields, d, [a, b, c])
}

/// `add`, `sub`, `fma` with a result and a last operand in single precision: exact products and sums,
/// rounded once.
pub(crate) fn half_mixed(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    if !cx.has(Opcode::FHADD) {
        return Err(unknown(cx, inst));
    }
    let format = if Format::of(inst).bf16 { fh_fmt::BF16 } else { fh_fmt::F16 };
    let fields = [(Field::FhFmt, format), (Field::Rnd, rounding(inst)), flag(Field::Sat, inst.has(Word::Sat))];
    if inst.opcode == Ptx::Fma {
        let [d, a, b, c] = operands(inst)?;
        let (a, b, c) = (half_src(cx, a)?, half_src(cx, b)?, cx.src_f32(c)?);
        let c = cx.in_reg(c)?;
        let d = cx.dst(d)?;
        return word_ops::op3(cx, Opcode::FHFMA, &fields, d, [a, b, c]);
    }
    let [d, a, b] = operands(inst)?;
    let (a, b) = (half_src(cx, a)?, cx.src_f32(b)?);
    let b = cx.in_reg(b)?;
    let d = cx.dst(d)?;
    word_ops::op2(cx, Opcode::FHADD, &fields, d, a, if inst.opcode == Ptx::Sub { b.neg() } else { b })
}

/// `neg`, `abs`: a sum with -0, which also flushes and makes NaNs canonical.
pub(crate) fn half_sign(cx: &mut FnLower<'_, '_>, inst: &Instruction, absolute: bool) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = half_src(cx, a)?;
    let a = if absolute { a.abs() } else { a.neg() };
    let d = cx.dst(d)?;
    let format = Format::of(inst);
    if format.bf16 {
        let fields = format.fields(&[Field::SwzC]);
        return word_ops::op3(cx, Opcode::HFMA2, &fields, d, [Operand::rz().neg(), Operand::rz(), a]);
    }
    let fields = [format.fields(&[Field::SwzA]), modifiers(inst)].concat();
    word_ops::op2(cx, Opcode::HADD2, &fields, d, a, Operand::rz().neg())
}

/// `min`, `max`
pub(crate) fn half_minmax(cx: &mut FnLower<'_, '_>, inst: &Instruction, least: bool) -> Lowered {
    let [d, a, b] = operands(inst)?;
    if inst.operands.len() > 3 || !cx.has(Opcode::HMNMX2) {
        return Err(unknown(cx, inst));
    }
    let xorsign = inst.has(Word::Xorsign);
    let (mut a, mut b) = (half_src(cx, a)?, half_src(cx, b)?);
    if xorsign {
        (a, b) = (a.abs(), b.abs());
    }
    let own = [flag(Field::Nan, inst.has(Word::NaN)), flag(Field::Xorsign, xorsign)];
    let fields = [Format::of(inst).fields(&AB), modifiers(inst), own.to_vec()].concat();
    let which = Operand::pt().with_not(!least);
    let d = cx.dst(d)?;
    cx.emit(Opcode::HMNMX2, &fields, &[(Role::D, d), (Role::A, a), (Role::B, b), (Role::PA, which)])?;
    Ok(())
}

/// `tanh.approx`, `ex2.approx`
pub(crate) fn half_mufu(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let format = Format::of(inst);
    let function = if inst.opcode == Ptx::Tanh { mufu::TANH } else { mufu::EX2 };
    let kind = if format.bf16 { mufu_fmt::BF16 } else { mufu_fmt::F16 };
    let fields = [(Field::Mufu, function), (Field::MufuFmt, kind)];
    let a = half_src(cx, a)?;
    if !format.packed {
        let d = cx.dst(d)?;
        return word_ops::op1(cx, Opcode::MUFU, &fields, d, a);
    }
    let (low, high) = (cx.temp()?, cx.temp()?);
    word_ops::op1(cx, Opcode::MUFU, &fields, low, a)?;
    word_ops::op1(cx, Opcode::MUFU, &[fields.as_slice(), &[(Field::HalfB, half_b::H1)]].concat(), high, a)?;
    let d = cx.dst(d)?;
    cx.prmt(d, low, 0x5410, high)
}
