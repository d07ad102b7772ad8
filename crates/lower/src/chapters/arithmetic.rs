//! The opcodes that have forms for integers and floats of several widths.

use crate::chapters::half::is_half;
use crate::chapters::{
    division, extended, float32, float64, half, integer, integer_division, mixed_pair, quarter, single_pair,
};
use crate::error::Lowered;
use crate::function::FnLower;
use crate::handler::{Chapter, Handler, unknown};
use oriole_isa::Mufu;
use oriole_ptx::ast::{Instruction, Opcode as Ptx, ScalarType, Word};

/// The opcodes of this file.
pub(crate) const CHAPTER: Chapter = &[
    (Ptx::Add, |cx, inst| add_sub(cx, inst, false)),
    (Ptx::Sub, |cx, inst| add_sub(cx, inst, true)),
    (Ptx::Mul, mul),
    (Ptx::Mad, mad),
    (Ptx::Fma, fma),
    (Ptx::Mul24, |cx, inst| integer::int_mul24(cx, inst)),
    (Ptx::Mad24, |cx, inst| integer::int_mul24(cx, inst)),
    (Ptx::Min, |cx, inst| minmax(cx, inst, true)),
    (Ptx::Max, |cx, inst| minmax(cx, inst, false)),
    (Ptx::Neg, |cx, inst| sign(cx, inst, false)),
    (Ptx::Abs, |cx, inst| sign(cx, inst, true)),
    (Ptx::Sad, |cx, inst| integer::int_sad(cx, inst)),
    (Ptx::Clmad, integer::carryless_product),
    (Ptx::Div, division::div),
    (Ptx::Rem, |cx, inst| integer_division::int_div(cx, inst)),
    (Ptx::Rcp, rcp),
    (Ptx::Sqrt, sqrt),
    (Ptx::Rsqrt, rsqrt),
    (Ptx::Sin, float32::trigonometric),
    (Ptx::Cos, float32::trigonometric),
    (Ptx::Lg2, float32::lg2),
    (Ptx::Ex2, |cx, inst| transcendental(cx, inst, float32::ex2)),
    (Ptx::Tanh, |cx, inst| transcendental(cx, inst, float32::tanh)),
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
    /// Pairs of several formats.
    MixedPair,
    /// Four floats of 8 bits and less.
    Quarter,
    Integer,
    Other,
}

fn kind(inst: &Instruction) -> Kind {
    match inst.last_type() {
        _ if quarter::is_quarter(inst) => Kind::Quarter,
        _ if inst.ty(2).is_some() => Kind::MixedPair,
        Some(ty) if is_half(ty) && inst.ty(0) == Some(ScalarType::F32) => Kind::Mixed,
        Some(ScalarType::F32) => Kind::Single,
        Some(ScalarType::F64) => Kind::Double,
        Some(ScalarType::F32x2) => Kind::SinglePair,
        Some(ty) if is_half(ty) => Kind::Half,
        Some(ty) if ty.is_float() => Kind::Other,
        _ => Kind::Integer,
    }
}

fn add_sub(cx: &mut FnLower<'_, '_>, inst: &Instruction, subtract: bool) -> Lowered {
    match kind(inst) {
        Kind::Single => float32::f32_add_sub(cx, inst, subtract),
        Kind::Double => float64::f64_add_sub(cx, inst, subtract),
        Kind::Half => half::half_binary(cx, inst),
        Kind::Mixed => half::half_mixed(cx, inst),
        Kind::SinglePair => single_pair::lower(cx, inst),
        Kind::MixedPair => mixed_pair::lower(cx, inst),
        Kind::Quarter => quarter::lower(cx, inst),
        Kind::Integer if inst.has(Word::Cc) => {
            if subtract {
                extended::sub(cx, inst)
            } else {
                extended::add(cx, inst)
            }
        }
        Kind::Integer => integer::int_add_sub(cx, inst, subtract),
        Kind::Other => Err(unknown(cx, inst)),
    }
}

fn mul(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match kind(inst) {
        Kind::Single => float32::f32_mul(cx, inst),
        Kind::Double => float64::f64_mul(cx, inst),
        Kind::Half => half::half_binary(cx, inst),
        Kind::SinglePair => single_pair::lower(cx, inst),
        Kind::MixedPair => mixed_pair::lower(cx, inst),
        Kind::Quarter => quarter::lower(cx, inst),
        Kind::Integer => integer::int_mul(cx, inst),
        Kind::Mixed | Kind::Other => Err(unknown(cx, inst)),
    }
}

fn mad(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match kind(inst) {
        Kind::Integer if inst.has(Word::Cc) => extended::mad(cx, inst),
        Kind::Integer => integer::int_mad(cx, inst),
        _ => fma(cx, inst),
    }
}

fn fma(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match kind(inst) {
        Kind::Single => float32::f32_fma(cx, inst),
        Kind::Double => float64::f64_fma(cx, inst),
        Kind::Half => half::half_fma(cx, inst),
        Kind::Mixed => half::half_mixed(cx, inst),
        Kind::SinglePair => single_pair::lower(cx, inst),
        Kind::MixedPair => mixed_pair::lower(cx, inst),
        Kind::Quarter => quarter::lower(cx, inst),
        Kind::Integer | Kind::Other => Err(unknown(cx, inst)),
    }
}

fn minmax(cx: &mut FnLower<'_, '_>, inst: &Instruction, least: bool) -> Lowered {
    match kind(inst) {
        Kind::Single => float32::f32_minmax(cx, inst, least),
        Kind::Double => float64::f64_minmax(cx, inst, least),
        Kind::Half => half::half_minmax(cx, inst, least),
        Kind::Integer => integer::int_minmax(cx, inst, least),
        Kind::SinglePair | Kind::Mixed | Kind::MixedPair | Kind::Quarter | Kind::Other => Err(unknown(cx, inst)),
    }
}

fn sign(cx: &mut FnLower<'_, '_>, inst: &Instruction, absolute: bool) -> Lowered {
    match kind(inst) {
        Kind::Single => float32::f32_sign(cx, inst, absolute),
        Kind::Double => float64::f64_sign(cx, inst, absolute),
        Kind::Half => half::half_sign(cx, inst, absolute),
        Kind::Integer if absolute => integer::int_abs(cx, inst),
        Kind::Integer => integer::int_neg(cx, inst),
        Kind::SinglePair | Kind::Mixed | Kind::MixedPair | Kind::Quarter | Kind::Other => Err(unknown(cx, inst)),
    }
}

fn rcp(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match (kind(inst), inst.has(Word::Approx)) {
        (Kind::Single, true) => float32::f32_rcp_approx(cx, inst),
        (Kind::Single, false) => division::f32_rcp(cx, inst),
        (Kind::Double, true) => division::f64_mufu(cx, inst, Mufu::RCP64H),
        (Kind::Double, false) => division::f64_rcp(cx, inst),
        _ => Err(unknown(cx, inst)),
    }
}

fn sqrt(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match (kind(inst), inst.has(Word::Approx)) {
        (Kind::Single, true) => float32::f32_sqrt_approx(cx, inst),
        (Kind::Single, false) => division::f32_sqrt(cx, inst),
        (Kind::Double, false) => division::f64_sqrt(cx, inst),
        _ => Err(unknown(cx, inst)),
    }
}

fn rsqrt(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match (kind(inst), inst.has(Word::Ftz)) {
        (Kind::Single, _) => float32::f32_rsqrt_approx(cx, inst),
        (Kind::Double, true) => division::f64_mufu(cx, inst, Mufu::RSQ64H),
        (Kind::Double, false) => division::f64_rsqrt(cx, inst),
        _ => Err(unknown(cx, inst)),
    }
}

fn transcendental(cx: &mut FnLower<'_, '_>, inst: &Instruction, single: Handler) -> Lowered {
    match kind(inst) {
        Kind::Single => single(cx, inst),
        Kind::Half => half::half_mufu(cx, inst),
        _ => Err(unknown(cx, inst)),
    }
}
