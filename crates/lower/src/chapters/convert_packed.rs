//! `cvt` with packed results, narrow float formats, `.relu` or `.satfinite`, and `cvt.pack`.

use super::alu::flag;
use super::float32::rounding;
use super::integer::operands;
use super::unknown;
use crate::error::Lowered;
use crate::function::FnLower;
use oriole_isa::{Field, Opcode, Role, nfmt, pack, pack_dst, pack_src, part_c};
use oriole_ori::Operand;
use oriole_ptx::ast::{Instruction, Rounding, ScalarType, Word};

/// Conversions of the packing unit: result, source, formats, form, number of sources.
const PACKED: [(ScalarType, ScalarType, u8, u8, u8, usize); 13] = {
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
pub(super) fn cvt(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    if inst.has(Word::Pack) {
        return cvt_pack(f, inst);
    }
    if inst.rounding() == Some(Rounding::Rna) && inst.ty(0) == Some(ScalarType::Tf32) {
        let [d, a] = operands(inst)?;
        let a = f.src_f32(a)?;
        let d = f.dst(d)?;
        return f.round_tf32(d, a, inst.has(Word::Satfinite));
    }
    if inst.rounding() == Some(Rounding::Rs) {
        return round_stochastic(f, inst);
    }
    let types = (inst.ty(0), inst.ty(1));
    let row = PACKED.into_iter().find(|(to, from, ..)| (Some(*to), Some(*from)) == types);
    let (_, from, to_code, from_code, form, sources) = row.ok_or_else(|| unknown(f, inst))?;
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
    f.op2(Opcode::F2FP, &fields, d, a, b)
}

/// `cvt.rs.f16x2.f32 d, a, b, bits;`: rounded by adding random bits.
fn round_stochastic(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let format = match (inst.ty(0), inst.ty(1)) {
        (Some(ScalarType::F16x2), Some(ScalarType::F32)) => pack_dst::F16,
        (Some(ScalarType::Bf16x2), Some(ScalarType::F32)) => pack_dst::BF16,
        _ => return Err(unknown(f, inst)),
    };
    if !f.has_with(Opcode::F2FP, Field::Rs, 1) {
        return Err(unknown(f, inst));
    }
    let [d, a, b, bits] = operands(inst)?;
    let (a, b, bits) = (f.src_f32(a)?, f.src_f32(b)?, f.src(bits)?);
    let fields = [
        (Field::PackDst, format),
        (Field::PackSrc, pack_src::F32),
        (Field::Pack, pack::PACK_AB),
        (Field::Rs, 1),
        flag(Field::Satfinite, inst.has(Word::Satfinite)),
        flag(Field::Relu, inst.has(Word::Relu)),
    ];
    let d = f.dst(d)?;
    f.op3(Opcode::F2FP, &fields, d, [a, b, bits])
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
