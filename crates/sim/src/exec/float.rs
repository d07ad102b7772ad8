//! Single-precision arithmetic and comparison.

use super::host;
use super::lanewise::{Verdict, compare, compare_singles, relates, single2, single2_if, single3, sources};
use super::rounding::{NAN32, Rounding, SINGLE, narrow, sum_to_odd};
use crate::effect::{Compute, Unsupported};
use crate::lanes::{by_lane, map, map2};
use crate::operand::{PredSrc, Src};
use crate::state::State;
use oriole_isa::{Field, Inst, Opcode, Role};

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported> {
    refuse(inst, &[Field::IS_A])?;
    Ok(Some(match opcode {
        Opcode::FADD => fadd(inst),
        Opcode::FMUL => fmul(inst),
        Opcode::FFMA => ffma(inst),
        Opcode::FSETP => fsetp(inst),
        Opcode::FSET => fset(inst),
        Opcode::FSEL => fsel(inst),
        Opcode::FMNMX => minmax(inst),
        Opcode::FMNMX3 => minmax3(inst),
        Opcode::FCHK => check(inst),
        Opcode::FSWZADD => swizzled_add(inst),
        _ => return Ok(None),
    }))
}

/// Modifiers that no compiler writes and that are not simulated.
pub(super) fn refuse(inst: &Inst, fields: &[Field<bool>]) -> Result<(), Unsupported> {
    match fields.iter().find(|field| inst.get(**field)) {
        Some(field) => Err(Unsupported(format!("{:?} of {}", field.id(), inst.opcode.name()))),
        None => Ok(()),
    }
}

/// An operand as the instruction sees it: subnormals are zero with `.FTZ`.
#[inline(always)]
pub(super) fn input<const FTZ: bool>(bits: u32) -> f32 {
    f32::from_bits(if FTZ { SINGLE.flush(bits) } else { bits })
}

/// A result as the instruction writes it: one NaN, no subnormals with `.FTZ`, in [0, 1] with `.SAT`.
#[inline(always)]
pub(super) fn output<const FTZ: bool, const SAT: bool>(value: f32) -> u32 {
    if SAT {
        // A NaN and -0 become +0.
        let clamped = if value > 0.0 { value.min(1.0) } else { 0.0 };
        return if FTZ { SINGLE.flush(clamped.to_bits()) } else { clamped.to_bits() };
    }
    let bits = if value.is_nan() { NAN32 } else { value.to_bits() };
    if FTZ { SINGLE.flush(bits) } else { bits }
}

/// Calls a function with the `.FTZ` and `.SAT` of the instruction as constant parameters.
macro_rules! with_modes {
    ($inst:expr, $function:ident $(, $argument:expr)*) => {
        match ($inst.get(Field::FTZ), $inst.get(Field::SAT)) {
            (false, false) => $function::<false, false>($inst $(, $argument)*),
            (false, true) => $function::<false, true>($inst $(, $argument)*),
            (true, false) => $function::<true, false>($inst $(, $argument)*),
            (true, true) => $function::<true, true>($inst $(, $argument)*),
        }
    };
}

fn fadd(inst: &Inst) -> Compute {
    with_modes!(inst, fadd_in)
}

fn fadd_in<const FTZ: bool, const SAT: bool>(inst: &Inst) -> Compute {
    match Rounding::of(inst) {
        Rounding::Nearest => single2(inst, |a, b| output::<FTZ, SAT>(input::<FTZ>(a) + input::<FTZ>(b))),
        rounding => single2(inst, move |a, b| {
            output::<FTZ, SAT>(add(f64::from(input::<FTZ>(a)), f64::from(input::<FTZ>(b)), rounding))
        }),
    }
}

/// The sum of two doubles as a single, rounded once.
fn add(a: f64, b: f64, rounding: Rounding) -> f32 {
    f32::from_bits(narrow(sum_to_odd(a, b, rounding), SINGLE, rounding))
}

fn fmul(inst: &Inst) -> Compute {
    with_modes!(inst, fmul_in)
}

fn fmul_in<const FTZ: bool, const SAT: bool>(inst: &Inst) -> Compute {
    let rounding = Rounding::of(inst);
    // The codes are the exponents of the factor, from 1 for 1/8 to 7 for 8.
    let factor = 2f64.powi(i32::from(inst.get(Field::FMUL_SCALE).code()) - 4);
    if factor == 1.0 && rounding == Rounding::Nearest {
        return single2(inst, |a, b| output::<FTZ, SAT>(input::<FTZ>(a) * input::<FTZ>(b)));
    }
    single2(inst, move |a, b| {
        // The product of two singles is exact in a double, and so is the scaling.
        let product = f64::from(input::<FTZ>(a)) * f64::from(input::<FTZ>(b)) * factor;
        output::<FTZ, SAT>(f32::from_bits(narrow(product, SINGLE, rounding)))
    })
}

fn ffma(inst: &Inst) -> Compute {
    with_modes!(inst, ffma_in)
}

fn ffma_in<const FTZ: bool, const SAT: bool>(inst: &Inst) -> Compute {
    match Rounding::of(inst) {
        Rounding::Nearest => {
            single3(inst, |a, b, c| output::<FTZ, SAT>(input::<FTZ>(a).mul_add(input::<FTZ>(b), input::<FTZ>(c))))
        }
        rounding => single3(inst, move |a, b, c| {
            let product = f64::from(input::<FTZ>(a)) * f64::from(input::<FTZ>(b));
            output::<FTZ, SAT>(add(product, f64::from(input::<FTZ>(c)), rounding))
        }),
    }
}

fn fsetp(inst: &Inst) -> Compute {
    let code = inst.get(Field::FCMP).code();
    match inst.get(Field::FTZ) {
        true => compare_singles(inst, move |a, b| relates(code, input::<true>(a), input::<true>(b))),
        false => compare_singles(inst, move |a, b| relates(code, input::<false>(a), input::<false>(b))),
    }
}

/// `FSET`: 1.0 or 0.0.
fn fset(inst: &Inst) -> Compute {
    let (d, a, b, _) = sources(inst);
    let verdict = Verdict::of(inst);
    let (code, ftz) = (inst.get(Field::FCMP).code(), inst.get(Field::FTZ));
    host::compute(move |state: &mut State| {
        let flush = |bits| f32::from_bits(if ftz { SINGLE.flush(bits) } else { bits });
        let result = compare(&a.f32_bits(state), &b.f32_bits(state), |a, b| relates(code, flush(a), flush(b)));
        let result = verdict.combine(state, result);
        d.set(state, &by_lane(|i| if result >> i & 1 != 0 { 1f32.to_bits() } else { 0 }));
    })
}

fn fsel(inst: &Inst) -> Compute {
    match inst.get(Field::FTZ) {
        true => single2_if(inst, |a, b, first| SINGLE.flush(if first { a } else { b })),
        false => single2_if(inst, |a, b, first| if first { a } else { b }),
    }
}

/// The order of float bits as integers: -0 below +0. Not for NaN.
#[inline(always)]
pub(super) fn ordinal(bits: u32) -> i32 {
    let bits = bits as i32;
    bits ^ (bits >> 31 & i32::MAX)
}

/// The lesser or the greater of two singles: a NaN gives way to a number, unless it is to win.
#[inline(always)]
pub(super) fn extreme(a: u32, b: u32, least: bool, nan_wins: bool) -> u32 {
    // Without branches, so that it becomes vector operations.
    let (a_nan, b_nan) = (SINGLE.is_nan(a), SINGLE.is_nan(b));
    let is_first_wanted = (ordinal(a) < ordinal(b)) == least;
    let first = (is_first_wanted | b_nan) & !a_nan;
    let nan = a_nan & b_nan | nan_wins & (a_nan | b_nan);
    let number = if first { a } else { b };
    if nan { NAN32 } else { number }
}

/// `FMNMX3`.
fn minmax3(inst: &Inst) -> Compute {
    let (d, a, b, c) = sources(inst);
    let pa = PredSrc::of(inst, Role::PA);
    let (ftz, nan_wins) = (inst.get(Field::FTZ), inst.get(Field::NAN));
    host::compute(move |state: &mut State| {
        let flush = |bits| if ftz { SINGLE.flush(bits) } else { bits };
        let [a, b, c] = [a, b, c].map(|source| map(&source.f32_bits(state), flush));
        let least = pa.mask(state);
        let pick = |i: usize| {
            let least = least >> i & 1 != 0;
            extreme(extreme(a[i], b[i], least, nan_wins), c[i], least, nan_wins)
        };
        d.set(state, &by_lane(pick));
    })
}

/// `FMNMX`, with `.XORSIGN` of the signs of both operands.
fn minmax(inst: &Inst) -> Compute {
    let (d, a, b, _) = sources(inst);
    let pa = PredSrc::of(inst, Role::PA);
    let (ftz, nan_wins) = (inst.get(Field::FTZ), inst.get(Field::NAN));
    let pick = move |a: u32, b: u32, least: bool| {
        let (a, b) = if ftz { (SINGLE.flush(a), SINGLE.flush(b)) } else { (a, b) };
        extreme(a, b, least, nan_wins)
    };
    if !inst.get(Field::XORSIGN) {
        return single2_if(inst, pick);
    }
    let negations = if a.negated() != b.negated() { 1 << 31 } else { 0 };
    host::compute(move |state: &mut State| {
        // The signs that count are those before `|x|`. A NaN stays as it is.
        let signs = map2(&a.bits(state), &b.bits(state), |a, b| (a ^ b ^ negations) & 1 << 31);
        let (a, b, least) = (a.f32_bits(state), b.f32_bits(state), pa.mask(state));
        let signed = |i: usize| match pick(a[i], b[i], least >> i & 1 != 0) {
            NAN32 => NAN32,
            chosen => chosen & i32::MAX as u32 | signs[i],
        };
        d.set(state, &by_lane(signed));
    })
}

/// `FCHK`: whether a quotient needs more care than a reciprocal and a few fused steps. The hardware's
/// exact condition is not published; this one holds for every pair whose quotient, reciprocal or
/// remainder could leave the range of normal numbers.
fn check(inst: &Inst) -> Compute {
    let (_, a, b, _) = sources(inst);
    let pd = crate::operand::Dst::of(inst, Role::PD);
    host::compute(move |state: &mut State| {
        let result = compare(&a.f32_bits(state), &b.f32_bits(state), needs_care);
        pd.set_mask(state, result);
    })
}

fn needs_care(a: u32, b: u32) -> bool {
    let exponent = |bits: u32| (bits >> 23 & 0xff) as i32;
    let (a, b) = (exponent(a), exponent(b));
    let remainder_exact = (25..255).contains(&a);
    let reciprocal_normal = (2..=252).contains(&b);
    let quotient_normal = (-125..=126).contains(&(a - b));
    !(remainder_exact && reciprocal_normal && quotient_normal)
}

/// `FSWZADD`: each lane of a quad adds with the signs that its two bits of the swizzle say, the first lane by the
/// highest: `A + B`, `A - B`, `B - A`, `B`.
fn swizzled_add(inst: &Inst) -> Compute {
    let (d, a, b, _) = sources(inst);
    let (swizzle, ftz, rounding) = (Src::of(inst, Role::Swizzle), inst.get(Field::FTZ), Rounding::of(inst));
    host::compute(move |state: &mut State| {
        let swizzle = swizzle.scalar(state);
        let (a, b) = (a.f32_bits(state), b.f32_bits(state));
        let value = by_lane(|i| {
            let flush = |bits| f64::from(f32::from_bits(if ftz { SINGLE.flush(bits) } else { bits }));
            let (a, b) = (flush(a[i]), flush(b[i]));
            let sum = match swizzle >> (2 * (3 - (i & 3))) & 3 {
                0 => add(a, b, rounding),
                1 => add(a, -b, rounding),
                2 => add(-a, b, rounding),
                _ => b as f32,
            };
            if ftz { output::<true, false>(sum) } else { output::<false, false>(sum) }
        });
        d.set(state, &value);
    })
}
