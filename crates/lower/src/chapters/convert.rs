//! `cvt`: conversions among integers and floats of all widths.

use crate::chapters::float32::ONE;
use crate::chapters::integer::operands;
use crate::chapters::wide::Halves;
use crate::chapters::{convert_packed, division, float32, float64, wide};
use crate::error::{Lowered, invalid};
use crate::function::operands::Wide;
use crate::function::{FnLower, bindings, destinations, ops, sources, word_ops};
use crate::handler::{Chapter, unknown};
use oriole_isa::{Ffmt, Field, HalfFmt, Ifmt, Opcode, Pack, PackDst, PackSrc, Rnd, RndInt, Swizzle, SwzB};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Instruction, Opcode as Ptx, Rounding, ScalarType, Word};

/// The opcodes of this file.
pub(crate) const CHAPTER: Chapter = &[(Ptx::Cvt, cvt)];

/// Codes of the float formats.
const FLOAT_FORMATS: [(ScalarType, Ffmt); 4] = [
    (ScalarType::F16, Ffmt::F16),
    (ScalarType::F32, Ffmt::F32),
    (ScalarType::F64, Ffmt::F64),
    (ScalarType::Bf16, Ffmt::BF16),
];

/// Codes of the integer formats, by width and signedness.
const INT_FORMATS: [(u32, bool, Ifmt); 8] = [
    (8, false, Ifmt::U8),
    (8, true, Ifmt::S8),
    (16, false, Ifmt::U16),
    (16, true, Ifmt::S16),
    (32, false, Ifmt::U32),
    (32, true, Ifmt::S32),
    (64, false, Ifmt::U64),
    (64, true, Ifmt::S64),
];

/// A conversion taken apart.
#[derive(Clone, Copy, Debug)]
struct Conversion {
    to: ScalarType,
    from: ScalarType,
    rounding: Option<Rounding>,
    ftz: bool,
    sat: bool,
}

impl Conversion {
    /// Value of [`Field::RND`].
    fn rnd(self) -> Rnd {
        match self.rounding {
            Some(Rounding::Rz) => Rnd::RZ,
            Some(Rounding::Rm) => Rnd::RM,
            Some(Rounding::Rp) => Rnd::RP,
            _ => Rnd::RN,
        }
    }

    /// Value of [`Field::RND_INT`] where the conversion rounds to an integer.
    fn rnd_int(self) -> Option<RndInt> {
        match self.rounding? {
            Rounding::Rni => Some(RndInt::RN),
            Rounding::Rmi => Some(RndInt::FLOOR),
            Rounding::Rpi => Some(RndInt::CEIL),
            Rounding::Rzi => Some(RndInt::TRUNC),
            _ => None,
        }
    }
}

fn float_format(ty: ScalarType) -> Option<Ffmt> {
    FLOAT_FORMATS.iter().find(|(known, _)| *known == ty).map(|(_, code)| *code)
}

fn int_format(ty: ScalarType) -> Option<Ifmt> {
    let found = INT_FORMATS.iter().find(|(bits, signed, _)| *bits == ty.bits() && *signed == ty.is_signed());
    found.filter(|_| !ty.is_float()).map(|(.., code)| *code)
}

fn cvt(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let (Some(to), Some(from)) = (inst.ty(0), inst.ty(1)) else {
        return Err(invalid(inst.span, "a conversion needs two types"));
    };
    let how = Conversion { to, from, rounding: inst.rounding(), ftz: inst.has(Word::Ftz), sat: inst.has(Word::Sat) };
    let special = [Word::Relu, Word::Satfinite, Word::Pzo, Word::Pack].into_iter().any(|word| inst.has(word));
    let known = |ty| float_format(ty).is_some() || int_format(ty).is_some();
    if special || !known(to) || !known(from) {
        return convert_packed::cvt(cx, inst);
    }
    let [d, a] = operands(inst)?;
    match (float_format(to), float_format(from)) {
        (None, None) => int_to_int(cx, how, d, a),
        (None, Some(format)) => float_to_int(cx, how, format, d, a),
        (Some(format), None) => int_to_float(cx, how, format, d, a),
        (Some(_), Some(_)) => float_to_float(cx, inst, how, d, a),
    }
}

/// Writes a value of the type to a register that may be wider: PTX extends it.
fn narrow_result(cx: &mut FnLower<'_, '_>, ty: ScalarType, d: &ast::Operand, value: Operand) -> Lowered {
    let declared = bindings::declared_type(cx, d)?.map_or(32, ScalarType::bits);
    if declared > 32 {
        let (d, _) = bindings::register(cx, d)?;
        let word = word_ops::extended(cx, value, ty.bits(), ty.is_signed())?;
        ops::mov(cx, Operand::comp(d, 0), word)?;
        return destinations::fill(cx, d, 1, ty.is_signed());
    }
    let d = destinations::dst(cx, d)?;
    if ty.bits() < declared.max(16) && ty.bits() < 32 {
        let word = word_ops::extended(cx, value, ty.bits(), ty.is_signed())?;
        return ops::mov(cx, d, word);
    }
    ops::mov(cx, d, value)
}

/// `d` = the word above `low` when it is extended to 64 bits.
fn sign_word(cx: &mut FnLower<'_, '_>, d: Operand, low: Operand, signed: bool) -> Lowered {
    if signed { word_ops::shift_right(cx, true, d, low, Operand::imm(31)) } else { ops::mov(cx, d, Operand::rz()) }
}

// ---- integers ----

fn int_to_int(cx: &mut FnLower<'_, '_>, how: Conversion, d: &ast::Operand, a: &ast::Operand) -> Lowered {
    let (to, from) = (how.to, how.from);
    if from.bits() == 64 {
        let mut value = sources::src64(cx, a)?;
        if how.sat {
            value = clamp_wide(cx, to, from, value)?;
        }
        if to.bits() == 64 {
            let d = destinations::dst64_integer(cx, d, to.is_signed())?;
            return ops::mov64(cx, d.pair, value);
        }
        return narrow_result(cx, to, d, value.lo);
    }
    let value = sources::src(cx, a)?;
    let widens = to.bits() > from.bits() || how.sat || to.bits() == 64;
    let mut value = if widens { word_ops::extended(cx, value, from.bits(), from.is_signed())? } else { value };
    if how.sat {
        value = clamp_word(cx, to, from, value)?;
    }
    if to.bits() < 64 {
        return narrow_result(cx, to, d, value);
    }
    let d = destinations::dst64_integer(cx, d, to.is_signed())?;
    let negative = from.is_signed() && (to.is_signed() || !how.sat);
    let high = cx.temp()?;
    sign_word(cx, high, value, negative)?;
    ops::mov(cx, d.lo, value)?;
    ops::mov(cx, d.hi, high)
}

/// The value, extended to 32 bits, clamped to the range of `to`.
fn clamp_word(cx: &mut FnLower<'_, '_>, to: ScalarType, from: ScalarType, mut value: Operand) -> Lowered<Operand> {
    let (from_low, from_high) = range(from);
    let (to_low, to_high) = range(to);
    if from_low < to_low {
        let raised = cx.temp()?;
        word_ops::imnmx(cx, true, false, raised, value, Operand::imm(to_low as u32))?;
        value = raised;
    }
    if from_high > to_high {
        let lowered = cx.temp()?;
        word_ops::imnmx(cx, from.is_signed(), true, lowered, value, Operand::imm(to_high as u32))?;
        value = lowered;
    }
    Ok(value)
}

fn clamp_wide(cx: &mut FnLower<'_, '_>, to: ScalarType, from: ScalarType, mut value: Wide) -> Lowered<Wide> {
    let (from_low, from_high) = range(from);
    let (to_low, to_high) = range(to);
    if from_low < to_low {
        let (raised, d) = wide::temp_wide(cx)?;
        wide::wide_minmax(cx, true, false, d, value, Wide::of_bits(to_low as u64))?;
        value = raised;
    }
    if from_high > to_high {
        let (lowered, d) = wide::temp_wide(cx)?;
        wide::wide_minmax(cx, from.is_signed(), true, d, value, Wide::of_bits(to_high as u64))?;
        value = lowered;
    }
    Ok(value)
}

// ---- between integers and floats ----

/// A float source of any format as an operand.
fn float_source(cx: &mut FnLower<'_, '_>, ty: ScalarType, a: &ast::Operand) -> Lowered<Operand> {
    match ty {
        ScalarType::F64 => {
            let wide = sources::src_f64(cx, a)?;
            ops::in_pair(cx, wide)
        }
        ScalarType::F32 => sources::src_f32(cx, a),
        _ => {
            let value = sources::src(cx, a)?;
            ops::in_reg(cx, value)
        }
    }
}

fn float_to_int(
    cx: &mut FnLower<'_, '_>,
    how: Conversion,
    format: Ffmt,
    d: &ast::Operand,
    a: &ast::Operand,
) -> Lowered {
    let to = how.to;
    let code = int_format(to).ok_or_else(|| invalid(cx.span, "no such integer format"))?;
    let mut a = float_source(cx, how.from, a)?;
    // The 64-bit forms give the answer for NaN that PTX asks for, and cannot flush, by themselves.
    let narrow = to.bits() < 64;
    if how.ftz && !narrow {
        a = float32::f32_scaled(cx, a, ONE, true)?;
    }
    let fields = [
        Field::DST_INT.is(code),
        Field::SRC_FMT.is(format),
        Field::RND_INT.is(how.rnd_int().unwrap_or(RndInt::TRUNC)),
        Field::NTZ.is(narrow && how.from != ScalarType::F64),
        Field::FTZ.is(narrow && how.ftz),
    ];
    if !narrow {
        let d = destinations::dst64_integer(cx, d, to.is_signed())?;
        return word_ops::op1(cx, Opcode::F2I, &fields, d.whole(), a);
    }
    if to.bits() == 8 || bindings::declared_type(cx, d)?.is_some_and(|ty| ty.bits() > to.bits()) {
        let value = cx.temp()?;
        word_ops::op1(cx, Opcode::F2I, &fields, value, a)?;
        return narrow_result(cx, to, d, value);
    }
    let d = destinations::dst(cx, d)?;
    word_ops::op1(cx, Opcode::F2I, &fields, d, a)
}

fn int_to_float(
    cx: &mut FnLower<'_, '_>,
    how: Conversion,
    format: Ffmt,
    d: &ast::Operand,
    a: &ast::Operand,
) -> Lowered {
    let code = int_format(how.from).ok_or_else(|| invalid(cx.span, "no such integer format"))?;
    let fields = [Field::DST_FMT.is(format), Field::SRC_INT.is(code), Field::RND.is(how.rnd())];
    let a = if how.from.bits() == 64 {
        let wide = sources::src64(cx, a)?;
        ops::in_pair(cx, wide)?
    } else if how.from.bits() < 32 {
        // Narrow sources have no form with a constant.
        let word = sources::src(cx, a)?;
        ops::in_reg(cx, word)?
    } else {
        sources::src(cx, a)?
    };
    float_result(cx, how, d, |cx, to| word_ops::op1(cx, Opcode::I2F, &fields, to, a))
}

// ---- floats ----

/// Emits a conversion to a float and clamps its result to [0, 1] where `.sat` asks for it.
fn float_result(
    cx: &mut FnLower<'_, '_>,
    how: Conversion,
    d: &ast::Operand,
    convert: impl FnOnce(&mut FnLower<'_, '_>, Operand) -> Lowered,
) -> Lowered {
    if how.to == ScalarType::F64 {
        let d = destinations::dst64_direct(cx, d)?;
        if !how.sat {
            return convert(cx, d.whole());
        }
        let value = word_ops::temp_pair(cx)?;
        convert(cx, value)?;
        let wide = value.as_reg().map_or(Wide::of_bits(0), Wide::of_pair);
        return clamp_double(cx, d.into(), wide);
    }
    if !how.sat {
        let d = destinations::dst(cx, d)?;
        return convert(cx, d);
    }
    let value = cx.temp()?;
    convert(cx, value)?;
    let d = destinations::dst(cx, d)?;
    clamp_float(cx, how, d, value)
}

/// `d` = the single or half clamped to [0, 1]; NaN becomes 0.
fn clamp_float(cx: &mut FnLower<'_, '_>, how: Conversion, d: Operand, value: Operand) -> Lowered {
    if how.to == ScalarType::F32 {
        let ftz = how.ftz && how.from == ScalarType::F32;
        let fields = [Field::SAT.is(true), Field::FTZ.is(ftz)];
        return word_ops::op2(cx, Opcode::FADD, &fields, d, Operand::rz(), value);
    }
    let low = [Field::SWZ_A.is(Swizzle::H0_H0), Field::SAT.is(true)];
    word_ops::op2(cx, Opcode::HADD2, &low, d, value, Operand::rz().neg())
}

/// `d` = the double clamped to [0, 1]; NaN becomes 0.
fn clamp_double(cx: &mut FnLower<'_, '_>, d: Halves, value: Wide) -> Lowered {
    let (raised, raised_d) = wide::temp_wide(cx)?;
    float64::f64_choose(cx, false, raised_d, Wide::of_bits(0), value)?;
    float64::f64_choose(cx, true, d, raised, Wide::of_bits(0x3ff0_0000_0000_0000))
}

fn float_to_float(
    cx: &mut FnLower<'_, '_>,
    inst: &Instruction,
    how: Conversion,
    d: &ast::Operand,
    a: &ast::Operand,
) -> Lowered {
    use ScalarType::{Bf16, F16, F32, F64};
    let a = float_source(cx, how.from, a)?;
    if how.to == how.from {
        return same_format(cx, inst, how, d, a);
    }
    match (how.to, how.from) {
        (F32, F16) => float_result(cx, how, d, |cx, to| {
            let fields = [Field::HALF_F32.is(true), Field::SWZ_B.is(SwzB::H0_H0)];
            word_ops::op2(cx, Opcode::HADD2, &fields, to, Operand::rz().neg(), a)
        }),
        (F32, Bf16) if !how.ftz => float_result(cx, how, d, |cx, to| word_ops::shift_left(cx, to, a, Operand::imm(16))),
        (F16 | Bf16, F32) if packs(how) && cx.has(Opcode::F2FP) => {
            float_result(cx, how, d, |cx, to| pack_single(cx, how, to, a))
        }
        (F32, F64) => float_result(cx, how, d, |cx, to| division::shorten(cx, to, a, how.rnd(), how.ftz)),
        (F64, F32) if how.ftz => float_result(cx, how, d, |cx, to| {
            let flushed = float32::f32_scaled(cx, a, ONE, true)?;
            float_convert(cx, Conversion { ftz: false, ..how }, to, flushed)
        }),
        _ => float_result(cx, how, d, |cx, to| float_convert(cx, how, to, a)),
    }
}

/// `F2F`
fn float_convert(cx: &mut FnLower<'_, '_>, how: Conversion, d: Operand, a: Operand) -> Lowered {
    let (Some(to), Some(from)) = (float_format(how.to), float_format(how.from)) else {
        return Err(invalid(cx.span, "no such float format"));
    };
    let ftz = how.ftz && (how.to == ScalarType::Bf16 || how.from == ScalarType::Bf16);
    let fields = [Field::DST_FMT.is(to), Field::SRC_FMT.is(from), Field::RND.is(how.rnd()), Field::FTZ.is(ftz)];
    word_ops::op1(cx, Opcode::F2F, &fields, d, a)
}

/// `F2FP` of one single into the low half.
fn pack_single(cx: &mut FnLower<'_, '_>, how: Conversion, d: Operand, a: Operand) -> Lowered {
    let format = if how.to == ScalarType::F16 { PackDst::F16 } else { PackDst::BF16 };
    let fields = [
        Field::PACK_DST.is(format),
        Field::PACK_SRC.is(PackSrc::F32),
        Field::PACK.is(Pack::PACK_AB),
        Field::RND.is(how.rnd()),
    ];
    word_ops::op2(cx, Opcode::F2FP, &fields, d, Operand::rz(), a)
}

/// Rounding to an integer, flushing, clamping, or nothing.
fn same_format(cx: &mut FnLower<'_, '_>, inst: &Instruction, how: Conversion, d: &ast::Operand, a: Operand) -> Lowered {
    let code = float_format(how.to).ok_or_else(|| unknown(cx, inst))?;
    if let Some(rounding) = how.rnd_int() {
        let ftz = how.ftz && how.to == ScalarType::F32;
        let fields = [Field::SRC_FMT.is(code), Field::RND_INT.is(rounding), Field::FTZ.is(ftz)];
        return float_result(cx, how, d, |cx, to| word_ops::op1(cx, Opcode::FRND, &fields, to, a));
    }
    match how.to {
        ScalarType::F64 => {
            let value = a.as_reg().map_or(Wide::of_bits(0), Wide::of_pair);
            let d = destinations::dst64_direct(cx, d)?;
            if how.sat { clamp_double(cx, d.into(), value) } else { ops::mov64(cx, d.pair, value) }
        }
        ScalarType::F32 if how.sat => {
            let d = destinations::dst(cx, d)?;
            clamp_float(cx, how, d, a)
        }
        ScalarType::F32 if how.ftz => {
            let d = destinations::dst(cx, d)?;
            word_ops::op2(cx, Opcode::FADD, &[Field::FTZ.is(true)], d, a, Operand::rz().neg())
        }
        ScalarType::F32 => {
            let d = destinations::dst(cx, d)?;
            ops::mov(cx, d, a)
        }
        ScalarType::F16 => {
            let fields = [Field::SWZ_A.is(Swizzle::H0_H0), Field::SAT.is(how.sat)];
            let d = destinations::dst(cx, d)?;
            word_ops::op2(cx, Opcode::HADD2, &fields, d, a, Operand::rz().neg())
        }
        _ => {
            let fields = [Field::HALF_FMT.is(HalfFmt::BF16_V2), Field::SWZ_C.is(Swizzle::H0_H0)];
            let d = destinations::dst(cx, d)?;
            word_ops::op3(cx, Opcode::HFMA2, &fields, d, [Operand::rz().neg(), Operand::rz(), a])
        }
    }
}

/// Whether the packing unit does the conversion of a single to a half: it rounds to nearest and
/// toward zero, and flushes nothing for bf16.
fn packs(how: Conversion) -> bool {
    matches!(how.rnd(), Rnd::RN | Rnd::RZ) && !(how.ftz && how.to == ScalarType::Bf16)
}

/// Least and greatest value of an integer type.
fn range(ty: ScalarType) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed() { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) }
}
