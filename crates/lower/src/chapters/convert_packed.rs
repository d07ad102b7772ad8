//! `cvt` with packed results, narrow float formats, `.relu` or `.satfinite`, and `cvt.pack`.

use crate::chapters::float32;
use crate::chapters::float32::rounding;
use crate::chapters::integer::operands;
use crate::error::Lowered;
use crate::function::ops::lut;
use crate::function::word_ops::flag;
use crate::function::{FnLower, word_ops};
use crate::handler::unknown;
use oriole_isa::{Field, Opcode, Role, nfmt, pack, pack_dst, pack_src, part_c};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Instruction, Rounding, ScalarType, Word};

/// Conversions of the packing unit: result, source, formats, form, number of sources.
const PACKED: [(ScalarType, ScalarType, u8, u8, u8, usize); 22] = {
    use ScalarType::*;
    [
        (F16x2, F32, pack_dst::F16, pack_src::F32, pack::PACK_AB, 2),
        (Bf16x2, F32, pack_dst::BF16, pack_src::F32, pack::PACK_AB, 2),
        (F16, F32, pack_dst::F16, pack_src::F32, pack::PACK_AB, 1),
        (Bf16, F32, pack_dst::BF16, pack_src::F32, pack::PACK_AB, 1),
        (Tf32, F32, pack_dst::TF32, pack_src::F32, pack::PACK_B, 1),
        (E4m3x2, F32, pack_dst::E4M3, pack_src::F32, pack::PACK_AB_MERGE_C, 2),
        (E5m2x2, F32, pack_dst::E5M2, pack_src::F32, pack::PACK_AB_MERGE_C, 2),
        (E4m3x2, F16x2, pack_dst::E4M3, pack_src::F16, pack::UNPACK_B_MERGE_C, 1),
        (E5m2x2, F16x2, pack_dst::E5M2, pack_src::F16, pack::UNPACK_B_MERGE_C, 1),
        (E4m3x2, Bf16x2, pack_dst::E4M3, pack_src::BF16, pack::UNPACK_B_MERGE_C, 1),
        (E5m2x2, Bf16x2, pack_dst::E5M2, pack_src::BF16, pack::UNPACK_B_MERGE_C, 1),
        (F16x2, E4m3x2, pack_dst::F16, pack_src::E4M3, pack::UNPACK_B, 1),
        (F16x2, E5m2x2, pack_dst::F16, pack_src::E5M2, pack::UNPACK_B, 1),
        (E2m1x2, F32, pack_dst::E2M1, pack_src::F32, pack::PACK_AB_MERGE_C, 2),
        (E2m3x2, F32, pack_dst::E2M3, pack_src::F32, pack::PACK_AB_MERGE_C, 2),
        (E3m2x2, F32, pack_dst::E3M2, pack_src::F32, pack::PACK_AB_MERGE_C, 2),
        (F16x2, E2m1x2, pack_dst::F16, pack_src::E2M1, pack::UNPACK_B, 1),
        (F16x2, E2m3x2, pack_dst::F16, pack_src::E2M3, pack::UNPACK_B, 1),
        (F16x2, E3m2x2, pack_dst::F16, pack_src::E3M2, pack::UNPACK_B, 1),
        (Ue8m0x2, F32, pack_dst::E8, pack_src::F32, pack::PACK_AB_MERGE_C, 2),
        (Ue8m0x2, Bf16x2, pack_dst::E8, pack_src::BF16, pack::UNPACK_B_MERGE_C, 1),
        (Bf16x2, Ue8m0x2, pack_dst::BF16, pack_src::E8, pack::UNPACK_B, 1),
    ]
};

/// Formats of `cvt.pack`, and how many bits of the third operand go above the packed ones.
const NARROW: [(ScalarType, u8, u8); 8] = [
    (ScalarType::U2, nfmt::U2, part_c::W28),
    (ScalarType::U4, nfmt::U4, part_c::W24),
    (ScalarType::U8, nfmt::U8, part_c::LOW),
    (ScalarType::U16, nfmt::U16, part_c::LOW),
    (ScalarType::S2, nfmt::S2, part_c::W28),
    (ScalarType::S4, nfmt::S4, part_c::W24),
    (ScalarType::S8, nfmt::S8, part_c::LOW),
    (ScalarType::S16, nfmt::S16, part_c::LOW),
];

/// The conversions that [`super::convert`] hands over.
pub(crate) fn cvt(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    if inst.has(Word::Pack) {
        return cvt_pack(f, inst);
    }
    if inst.rounding() == Some(Rounding::Rna) && inst.ty(0) == Some(ScalarType::Tf32) {
        let [d, a] = operands(inst)?;
        let a = f.src_f32(a)?;
        let d = f.dst(d)?;
        return round_tf32(f, d, a, inst.has(Word::Satfinite));
    }
    if inst.rounding() == Some(Rounding::Rs) {
        return round_stochastic(f, inst);
    }
    let types = (inst.ty(0), inst.ty(1));
    let row = PACKED.into_iter().find(|(to, from, ..)| (Some(*to), Some(*from)) == types);
    let (_, from, to_code, from_code, form, sources) = row.ok_or_else(|| unknown(f, inst))?;
    let has = |field, code| f.has_with(Opcode::F2FP, field, code);
    if !has(Field::PackDst, to_code) || !has(Field::PackSrc, from_code) {
        return Err(unknown(f, inst));
    }
    let [d, first] = operands(inst)?;
    let read = |f: &mut FnLower<'_, '_>, x| if from == ScalarType::F32 { f.src_f32(x) } else { f.src(x) };
    let (a, b) = match (sources, inst.operands.get(2)) {
        (2, Some(second)) => (read(f, first)?, read(f, second)?),
        (1, None) => (Operand::rz(), read(f, first)?),
        _ => return Err(unknown(f, inst)),
    };
    let fields = [
        (Field::PackDst, to_code),
        (Field::PackSrc, from_code),
        (Field::Pack, form),
        (Field::Rnd, rounding(inst)),
        flag(Field::Satfinite, inst.has(Word::Satfinite)),
        flag(Field::Relu, inst.has(Word::Relu)),
    ];
    let d = f.dst(d)?;
    word_ops::op2(f, Opcode::F2FP, &fields, d, a, b)
}

/// Results of rounding with random bits, and how they are packed: two halves at once, or two narrow floats above
/// which the next two go.
const STOCHASTIC: [(ScalarType, u8, u8); 7] = [
    (ScalarType::F16x2, pack_dst::F16, pack::PACK_AB),
    (ScalarType::Bf16x2, pack_dst::BF16, pack::PACK_AB),
    (ScalarType::E4m3x4, pack_dst::E4M3, pack::PACK_AB_MERGE_C),
    (ScalarType::E5m2x4, pack_dst::E5M2, pack::PACK_AB_MERGE_C),
    (ScalarType::E2m1x4, pack_dst::E2M1, pack::PACK_AB_MERGE_C),
    (ScalarType::E2m3x4, pack_dst::E2M3, pack::PACK_AB_MERGE_C),
    (ScalarType::E3m2x4, pack_dst::E3M2, pack::PACK_AB_MERGE_C),
];

/// `cvt.rs.f16x2.f32 d, a, b, bits;`, `cvt.rs.satfinite.e4m3x4.f32 d, {a, b, e, f}, bits;`: rounded by adding
/// random bits.
fn round_stochastic(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let row = STOCHASTIC.into_iter().find(|(to, ..)| Some(*to) == inst.ty(0));
    let (_, format, form) = row.ok_or_else(|| unknown(f, inst))?;
    if !f.has_with(Opcode::F2FP, Field::Rs, 1) {
        return Err(unknown(f, inst));
    }
    let [d, sources @ .., bits] = inst.operands.as_slice() else { return Err(unknown(f, inst)) };
    let mut values = Vec::new();
    for source in sources.iter().flat_map(ast::Operand::elements) {
        values.push(f.src_f32(source)?);
    }
    let fields = [
        (Field::PackDst, format),
        (Field::PackSrc, pack_src::F32),
        (Field::Pack, form),
        (Field::Rs, 1),
        flag(Field::Satfinite, inst.has(Word::Satfinite)),
        flag(Field::Relu, inst.has(Word::Relu)),
    ];
    let bits = f.src(bits)?;
    let d = f.dst(d)?;
    match values[..] {
        [a, b] if form == pack::PACK_AB => word_ops::op3(f, Opcode::F2FP, &fields, d, [a, b, bits]),
        // The first two results and the random bits that are left make the third operand of the second step.
        [a, b, c, e] if form == pack::PACK_AB_MERGE_C => {
            let upper = f.temp()?;
            word_ops::op3(f, Opcode::F2FP, &fields, upper, [a, b, bits])?;
            word_ops::op3(f, Opcode::F2FP, &fields, d, [c, e, upper])
        }
        _ => Err(unknown(f, inst)),
    }
}

/// `cvt.pack.sat.type.s32[.b32] d, a, b[, c];`
fn cvt_pack(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let row = NARROW.into_iter().find(|(ty, ..)| Some(*ty) == inst.ty(0));
    let (_, format, part) = row.ok_or_else(|| unknown(f, inst))?;
    let [d, a, b] = operands(inst)?;
    let (a, b) = (f.src(a)?, f.src(b)?);
    let c = inst.operands.get(3).map(|c| f.src(c)).transpose()?.unwrap_or(Operand::rz());
    let d = f.dst(d)?;
    f.emit(
        Opcode::I2IP,
        &[(Field::DstNarrow, format), (Field::PartC, part)],
        &[(Role::D, d), (Role::A, a), (Role::B, b), (Role::C, c)],
    )?;
    Ok(())
}

/// `cvt.rna.tf32.f32`: 13 bits are rounded off, ties away from zero; infinities and NaNs stay.
pub(crate) fn round_tf32(cx: &mut FnLower<'_, '_>, d: Operand, a: Operand, satfinite: bool) -> Lowered {
    const INFINITY: u32 = 0x7f80_0000;
    const KEPT: u32 = 0xffff_e000;
    let a = cx.in_reg(a)?;
    let special = float32::f32_test(cx, oriole_isa::fcmp::GEU, a.abs(), INFINITY, false)?;
    let raised = word_ops::sum(cx, a, Operand::imm(0x1000))?;
    let rounded = float32::chosen(cx, a, raised, special)?;
    if !satfinite {
        return word_ops::lop2(cx, d, lut::AND, rounded, Operand::imm(KEPT));
    }
    let rounded = word_ops::logic(cx, lut::AND, rounded, Operand::imm(KEPT))?;
    let infinite = float32::f32_test(cx, oriole_isa::fcmp::GEU, rounded.abs(), INFINITY, false)?;
    let below = word_ops::sum(cx, rounded, Operand::imm(KEPT))?;
    word_ops::select(cx, d, below, rounded, infinite)
}
