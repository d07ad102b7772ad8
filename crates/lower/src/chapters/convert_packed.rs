//! `cvt` with packed results, narrow float formats, `.relu` or `.satfinite`, and `cvt.pack`.

use crate::chapters::float32;
use crate::chapters::float32::rounding;
use crate::chapters::integer::operands;
use crate::error::Lowered;
use crate::function::ops::lut;
use crate::function::{FnLower, destinations, ops, sources, word_ops};
use crate::handler::unknown;
use oriole_isa::{Field, Nfmt, Opcode, Pack, PackDst, PackSrc, PartC, Role};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Instruction, Rounding, ScalarType, Word};

/// Conversions of the packing unit: result, source, formats, form, number of sources.
const PACKED: [(ScalarType, ScalarType, PackDst, PackSrc, Pack, usize); 41] = {
    use ScalarType::*;
    [
        (F16x2, F32, PackDst::F16, PackSrc::F32, Pack::PACK_AB, 2),
        (Bf16x2, F32, PackDst::BF16, PackSrc::F32, Pack::PACK_AB, 2),
        (F16, F32, PackDst::F16, PackSrc::F32, Pack::PACK_AB, 1),
        (Bf16, F32, PackDst::BF16, PackSrc::F32, Pack::PACK_AB, 1),
        (Tf32, F32, PackDst::TF32, PackSrc::F32, Pack::PACK_B, 1),
        (E4m3x2, F32, PackDst::E4M3, PackSrc::F32, Pack::PACK_AB_MERGE_C, 2),
        (E5m2x2, F32, PackDst::E5M2, PackSrc::F32, Pack::PACK_AB_MERGE_C, 2),
        (E4m3x2, F16x2, PackDst::E4M3, PackSrc::F16, Pack::UNPACK_B_MERGE_C, 1),
        (E5m2x2, F16x2, PackDst::E5M2, PackSrc::F16, Pack::UNPACK_B_MERGE_C, 1),
        (E4m3x2, Bf16x2, PackDst::E4M3, PackSrc::BF16, Pack::UNPACK_B_MERGE_C, 1),
        (E5m2x2, Bf16x2, PackDst::E5M2, PackSrc::BF16, Pack::UNPACK_B_MERGE_C, 1),
        (F16x2, E4m3x2, PackDst::F16, PackSrc::E4M3, Pack::UNPACK_B, 1),
        (F16x2, E5m2x2, PackDst::F16, PackSrc::E5M2, Pack::UNPACK_B, 1),
        (E2m1x2, F32, PackDst::E2M1, PackSrc::F32, Pack::PACK_AB_MERGE_C, 2),
        (E2m3x2, F32, PackDst::E2M3, PackSrc::F32, Pack::PACK_AB_MERGE_C, 2),
        (E3m2x2, F32, PackDst::E3M2, PackSrc::F32, Pack::PACK_AB_MERGE_C, 2),
        (F16x2, E2m1x2, PackDst::F16, PackSrc::E2M1, Pack::UNPACK_B, 1),
        (F16x2, E2m3x2, PackDst::F16, PackSrc::E2M3, Pack::UNPACK_B, 1),
        (F16x2, E3m2x2, PackDst::F16, PackSrc::E3M2, Pack::UNPACK_B, 1),
        (Ue8m0x2, F32, PackDst::E8, PackSrc::F32, Pack::PACK_AB_MERGE_C, 2),
        (Ue8m0x2, Bf16x2, PackDst::E8, PackSrc::BF16, Pack::UNPACK_B_MERGE_C, 1),
        (Bf16x2, Ue8m0x2, PackDst::BF16, PackSrc::E8, Pack::UNPACK_B, 1),
        (E2m1x2, F16x2, PackDst::E2M1, PackSrc::F16, Pack::UNPACK_B_MERGE_C, 1),
        (E2m3x2, F16x2, PackDst::E2M3, PackSrc::F16, Pack::UNPACK_B_MERGE_C, 1),
        (E3m2x2, F16x2, PackDst::E3M2, PackSrc::F16, Pack::UNPACK_B_MERGE_C, 1),
        (E2m1x2, Bf16x2, PackDst::E2M1, PackSrc::BF16, Pack::UNPACK_B_MERGE_C, 1),
        (E2m3x2, Bf16x2, PackDst::E2M3, PackSrc::BF16, Pack::UNPACK_B_MERGE_C, 1),
        (E3m2x2, Bf16x2, PackDst::E3M2, PackSrc::BF16, Pack::UNPACK_B_MERGE_C, 1),
        (Bf16x2, E4m3x2, PackDst::BF16, PackSrc::E4M3, Pack::UNPACK_B, 1),
        (Bf16x2, E5m2x2, PackDst::BF16, PackSrc::E5M2, Pack::UNPACK_B, 1),
        (Bf16x2, E2m1x2, PackDst::BF16, PackSrc::E2M1, Pack::UNPACK_B, 1),
        (Bf16x2, E2m3x2, PackDst::BF16, PackSrc::E2M3, Pack::UNPACK_B, 1),
        (Bf16x2, E3m2x2, PackDst::BF16, PackSrc::E3M2, Pack::UNPACK_B, 1),
        (Bf16x2, S2f6x2, PackDst::BF16, PackSrc::S2_6, Pack::UNPACK_B, 1),
        (S2f6x2, Bf16x2, PackDst::S2_6, PackSrc::BF16, Pack::UNPACK_B_MERGE_C, 1),
        (S2f6x2, F32, PackDst::S2_6, PackSrc::F32, Pack::PACK_AB_MERGE_C, 2),
        (Ue5m3x2, F32, PackDst::UE5M3, PackSrc::F32, Pack::PACK_AB_MERGE_C, 2),
        (Ue5m3x2, F16x2, PackDst::UE5M3, PackSrc::F16, Pack::UNPACK_B_MERGE_C, 1),
        (Ue5m3x2, Bf16x2, PackDst::UE5M3, PackSrc::BF16, Pack::UNPACK_B_MERGE_C, 1),
        (F16x2, Ue5m3x2, PackDst::F16, PackSrc::UE5M3, Pack::UNPACK_B, 1),
        (Bf16x2, Ue5m3x2, PackDst::BF16, PackSrc::UE5M3, Pack::UNPACK_B, 1),
    ]
};

/// Formats of `cvt.pack`, and how many bits of the third operand go above the packed ones.
const NARROW: [(ScalarType, Nfmt, PartC); 8] = [
    (ScalarType::U2, Nfmt::U2, PartC::W28),
    (ScalarType::U4, Nfmt::U4, PartC::W24),
    (ScalarType::U8, Nfmt::U8, PartC::LOW),
    (ScalarType::U16, Nfmt::U16, PartC::LOW),
    (ScalarType::S2, Nfmt::S2, PartC::W28),
    (ScalarType::S4, Nfmt::S4, PartC::W24),
    (ScalarType::S8, Nfmt::S8, PartC::LOW),
    (ScalarType::S16, Nfmt::S16, PartC::LOW),
];

/// The conversions that [`super::convert`] hands over.
pub(crate) fn cvt(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    if inst.has(Word::Pack) {
        return cvt_pack(cx, inst);
    }
    if inst.rounding() == Some(Rounding::Rna) && inst.ty(0) == Some(ScalarType::Tf32) {
        let [d, a] = operands(inst)?;
        let a = sources::src_f32(cx, a)?;
        let d = destinations::dst(cx, d)?;
        return round_tf32(cx, d, a, inst.has(Word::Satfinite));
    }
    if inst.rounding() == Some(Rounding::Rs) {
        return round_stochastic(cx, inst);
    }
    let types = (inst.ty(0), inst.ty(1));
    let row = PACKED.into_iter().find(|(to, from, ..)| (Some(*to), Some(*from)) == types);
    let (_, from, to_code, from_code, form, sources) = row.ok_or_else(|| unknown(cx, inst))?;
    let has = |setting| cx.has_with(Opcode::F2FP, setting);
    if !has(Field::PACK_DST.is(to_code)) || !has(Field::PACK_SRC.is(from_code)) {
        return Err(unknown(cx, inst));
    }
    let [d, first] = operands(inst)?;
    let read = |cx: &mut FnLower<'_, '_>, x| {
        if from == ScalarType::F32 { sources::src_f32(cx, x) } else { sources::src(cx, x) }
    };
    let (a, b, scales) = match (sources, &inst.operands[2..]) {
        (2, [second, scales @ ..]) => (read(cx, first)?, read(cx, second)?, scales),
        (1, scales) => (Operand::rz(), read(cx, first)?, scales),
        _ => return Err(unknown(cx, inst)),
    };
    let scales = match scales {
        [] => None,
        [scales] => Some(sources::src(cx, scales)?),
        _ => return Err(unknown(cx, inst)),
    };
    let mut fields = vec![
        Field::PACK_DST.is(to_code),
        Field::PACK_SRC.is(from_code),
        Field::PACK.is(form),
        Field::RND.is(rounding(inst)),
        Field::SATFINITE.is(inst.has(Word::Satfinite)),
        Field::RELU.is(inst.has(Word::Relu)),
    ];
    let newer = [(Word::Pzo, Field::PZO), (Word::ScaledN1Ue8m0, Field::SCALE_BY_C)];
    fields.extend(newer.iter().filter(|(word, _)| inst.has(*word)).map(|(_, field)| field.is(true)));
    let c = match (to_code, from_code) {
        (PackDst::S2_6, _) => scales_above(cx, scales)?,
        _ if inst.has(Word::ScaledN1Ue8m0) => above(cx, scales.ok_or_else(|| unknown(cx, inst))?, 24)?,
        (PackDst::BF16, PackSrc::F32 | PackSrc::E8) => Operand::rz(),
        (PackDst::BF16, _) => scales.unwrap_or(Operand::imm(NO_SCALES)),
        _ => Operand::rz(),
    };
    let d = destinations::dst(cx, d)?;
    word_ops::op3(cx, Opcode::F2FP, &fields, d, [a, b, c])
}

/// Two powers of two in `.ue8m0`: 1 and 1.
const NO_SCALES: u32 = 0x7f7f;

/// The third operand of a conversion to `.s2f6x2`: the scales above the 16 bits that go in front of the results.
fn scales_above(cx: &mut FnLower<'_, '_>, scales: Option<Operand>) -> Lowered<Operand> {
    scales.map_or(Ok(Operand::imm(NO_SCALES << 16)), |scales| above(cx, scales, 16))
}

/// A value in the bits from `place` on.
fn above(cx: &mut FnLower<'_, '_>, value: Operand, place: u32) -> Lowered<Operand> {
    let above = cx.temp()?;
    word_ops::shift_left(cx, above, value, Operand::imm(place))?;
    Ok(above)
}

/// Results of rounding with random bits, and how they are packed: two halves at once, or two narrow floats above
/// which the next two go.
const STOCHASTIC: [(ScalarType, PackDst, Pack); 7] = [
    (ScalarType::F16x2, PackDst::F16, Pack::PACK_AB),
    (ScalarType::Bf16x2, PackDst::BF16, Pack::PACK_AB),
    (ScalarType::E4m3x4, PackDst::E4M3, Pack::PACK_AB_MERGE_C),
    (ScalarType::E5m2x4, PackDst::E5M2, Pack::PACK_AB_MERGE_C),
    (ScalarType::E2m1x4, PackDst::E2M1, Pack::PACK_AB_MERGE_C),
    (ScalarType::E2m3x4, PackDst::E2M3, Pack::PACK_AB_MERGE_C),
    (ScalarType::E3m2x4, PackDst::E3M2, Pack::PACK_AB_MERGE_C),
];

/// `cvt.rs.f16x2.f32 d, a, b, bits;`, `cvt.rs.satfinite.e4m3x4.f32 d, {a, b, e, f}, bits;`: rounded by adding
/// random bits.
fn round_stochastic(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let row = STOCHASTIC.into_iter().find(|(to, ..)| Some(*to) == inst.ty(0));
    let (_, format, form) = row.ok_or_else(|| unknown(cx, inst))?;
    if !cx.has_with(Opcode::F2FP, Field::RS.is(true)) {
        return Err(unknown(cx, inst));
    }
    let [d, sources @ .., bits] = inst.operands.as_slice() else { return Err(unknown(cx, inst)) };
    let mut values = Vec::new();
    for source in sources.iter().flat_map(ast::Operand::elements) {
        values.push(sources::src_f32(cx, source)?);
    }
    let fields = [
        Field::PACK_DST.is(format),
        Field::PACK_SRC.is(PackSrc::F32),
        Field::PACK.is(form),
        Field::RS.is(true),
        Field::SATFINITE.is(inst.has(Word::Satfinite)),
        Field::RELU.is(inst.has(Word::Relu)),
    ];
    let bits = sources::src(cx, bits)?;
    let d = destinations::dst(cx, d)?;
    match values[..] {
        [a, b] if form == Pack::PACK_AB => word_ops::op3(cx, Opcode::F2FP, &fields, d, [a, b, bits]),
        // The first two results and the random bits that are left make the third operand of the second step.
        [a, b, c, e] if form == Pack::PACK_AB_MERGE_C => {
            let upper = cx.temp()?;
            word_ops::op3(cx, Opcode::F2FP, &fields, upper, [a, b, bits])?;
            word_ops::op3(cx, Opcode::F2FP, &fields, d, [c, e, upper])
        }
        _ => Err(unknown(cx, inst)),
    }
}

/// `cvt.pack.sat.type.s32[.b32] d, a, b[, c];`
fn cvt_pack(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let row = NARROW.into_iter().find(|(ty, ..)| Some(*ty) == inst.ty(0));
    let (_, format, part) = row.ok_or_else(|| unknown(cx, inst))?;
    let [d, a, b] = operands(inst)?;
    let (a, b) = (sources::src(cx, a)?, sources::src(cx, b)?);
    let c = inst.operands.get(3).map(|c| sources::src(cx, c)).transpose()?.unwrap_or(Operand::rz());
    let d = destinations::dst(cx, d)?;
    cx.emit(
        Opcode::I2IP,
        &[Field::DST_NARROW.is(format), Field::PART_C.is(part)],
        &[(Role::D, d), (Role::A, a), (Role::B, b), (Role::C, c)],
    )?;
    Ok(())
}

/// `cvt.rna.tf32.f32`: 13 bits are rounded off, ties away from zero; infinities and NaNs stay.
pub(crate) fn round_tf32(cx: &mut FnLower<'_, '_>, d: Operand, a: Operand, satfinite: bool) -> Lowered {
    const INFINITY: u32 = 0x7f80_0000;
    const KEPT: u32 = 0xffff_e000;
    let a = ops::in_reg(cx, a)?;
    let special = float32::f32_test(cx, oriole_isa::Fcmp::GEU, a.abs(), INFINITY, false)?;
    let raised = word_ops::sum(cx, a, Operand::imm(0x1000))?;
    let rounded = float32::chosen(cx, a, raised, special)?;
    if !satfinite {
        return word_ops::lop2(cx, d, lut::AND, rounded, Operand::imm(KEPT));
    }
    let rounded = word_ops::logic(cx, lut::AND, rounded, Operand::imm(KEPT))?;
    let infinite = float32::f32_test(cx, oriole_isa::Fcmp::GEU, rounded.abs(), INFINITY, false)?;
    let below = word_ops::sum(cx, rounded, Operand::imm(KEPT))?;
    word_ops::select(cx, d, below, rounded, infinite)
}
