//! The opcodes that have forms for integers and floats of several widths.

use crate::chapters::half::is_half;
use crate::chapters::{division, extended, float32, float64, half, integer, integer_division, single_pair};
use crate::error::Lowered;
use crate::function::FnLower;
use crate::handler::{Chapter, Handler, unknown};
use oriole_isa::mufu;
use oriole_ptx::ast::{Instruction, Opcode as Ptx, ScalarType, Word};

/// The opcodes of this file.
pub(crate) const CHAPTER: Chapter = &[
    (Ptx::Add, |f, inst| add_sub(f, inst, false)),
    (Ptx::Sub, |f, inst| add_sub(f, inst, true)),
    (Ptx::Mul, mul),
    (Ptx::Mad, mad),
    (Ptx::Fma, fma),
    (Ptx::Mul24, |f, inst| integer::int_mul24(f, inst)),
    (Ptx::Mad24, |f, inst| integer::int_mul24(f, inst)),
    (Ptx::Min, |f, inst| minmax(f, inst, true)),
    (Ptx::Max, |f, inst| minmax(f, inst, false)),
    (Ptx::Neg, |f, inst| sign(f, inst, false)),
    (Ptx::Abs, |f, inst| sign(f, inst, true)),
    (Ptx::Sad, |f, inst| integer::int_sad(f, inst)),
    (Ptx::Div, division::div),
    (Ptx::Rem, |f, inst| integer_division::int_div(f, inst)),
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
        Kind::Single => float32::f32_add_sub(f, inst, subtract),
        Kind::Double => float64::f64_add_sub(f, inst, subtract),
        Kind::Half => half::half_binary(f, inst),
        Kind::Mixed => half::half_mixed(f, inst),
        Kind::SinglePair => single_pair::lower(f, inst),
        Kind::Integer if inst.has(Word::Cc) => {
            if subtract {
                extended::sub(f, inst)
            } else {
                extended::add(f, inst)
            }
        }
        Kind::Integer => integer::int_add_sub(f, inst, subtract),
        Kind::Other => Err(unknown(f, inst)),
    }
}

fn mul(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match kind(inst) {
        Kind::Single => float32::f32_mul(f, inst),
        Kind::Double => float64::f64_mul(f, inst),
        Kind::Half => half::half_binary(f, inst),
        Kind::SinglePair => single_pair::lower(f, inst),
        Kind::Integer => integer::int_mul(f, inst),
        Kind::Mixed | Kind::Other => Err(unknown(f, inst)),
    }
}

fn mad(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match kind(inst) {
        Kind::Integer if inst.has(Word::Cc) => extended::mad(f, inst),
        Kind::Integer => integer::int_mad(f, inst),
        _ => fma(f, inst),
    }
}

fn fma(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match kind(inst) {
        Kind::Single => float32::f32_fma(f, inst),
        Kind::Double => float64::f64_fma(f, inst),
        Kind::Half => half::half_fma(f, inst),
        Kind::Mixed => half::half_mixed(f, inst),
        Kind::SinglePair => single_pair::lower(f, inst),
        Kind::Integer | Kind::Other => Err(unknown(f, inst)),
    }
}

fn minmax(f: &mut FnLower<'_, '_>, inst: &Instruction, least: bool) -> Lowered {
    match kind(inst) {
        Kind::Single => float32::f32_minmax(f, inst, least),
        Kind::Double => float64::f64_minmax(f, inst, least),
        Kind::Half => half::half_minmax(f, inst, least),
        Kind::Integer => integer::int_minmax(f, inst, least),
        Kind::SinglePair | Kind::Mixed | Kind::Other => Err(unknown(f, inst)),
    }
}

fn sign(f: &mut FnLower<'_, '_>, inst: &Instruction, absolute: bool) -> Lowered {
    match kind(inst) {
        Kind::Single => float32::f32_sign(f, inst, absolute),
        Kind::Double => float64::f64_sign(f, inst, absolute),
        Kind::Half => half::half_sign(f, inst, absolute),
        Kind::Integer if absolute => integer::int_abs(f, inst),
        Kind::Integer => integer::int_neg(f, inst),
        Kind::SinglePair | Kind::Mixed | Kind::Other => Err(unknown(f, inst)),
    }
}

fn rcp(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match (kind(inst), inst.has(Word::Approx)) {
        (Kind::Single, true) => float32::f32_rcp_approx(f, inst),
        (Kind::Single, false) => division::f32_rcp(f, inst),
        (Kind::Double, true) => division::f64_mufu(f, inst, mufu::RCP64H),
        (Kind::Double, false) => division::f64_rcp(f, inst),
        _ => Err(unknown(f, inst)),
    }
}

fn sqrt(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match (kind(inst), inst.has(Word::Approx)) {
        (Kind::Single, true) => float32::f32_sqrt_approx(f, inst),
        (Kind::Single, false) => division::f32_sqrt(f, inst),
        (Kind::Double, false) => division::f64_sqrt(f, inst),
        _ => Err(unknown(f, inst)),
    }
}

fn rsqrt(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    match (kind(inst), inst.has(Word::Ftz)) {
        (Kind::Single, _) => float32::f32_rsqrt_approx(f, inst),
        (Kind::Double, true) => division::f64_mufu(f, inst, mufu::RSQ64H),
        (Kind::Double, false) => division::f64_rsqrt(f, inst),
        _ => Err(unknown(f, inst)),
    }
}

fn transcendental(f: &mut FnLower<'_, '_>, inst: &Instruction, single: Handler) -> Lowered {
    match kind(inst) {
        Kind::Single => single(f, inst),
        Kind::Half => half::half_mufu(f, inst),
        _ => Err(unknown(f, inst)),
    }
}
