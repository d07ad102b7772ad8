//! Integer arithmetic: sums, products, quotients, minima, absolute values.

use crate::chapters::half_words::{self, Extreme};
use crate::chapters::wide;
use crate::chapters::wide::{Carry, Halves};
use crate::error::{Lowered, invalid, unsupported};
use crate::function::operands::{Wide, WideDst};
use crate::function::ops::{lut, sign_of};
use crate::function::word_ops::{IntCmp, negated};
use crate::function::{FnLower, destinations, ops, sources, word_ops};
use crate::handler::unknown;
use oriole_isa::{ClmadHalf, Field, Opcode, Role, VaddType, Vtype};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Instruction, ScalarType, Word};

impl From<WideDst> for Halves {
    fn from(d: WideDst) -> Halves {
        Halves { lo: d.lo, hi: d.hi }
    }
}

/// The width and signedness that an integer instruction works in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntType {
    /// 16, 32 or 64.
    pub(super) bits: u32,
    /// `.sN`
    pub(super) signed: bool,
    /// Two 16-bit elements, or four of 8 bits.
    pub(super) packed: Option<ScalarType>,
}

/// Packed types, and how `VIADD` and `VIMNMX` name them.
const PACKED: [(ScalarType, VaddType, Vtype); 4] = [
    (ScalarType::U16x2, VaddType::X16X2, Vtype::U16X2),
    (ScalarType::S16x2, VaddType::S16X2, Vtype::S16X2),
    (ScalarType::U8x4, VaddType::U8X4, Vtype::U8X4),
    (ScalarType::S8x4, VaddType::S8X4, Vtype::S8X4),
];

/// How the instructions on elements name a packed type.
pub(crate) fn vector_type(ty: ScalarType) -> Option<Vtype> {
    PACKED.iter().find(|(packed, ..)| *packed == ty).map(|(.., kind)| *kind)
}

/// The integer type of an instruction.
pub(crate) fn int_type(inst: &Instruction) -> Lowered<IntType> {
    let ty = inst.last_type().ok_or_else(|| invalid(inst.span, "the instruction has no type"))?;
    let packed = PACKED.iter().any(|(packed, ..)| *packed == ty).then_some(ty);
    match ty.bits() {
        16 | 32 | 64 if !ty.is_float() => Ok(IntType { bits: ty.bits(), signed: ty.is_signed(), packed }),
        _ => Err(invalid(inst.span, format!("the instruction has no form for type .{ty}"))),
    }
}

/// A 16- or 32-bit integer source extended to 32 bits.
pub(crate) fn int_src(cx: &mut FnLower<'_, '_>, operand: &ast::Operand, ty: IntType) -> Lowered<Operand> {
    let value = sources::src(cx, operand)?;
    word_ops::extended(cx, value, ty.bits, ty.signed)
}

/// `add`, `sub`
pub(crate) fn int_add_sub(cx: &mut FnLower<'_, '_>, inst: &Instruction, subtract: bool) -> Lowered {
    let ty = int_type(inst)?;
    let [d, a, b] = operands(inst)?;
    if let Some(packed) = ty.packed {
        return int_add_packed(cx, inst, packed, subtract);
    }
    if ty.bits == 64 {
        let (a, b) = (sources::src64(cx, a)?, sources::src64(cx, b)?);
        let d = destinations::dst64_direct(cx, d)?.into();
        return if subtract {
            wide::wide_sub(cx, d, a, b, Carry::default())
        } else {
            wide::wide_add(cx, d, a, b, Carry::default())
        };
    }
    let (a, b) = (sources::src(cx, a)?, sources::src(cx, b)?);
    let d = destinations::dst(cx, d)?;
    match (inst.has(Word::Sat), subtract) {
        (true, false) if !ty.signed => add_by_element(cx, inst, VaddType::S32, d, [a, b]),
        (true, false) => add_saturated(cx, d, a, b),
        (true, true) => sub_saturated(cx, d, a, b),
        (false, false) => ops::add(cx, d, a, b),
        (false, true) => ops::add(cx, d, a, negated(b)),
    }
}

fn int_add_packed(cx: &mut FnLower<'_, '_>, inst: &Instruction, ty: ScalarType, subtract: bool) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let (a, b) = (sources::src(cx, a)?, sources::src(cx, b)?);
    let d = destinations::dst(cx, d)?;
    let row = PACKED.iter().find(|(packed, ..)| *packed == ty);
    let (_, kind, _) = row.ok_or_else(|| unknown(cx, inst))?;
    // Sums of 16 bits that wrap have no sign.
    let kind = if *kind == VaddType::S16X2 && !inst.has(Word::Sat) { VaddType::X16X2 } else { *kind };
    if kind == VaddType::X16X2 && !cx.has(Opcode::VIADD) && !inst.has(Word::Sat) {
        return half_words::add_sub(cx, d, [a, b], subtract);
    }
    add_by_element(cx, inst, kind, d, [a, if subtract { b.neg() } else { b }])
}

/// `d = a + b` by element, clamped to the range of the element where `.sat` asks for it.
fn add_by_element(
    cx: &mut FnLower<'_, '_>,
    inst: &Instruction,
    kind: VaddType,
    d: Operand,
    [a, b]: [Operand; 2],
) -> Lowered {
    let saturates = inst.has(Word::Sat);
    if !cx.has_with(Opcode::VIADD, Field::VADD_TYPE.is(kind))
        || saturates && !cx.has_with(Opcode::VIADD, Field::ISAT.is(true))
    {
        return Err(unsupported(inst.span, "packed or saturating addition on this target"));
    }
    let fields = [Field::VADD_TYPE.is(kind), Field::ISAT.is(saturates)];
    word_ops::op2(cx, Opcode::VIADD, &fields, d, a, b)
}

/// `d = a + b`, clamped to the signed range. The sum overflows where its sign differs from that of both operands.
fn add_saturated(cx: &mut FnLower<'_, '_>, d: Operand, a: Operand, b: Operand) -> Lowered {
    let sum = word_ops::sum(cx, a, b)?;
    clamp_overflow(cx, d, (lut::A ^ lut::C) & (lut::B ^ lut::C), [a, b, sum])
}

/// `d = a - b`, clamped. The difference overflows where the operands' signs differ and its sign is not that of `a`.
fn sub_saturated(cx: &mut FnLower<'_, '_>, d: Operand, a: Operand, b: Operand) -> Lowered {
    let difference = word_ops::sum(cx, a, negated(b))?;
    clamp_overflow(cx, d, (lut::A ^ lut::B) & (lut::A ^ lut::C), [a, b, difference])
}

/// `d = c`, or the far end of the range where the sign bit of `table(a, b, c)` tells of an overflow.
fn clamp_overflow(cx: &mut FnLower<'_, '_>, d: Operand, table: u8, [a, b, c]: [Operand; 3]) -> Lowered {
    let signs = cx.temp()?;
    ops::lop3(cx, signs, a, b, c, table)?;
    let overflow = word_ops::test(cx, IntCmp::LT_S, signs, Operand::rz())?;
    let limit = cx.temp()?;
    word_ops::shift_right(cx, true, limit, c, Operand::imm(31))?;
    let limit = word_ops::logic(cx, lut::XOR, limit, Operand::imm(0x8000_0000))?;
    word_ops::select(cx, d, limit, c, overflow)
}

/// `mul`
pub(crate) fn int_mul(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let ty = int_type(inst)?;
    let [d, a, b] = operands(inst)?;
    multiply(cx, inst, ty, d, [a, b], None)
}

/// `mad`
pub(crate) fn int_mad(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let ty = int_type(inst)?;
    let [d, a, b, c] = operands(inst)?;
    multiply(cx, inst, ty, d, [a, b], Some(c))
}

fn multiply(
    cx: &mut FnLower<'_, '_>,
    inst: &Instruction,
    ty: IntType,
    d: &ast::Operand,
    factors: [&ast::Operand; 2],
    addend: Option<&ast::Operand>,
) -> Lowered {
    let (wide, hi) = (inst.has(Word::Wide), inst.has(Word::Hi));
    match ty.bits {
        64 => multiply64(cx, ty, hi, d, factors, addend),
        32 if wide => multiply_wide(cx, ty, d, factors, addend),
        32 if hi => multiply_hi(cx, inst, ty, d, factors, addend),
        _ => multiply_lo(cx, ty, hi, wide, d, factors, addend),
    }
}

/// 32 bits of a product that fits: low words, and everything of 16 bits.
fn multiply_lo(
    cx: &mut FnLower<'_, '_>,
    ty: IntType,
    hi: bool,
    wide: bool,
    d: &ast::Operand,
    [a, b]: [&ast::Operand; 2],
    addend: Option<&ast::Operand>,
) -> Lowered {
    let whole = wide || hi;
    let factor = |cx: &mut FnLower<'_, '_>, x| if whole { int_src(cx, x, ty) } else { sources::src(cx, x) };
    let (a, b) = (factor(cx, a)?, factor(cx, b)?);
    let c = addend.map(|c| sources::src(cx, c)).transpose()?.unwrap_or(Operand::rz());
    let d = destinations::dst(cx, d)?;
    if !hi {
        return word_ops::imad(cx, d, a, b, c);
    }
    let product = cx.temp()?;
    word_ops::imad(cx, product, a, b, Operand::rz())?;
    let top = if c.is_zero() { d } else { cx.temp()? };
    word_ops::shift_right(cx, ty.signed, top, product, Operand::imm(16))?;
    if c.is_zero() { Ok(()) } else { ops::add(cx, d, top, c) }
}

fn multiply_wide(
    cx: &mut FnLower<'_, '_>,
    ty: IntType,
    d: &ast::Operand,
    [a, b]: [&ast::Operand; 2],
    addend: Option<&ast::Operand>,
) -> Lowered {
    let (a, b) = (sources::src(cx, a)?, sources::src(cx, b)?);
    let c = match addend {
        Some(c) => {
            let c = sources::src64(cx, c)?;
            ops::in_pair(cx, c)?
        }
        None => Operand::rz(),
    };
    let d = destinations::dst64_direct(cx, d)?;
    word_ops::imad_wide(cx, ty.signed, d.whole(), a, b, c)
}

fn multiply_hi(
    cx: &mut FnLower<'_, '_>,
    inst: &Instruction,
    ty: IntType,
    d: &ast::Operand,
    [a, b]: [&ast::Operand; 2],
    addend: Option<&ast::Operand>,
) -> Lowered {
    let (a, b) = (sources::src(cx, a)?, sources::src(cx, b)?);
    let c = addend.map(|c| sources::src(cx, c)).transpose()?;
    let d = destinations::dst(cx, d)?;
    let Some(c) = c else {
        return word_ops::imad_hi(cx, ty.signed, d, a, b, Operand::rz());
    };
    let top = cx.temp()?;
    word_ops::imad_hi(cx, ty.signed, top, a, b, Operand::rz())?;
    if inst.has(Word::Sat) { add_saturated(cx, d, top, c) } else { ops::add(cx, d, top, c) }
}

fn multiply64(
    cx: &mut FnLower<'_, '_>,
    ty: IntType,
    hi: bool,
    d: &ast::Operand,
    [a, b]: [&ast::Operand; 2],
    addend: Option<&ast::Operand>,
) -> Lowered {
    let (a, b) = (sources::src64(cx, a)?, sources::src64(cx, b)?);
    let c = addend.map(|c| sources::src64(cx, c)).transpose()?;
    if !hi {
        let d = destinations::dst64(cx, d, &[a, b])?.into();
        return wide::wide_mad_lo(cx, d, a, b, c);
    }
    let Some(c) = c else {
        let d = destinations::dst64(cx, d, &[a, b])?.into();
        return wide::wide_mul_hi(cx, ty.signed, d, a, b);
    };
    let (top, top_d) = wide::temp_wide(cx)?;
    wide::wide_mul_hi(cx, ty.signed, top_d, a, b)?;
    let d = destinations::dst64_direct(cx, d)?.into();
    wide::wide_add(cx, d, top, c, Carry::default())
}

/// `mul24`, `mad24`
pub(crate) fn int_mul24(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let ty = int_type(inst)?;
    let [d, a, b] = operands(inst)?;
    let mut factors = [Operand::rz(); 2];
    for (factor, source) in factors.iter_mut().zip([a, b]) {
        let value = sources::src(cx, source)?;
        *factor = cx.temp()?;
        word_ops::op2(cx, Opcode::SGXT, &[Field::SIGN.is(sign_of(ty.signed))], *factor, value, Operand::imm(24))?;
    }
    let [a, b] = factors;
    let c = inst.operands.get(3).map(|c| sources::src(cx, c)).transpose()?.unwrap_or(Operand::rz());
    let d = destinations::dst(cx, d)?;
    if !inst.has(Word::Hi) {
        return word_ops::imad(cx, d, a, b, c);
    }
    let (product, _) = wide::temp_wide(cx)?;
    let whole = ops::in_pair(cx, product)?;
    word_ops::imad_wide(cx, ty.signed, whole, a, b, Operand::rz())?;
    let top = cx.temp()?;
    let words = [product.lo, Operand::imm(16), product.hi];
    word_ops::funnel(cx, top, words, oriole_isa::ShiftDir::R, oriole_isa::ShiftType::U64, false)?;
    if inst.has(Word::Sat) { add_saturated(cx, d, top, c) } else { ops::add(cx, d, top, c) }
}

/// `min`, `max`
pub(crate) fn int_minmax(cx: &mut FnLower<'_, '_>, inst: &Instruction, least: bool) -> Lowered {
    let ty = int_type(inst)?;
    let [d, a, b] = operands(inst)?;
    if ty.packed.is_some() || inst.has(Word::Relu) {
        return int_minmax_vector(cx, inst, ty, least);
    }
    if ty.bits == 64 {
        let (a, b) = (sources::src64(cx, a)?, sources::src64(cx, b)?);
        let d = destinations::dst64_direct(cx, d)?.into();
        return wide::wide_minmax(cx, ty.signed, least, d, a, b);
    }
    let (mut a, mut b) = (int_src(cx, a, ty)?, int_src(cx, b, ty)?);
    if let Some(c) = inst.operands.get(3) {
        let both = cx.temp()?;
        word_ops::imnmx(cx, ty.signed, least, both, a, b)?;
        (a, b) = (both, int_src(cx, c, ty)?);
    }
    let d = destinations::dst(cx, d)?;
    word_ops::imnmx(cx, ty.signed, least, d, a, b)
}

/// The forms with packed elements or `.relu`, which sm_90 brought.
fn int_minmax_vector(cx: &mut FnLower<'_, '_>, inst: &Instruction, ty: IntType, least: bool) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let (a, b) = (sources::src(cx, a)?, sources::src(cx, b)?);
    if !cx.has(Opcode::VIMNMX) {
        let extreme = Extreme { signed: ty.signed, least, relu: inst.has(Word::Relu) };
        let d = destinations::dst(cx, d)?;
        return match ty.packed {
            None => extreme.of_words(cx, d, [a, b]),
            Some(ScalarType::U16x2 | ScalarType::S16x2) => extreme.of_halves(cx, d, [a, b]),
            Some(_) => Err(unsupported(inst.span, "min and max of these elements on this target")),
        };
    }
    let packed = PACKED.iter().find(|(packed, ..)| Some(*packed) == ty.packed);
    let scalar = if ty.signed { Vtype::S32 } else { Vtype::U32 };
    let kind = packed.map_or(scalar, |(.., kind)| *kind);
    if !cx.has_with(Opcode::VIMNMX, Field::VTYPE.is(kind)) {
        return Err(unsupported(inst.span, "min and max of these elements on this target"));
    }
    let fields = [Field::VTYPE.is(kind), Field::RELU.is(inst.has(Word::Relu))];
    let which = Operand::pt().with_not(!least);
    let d = destinations::dst(cx, d)?;
    cx.emit(Opcode::VIMNMX, &fields, &[(Role::D, d), (Role::A, a), (Role::B, b), (Role::PA, which)])?;
    Ok(())
}

/// `clmad`: half of a product without carries, xor the last operand.
pub(crate) fn carryless_product(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, sources @ ..] = operands::<4>(inst)?;
    if !cx.has(Opcode::CLMAD) {
        return Err(unsupported(inst.span, "products without carries on this target"));
    }
    let mut pairs = [Operand::rz(); 3];
    for (pair, source) in pairs.iter_mut().zip(sources) {
        let wide = sources::src64(cx, source)?;
        *pair = ops::in_pair(cx, wide)?;
    }
    let half = if inst.has(Word::Hi) { ClmadHalf::HI } else { ClmadHalf::LO };
    let d = destinations::dst64_direct(cx, d)?;
    word_ops::op3(cx, Opcode::CLMAD, &[Field::CLMAD_HALF.is(half)], d.whole(), pairs)
}

/// `neg`
pub(crate) fn int_neg(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let ty = int_type(inst)?;
    if ty.bits == 64 {
        let a = sources::src64(cx, a)?;
        let d = destinations::dst64_direct(cx, d)?.into();
        return wide::wide_neg(cx, d, a);
    }
    let a = sources::src(cx, a)?;
    let d = destinations::dst(cx, d)?;
    if ty.packed == Some(ScalarType::S8x4) {
        return add_by_element(cx, inst, VaddType::S8X4, d, [Operand::rz(), a.neg()]);
    }
    ops::add(cx, d, Operand::rz(), negated(a))
}

/// `abs`
pub(crate) fn int_abs(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let ty = int_type(inst)?;
    let [d, a] = operands(inst)?;
    if ty.bits == 64 {
        let a = sources::src64(cx, a)?;
        let d = destinations::dst64_direct(cx, d)?.into();
        let negative = word_ops::test(cx, IntCmp::LT_S, a.hi, Operand::rz())?;
        let (opposite, opposite_d) = wide::temp_wide(cx)?;
        wide::wide_neg(cx, opposite_d, a)?;
        return wide::wide_select(cx, d, opposite, a, negative);
    }
    let a = int_src(cx, a, ty)?;
    let d = destinations::dst(cx, d)?;
    word_ops::op1(cx, Opcode::IABS, &[], d, a)
}

/// `|a|`, and whether `a` is negative.
pub(crate) fn wide_abs(cx: &mut FnLower<'_, '_>, a: Wide) -> Lowered<(Wide, Operand)> {
    let negative = word_ops::test(cx, IntCmp::LT_S, a.hi, Operand::rz())?;
    let (opposite, opposite_d) = wide::temp_wide(cx)?;
    wide::wide_neg(cx, opposite_d, a)?;
    let (magnitude, magnitude_d) = wide::temp_wide(cx)?;
    wide::wide_select(cx, magnitude_d, opposite, a, negative)?;
    Ok((magnitude, negative))
}

/// `sad`: `|a - b| + c`
pub(crate) fn int_sad(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let ty = int_type(inst)?;
    let [d, a, b, c] = operands(inst)?;
    if ty.bits == 64 {
        let (a, b, c) = (sources::src64(cx, a)?, sources::src64(cx, b)?, sources::src64(cx, c)?);
        let p = wide::wide_test(cx, IntCmp { cmp: oriole_isa::Cmp::GE, signed: ty.signed }, a, b)?;
        let (forward, forward_d) = wide::temp_wide(cx)?;
        wide::wide_sub(cx, forward_d, a, b, Carry::default())?;
        let (back, back_d) = wide::temp_wide(cx)?;
        wide::wide_sub(cx, back_d, b, a, Carry::default())?;
        let (distance, distance_d) = wide::temp_wide(cx)?;
        wide::wide_select(cx, distance_d, forward, back, p)?;
        let d = destinations::dst64_direct(cx, d)?.into();
        return wide::wide_add(cx, d, distance, c, Carry::default());
    }
    let (a, b, c) = (int_src(cx, a, ty)?, int_src(cx, b, ty)?, sources::src(cx, c)?);
    if !cx.has(Opcode::VABSDIFF) {
        let (least, most) = (cx.temp()?, cx.temp()?);
        word_ops::imnmx(cx, ty.signed, true, least, a, b)?;
        word_ops::imnmx(cx, ty.signed, false, most, a, b)?;
        let d = destinations::dst(cx, d)?;
        return word_ops::op3(cx, Opcode::IADD3, &[], d, [most, least.neg(), c]);
    }
    let d = destinations::dst(cx, d)?;
    word_ops::op3(cx, Opcode::VABSDIFF, &[Field::SIGN.is(sign_of(ty.signed))], d, [a, b, c])
}

/// The operands of an instruction, which needs exactly so many (or more).
pub(crate) fn operands<const N: usize>(inst: &Instruction) -> Lowered<[&ast::Operand; N]> {
    let found = inst.operands.get(..N).and_then(|list| <&[ast::Operand; N]>::try_from(list).ok());
    found.map(|list| list.each_ref()).ok_or_else(|| invalid(inst.span, format!("the instruction needs {N} operands")))
}
