//! Half-precision arithmetic: `f16`, `bf16` and pairs of them.

use crate::chapters::float32::rounding;
use crate::chapters::integer::operands;
use crate::error::Lowered;
use crate::function::{FnLower, destinations, ops, sources, word_ops};
use crate::handler::unknown;
use oriole_isa::{FhFmt, Field, HalfB, HalfFmt, Mufu, MufuFmt, Opcode, Role, Setting, Swizzle, SwzB};
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
    fn fields(self, halves: &[Setting]) -> Vec<Setting> {
        let mut fields = vec![Field::HALF_FMT.is(if self.bf16 { HalfFmt::BF16_V2 } else { HalfFmt::F16 })];
        if !self.packed {
            fields.extend(halves);
        }
        fields
    }
}

/// The modifiers that half arithmetic shares.
fn modifiers(inst: &Instruction) -> Vec<Setting> {
    let known = [(Word::Ftz, Field::FTZ), (Word::Sat, Field::SAT), (Word::Relu, Field::RELU), (Word::Oob, Field::OOB)];
    known.iter().filter(|(word, _)| inst.has(*word)).map(|(_, field)| field.is(true)).collect()
}

/// Both elements of a source are its low half.
const A_LOW: Setting = Field::SWZ_A.is(Swizzle::H0_H0);
const B_LOW: Setting = Field::SWZ_B.is(SwzB::H0_H0);
const C_LOW: Setting = Field::SWZ_C.is(Swizzle::H0_H0);

/// A half source in a register: constants of one half stand in the low one.
fn half_src(cx: &mut FnLower<'_, '_>, operand: &oriole_ptx::ast::Operand) -> Lowered<Operand> {
    let value = sources::src(cx, operand)?;
    ops::in_reg(cx, value)
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
    let fields = [Format::of(inst).fields(&[A_LOW, B_LOW]), modifiers(inst)].concat();
    let d = destinations::dst(cx, d)?;
    word_ops::open_op2(cx, inst, op, &fields, d, [a, b])
}

/// `fma`
pub(crate) fn half_fma(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, c] = operands(inst)?;
    let (a, b, c) = (half_src(cx, a)?, half_src(cx, b)?, half_src(cx, c)?);
    let fields = [Format::of(inst).fields(&[A_LOW, B_LOW, C_LOW]), modifiers(inst)].concat();
    let d = destinations::dst(cx, d)?;
    word_ops::op3(cx, Opcode::HFMA2, &fields, d, [a, b, c])
}

/// `add`, `sub`, `fma` with a result and a last operand in single precision: exact products and sums,
/// rounded once.
pub(crate) fn half_mixed(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    if !cx.has(Opcode::FHADD) {
        return Err(unknown(cx, inst));
    }
    let format = if Format::of(inst).bf16 { FhFmt::BF16 } else { FhFmt::F16 };
    let fields = [Field::FH_FMT.is(format), Field::RND.is(rounding(inst)), Field::SAT.is(inst.has(Word::Sat))];
    if inst.opcode == Ptx::Fma {
        let [d, a, b, c] = operands(inst)?;
        let (a, b, c) = (half_src(cx, a)?, half_src(cx, b)?, sources::src_f32(cx, c)?);
        let c = ops::in_reg(cx, c)?;
        let d = destinations::dst(cx, d)?;
        return word_ops::op3(cx, Opcode::FHFMA, &fields, d, [a, b, c]);
    }
    let [d, a, b] = operands(inst)?;
    let (a, b) = (half_src(cx, a)?, sources::src_f32(cx, b)?);
    let b = ops::in_reg(cx, b)?;
    let d = destinations::dst(cx, d)?;
    word_ops::op2(cx, Opcode::FHADD, &fields, d, a, if inst.opcode == Ptx::Sub { b.neg() } else { b })
}

/// `neg`, `abs`: a sum with -0, which also flushes and makes NaNs canonical.
pub(crate) fn half_sign(cx: &mut FnLower<'_, '_>, inst: &Instruction, absolute: bool) -> Lowered {
    let [d, a] = operands(inst)?;
    let a = half_src(cx, a)?;
    let a = if absolute { a.abs() } else { a.neg() };
    let d = destinations::dst(cx, d)?;
    let format = Format::of(inst);
    if format.bf16 {
        let fields = format.fields(&[C_LOW]);
        return word_ops::op3(cx, Opcode::HFMA2, &fields, d, [Operand::rz().neg(), Operand::rz(), a]);
    }
    let fields = [format.fields(&[A_LOW]), modifiers(inst)].concat();
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
    let own = [Field::NAN.is(inst.has(Word::NaN)), Field::XORSIGN.is(xorsign)];
    let fields = [Format::of(inst).fields(&[A_LOW, B_LOW]), modifiers(inst), own.to_vec()].concat();
    let which = Operand::pt().with_not(!least);
    let d = destinations::dst(cx, d)?;
    cx.emit(Opcode::HMNMX2, &fields, &[(Role::D, d), (Role::A, a), (Role::B, b), (Role::PA, which)])?;
    Ok(())
}

/// `tanh.approx`, `ex2.approx`
pub(crate) fn half_mufu(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let format = Format::of(inst);
    let function = if inst.opcode == Ptx::Tanh { Mufu::TANH } else { Mufu::EX2 };
    let kind = if format.bf16 { MufuFmt::BF16 } else { MufuFmt::F16 };
    let fields = [Field::MUFU.is(function), Field::MUFU_FMT.is(kind)];
    let a = half_src(cx, a)?;
    if !format.packed {
        let d = destinations::dst(cx, d)?;
        return word_ops::op1(cx, Opcode::MUFU, &fields, d, a);
    }
    let (low, high) = (cx.temp()?, cx.temp()?);
    word_ops::op1(cx, Opcode::MUFU, &fields, low, a)?;
    word_ops::op1(cx, Opcode::MUFU, &[fields.as_slice(), &[Field::HALF_B.is(HalfB::H1)]].concat(), high, a)?;
    let d = destinations::dst(cx, d)?;
    ops::prmt(cx, d, low, 0x5410, high)
}
