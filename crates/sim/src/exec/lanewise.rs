//! The loops over lanes that most arithmetic instructions consist of.
//!
//! Each function resolves the usual operands of an instruction (`D`, `A`, `B`, `C`, as many as it
//! needs) and returns the closure that applies `f` to every lane. `f` is a type parameter, so each
//! operation gets a loop of its own without calls.

use super::Compute;
use crate::operand::{Dst, PredSrc, Src};
use crate::state::{Lanes, Mask, State, WideLanes, map, map2, map3};
use oriole_isa::{Field, Inst, Role, bop};

/// A flag of the instruction.
pub(super) fn flag(inst: &Inst, field: Field) -> bool {
    inst.get(field) != 0
}

/// The sources `A`, `B`, `C` and the destination `D`.
pub(super) fn sources(inst: &Inst) -> (Dst, Src, Src, Src) {
    (Dst::of(inst, Role::D), Src::of(inst, Role::A), Src::of(inst, Role::B), Src::of(inst, Role::C))
}

/// `D = f(B)` on integers.
pub(super) fn int1(inst: &Inst, f: impl Fn(u32) -> u32 + Send + Sync + 'static) -> Compute {
    let (d, _, b, _) = sources(inst);
    Box::new(move |state: &mut State| d.set(state, &map(&b.int(state), &f)))
}

/// `D = f(A, B)` on integers.
pub(super) fn int2(inst: &Inst, f: impl Fn(u32, u32) -> u32 + Send + Sync + 'static) -> Compute {
    let (d, a, b, _) = sources(inst);
    Box::new(move |state: &mut State| d.set(state, &map2(&a.int(state), &b.int(state), &f)))
}

/// `D = f(A, B, C)` on integers.
pub(super) fn int3(inst: &Inst, f: impl Fn(u32, u32, u32) -> u32 + Send + Sync + 'static) -> Compute {
    let (d, a, b, c) = sources(inst);
    Box::new(move |state: &mut State| d.set(state, &map3(&a.int(state), &b.int(state), &c.int(state), &f)))
}

/// `D = f(B)` on single-precision bits.
pub(super) fn single1(inst: &Inst, f: impl Fn(u32) -> u32 + Send + Sync + 'static) -> Compute {
    let (d, _, b, _) = sources(inst);
    Box::new(move |state: &mut State| d.set(state, &map(&b.f32_bits(state), &f)))
}

/// `D = f(A, B)` on single-precision bits.
pub(super) fn single2(inst: &Inst, f: impl Fn(u32, u32) -> u32 + Send + Sync + 'static) -> Compute {
    let (d, a, b, _) = sources(inst);
    Box::new(move |state: &mut State| d.set(state, &map2(&a.f32_bits(state), &b.f32_bits(state), &f)))
}

/// `D = f(A, B, C)` on single-precision bits.
pub(super) fn single3(inst: &Inst, f: impl Fn(u32, u32, u32) -> u32 + Send + Sync + 'static) -> Compute {
    let (d, a, b, c) = sources(inst);
    Box::new(move |state: &mut State| {
        d.set(state, &map3(&a.f32_bits(state), &b.f32_bits(state), &c.f32_bits(state), &f))
    })
}

/// `D = f(A, B)` on double-precision bits.
pub(super) fn double2(inst: &Inst, f: impl Fn(u64, u64) -> u64 + Send + Sync + 'static) -> Compute {
    let (d, a, b, _) = sources(inst);
    Box::new(move |state: &mut State| d.set_wide(state, &map2(&a.f64_bits(state), &b.f64_bits(state), &f)))
}

/// `D = f(A, B, C)` on double-precision bits.
pub(super) fn double3(inst: &Inst, f: impl Fn(u64, u64, u64) -> u64 + Send + Sync + 'static) -> Compute {
    let (d, a, b, c) = sources(inst);
    Box::new(move |state: &mut State| {
        d.set_wide(state, &map3(&a.f64_bits(state), &b.f64_bits(state), &c.f64_bits(state), &f));
    })
}

/// One bit per lane, as a mask.
#[inline(always)]
pub(super) fn mask_of(bits: &[bool; crate::state::WARP]) -> Mask {
    bits.iter().enumerate().fold(0, |mask, (lane, &bit)| mask | Mask::from(bit) << lane)
}

/// The lanes where `f(a, b)` holds.
#[inline(always)]
pub(super) fn compare(a: &Lanes, b: &Lanes, f: impl Fn(u32, u32) -> bool) -> Mask {
    mask_of(&map2(a, b, f))
}

/// The lanes where `f(a, b)` holds, of 64-bit sources.
#[inline(always)]
pub(super) fn compare_wide(a: &WideLanes, b: &WideLanes, f: impl Fn(u64, u64) -> bool) -> Mask {
    mask_of(&map2(a, b, f))
}

/// The predicate results of a comparison: `PD = result bop PA`, `PD2 = !result bop PA`.
#[derive(Clone, Copy)]
pub(super) struct Verdict {
    pd: Dst,
    pd2: Dst,
    pa: PredSrc,
    bop: u8,
}

impl Verdict {
    /// The predicate operands of `inst`.
    pub(super) fn of(inst: &Inst) -> Self {
        let (pd, pd2) = (Dst::of(inst, Role::PD), Dst::of(inst, Role::PD2));
        Verdict { pd, pd2, pa: PredSrc::of(inst, Role::PA), bop: inst.get(Field::Bop) }
    }

    /// Writes the predicates for a comparison that holds in the lanes `result`.
    #[inline]
    pub(super) fn write(&self, state: &mut State, result: Mask) {
        self.write_both(state, result, !result);
    }

    /// Writes the predicates from two results.
    #[inline]
    pub(super) fn write_both(&self, state: &mut State, first: Mask, second: Mask) {
        let (first, second) = (self.combine(state, first), self.combine(state, second));
        self.pd.set_mask(state, first);
        self.pd2.set_mask(state, second);
    }

    /// `result bop PA`.
    #[inline]
    pub(super) fn combine(&self, state: &State, result: Mask) -> Mask {
        let pa = self.pa.mask(state);
        match self.bop {
            bop::OR => result | pa,
            bop::XOR => result ^ pa,
            _ => result & pa,
        }
    }
}
