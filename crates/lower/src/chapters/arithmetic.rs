//! The opcodes that have forms for integers and floats of several widths.

use super::float32;
use super::half::is_half;
use super::{Chapter, Handler, division, extended, single_pair, unknown};
use crate::error::Lowered;
use crate::function::FnLower;
use oriole_isa::mufu;
use oriole_ptx::ast::{Instruction, Opcode as Ptx, ScalarType, Word};

/// The opcodes of this file.
pub(super) const CHAPTER: Chapter = &[
    (Ptx::Add, |f, inst| add_sub(f, inst, false)),
    (Ptx::Sub, |f, inst| add_sub(f, inst, true)),
    (Ptx::Mul, mul),
    (Ptx::Mad, mad),
    (Ptx::Fma, fma),
    (Ptx::Mul24, |f, inst| f.int_mul24(inst)),
    (Ptx::Mad24, |f, inst| f.int_mul24(inst)),
    (Ptx::Min, |f, inst| minmax(f, inst, true)),
    (Ptx::Max, |f, inst| minmax(f, inst, false)),
    (Ptx::Neg, |f, inst| sign(f, inst, false)),
    (Ptx::Abs, |f, inst| sign(f, inst, true)),
    (Ptx::Sad, |f, inst| f.int_sad(inst)),
    (Ptx::Div, division::div),
    (Ptx::Rem, |f, inst| f.int_div(inst)),
    (Ptx::Rcp, rcp),
    (Ptx::Sqrt, sqrt),
    (Ptx::Rsqrt, rsqrt),
    (Ptx::Sin, float32::trigonometric),
    (Ptx::Cos, float32::trigonometric),
    (Ptx::Lg2, float32::lg2),
    (Ptx::Ex2, |f, inst| transcendental(f, inst, float32::ex2)),
    (Ptx::Tanh, |f, inst| transcendental(f, inst, float32::tanh)),
    (Ptx::Copysign, float32::copysign),
    (Ptx::Testp, float32::testp),
];

/// What an instruction computes with.
enum Kind {
    Single,
    Double,
    Half,
    SinglePair,
    /// Halves and a single, to a single.
    Mixed,
    Integer,
    Other,
}

fn kind(inst: &Instruction) -> Kind {
    match inst.last_type() {
        Some(ty) if is_half(ty) && inst.ty(0) == Some(ScalarType::F32) => Kind::Mixed,
        Some(ScalarType::F32) => Kind::Single,
        Some(ScalarType::F64) => Kind::Double,
        Some(ScalarType::F32x2) => Kind::SinglePair,
        Some(ty) if is_half(ty) => Kind::Half,
        Some(ty) if ty.is_float() => Kind::Other,
        _ => Kind::Integer,
    }
}

fn add_sub(f: &mut FnLower<'_, '_>, inst: &Instruction, subtract: bool) -> Lowered {
    match kind(inst) {
        Kind::Single => f.f32_add_sub(inst, subtract),
        Kind::Double => f.f64_add_sub(inst, subtract),
        Kind::Half => f.half_binary(inst),
        Kind::Mixed => f.half_mixed(inst),
        Kind::SinglePair => single_pair::lower(f, inst),
        Kind::Integer if inst.has(Word::Cc) => {
            if subtract {
                extended::sub(f, inst)
            } else {
                extended::add(f, inst)
            }
        }
        Kind::Integer => f.int_add_sub(inst, subtract),
        Kind::Other => Err(unknown(f, inst)),
    }
}

fn mul(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match kind(inst) {
        Kind::Single => f.f32_mul(inst),
        Kind::Double => f.f64_mul(inst),
        Kind::Half => f.half_binary(inst),
        Kind::SinglePair => single_pair::lower(f, inst),
        Kind::Integer => f.int_mul(inst),
        Kind::Mixed | Kind::Other => Err(unknown(f, inst)),
    }
}

fn mad(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match kind(inst) {
        Kind::Integer if inst.has(Word::Cc) => extended::mad(f, inst),
        Kind::Integer => f.int_mad(inst),
        _ => fma(f, inst),
    }
}

fn fma(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match kind(inst) {
        Kind::Single => f.f32_fma(inst),
        Kind::Double => f.f64_fma(inst),
        Kind::Half => f.half_fma(inst),
        Kind::Mixed => f.half_mixed(inst),
        Kind::SinglePair => single_pair::lower(f, inst),
        Kind::Integer | Kind::Other => Err(unknown(f, inst)),
    }
}

fn minmax(f: &mut FnLower<'_, '_>, inst: &Instruction, least: bool) -> Lowered {
    match kind(inst) {
        Kind::Single => f.f32_minmax(inst, least),
        Kind::Double => f.f64_minmax(inst, least),
        Kind::Half => f.half_minmax(inst, least),
        Kind::Integer => f.int_minmax(inst, least),
        Kind::SinglePair | Kind::Mixed | Kind::Other => Err(unknown(f, inst)),
    }
}

fn sign(f: &mut FnLower<'_, '_>, inst: &Instruction, absolute: bool) -> Lowered {
    match kind(inst) {
        Kind::Single => f.f32_sign(inst, absolute),
        Kind::Double => f.f64_sign(inst, absolute),
        Kind::Half => f.half_sign(inst, absolute),
        Kind::Integer if absolute => f.int_abs(inst),
        Kind::Integer => f.int_neg(inst),
        Kind::SinglePair | Kind::Mixed | Kind::Other => Err(unknown(f, inst)),
    }
}

fn rcp(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match (kind(inst), inst.has(Word::Approx)) {
        (Kind::Single, true) => f.f32_rcp_approx(inst),
        (Kind::Single, false) => f.f32_rcp(inst),
        (Kind::Double, true) => f.f64_mufu(inst, mufu::RCP64H),
        (Kind::Double, false) => f.f64_rcp(inst),
        _ => Err(unknown(f, inst)),
    }
}

fn sqrt(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match (kind(inst), inst.has(Word::Approx)) {
        (Kind::Single, true) => f.f32_sqrt_approx(inst),
        (Kind::Single, false) => f.f32_sqrt(inst),
        (Kind::Double, false) => f.f64_sqrt(inst),
        _ => Err(unknown(f, inst)),
    }
}

fn rsqrt(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match (kind(inst), inst.has(Word::Ftz)) {
        (Kind::Single, _) => f.f32_rsqrt_approx(inst),
        (Kind::Double, true) => f.f64_mufu(inst, mufu::RSQ64H),
        (Kind::Double, false) => f.f64_rsqrt(inst),
        _ => Err(unknown(f, inst)),
    }
}

fn transcendental(f: &mut FnLower<'_, '_>, inst: &Instruction, single: Handler) -> Lowered {
    match kind(inst) {
        Kind::Single => single(f, inst),
        Kind::Half => f.half_mufu(inst),
        _ => Err(unknown(f, inst)),
    }
}
