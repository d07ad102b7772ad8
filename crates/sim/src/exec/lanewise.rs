//! The loops over lanes that most arithmetic instructions consist of.
//!
//! Each function resolves the usual operands of an instruction (`D`, `A`, `B`, `C`, as many as it
//! needs) and returns the closure that applies `f` to every lane. `f` is a type parameter, so each
//! operation gets a loop of its own without calls.

use super::host::{self, Kernel};
use crate::effect::Compute;
use crate::lanes::{Lanes, Mask, WARP, WideLanes, by_lane, map2, map3, mask_where};
use crate::operand::{Buffer, Dst, PredSrc, Src};
use crate::state::State;
use oriole_isa::{Bop, Field, Inst, Role};

/// The sources `A`, `B`, `C` and the destination `D`.
pub(super) fn sources(inst: &Inst) -> (Dst, Src, Src, Src) {
    (Dst::of(inst, Role::D), Src::of(inst, Role::A), Src::of(inst, Role::B), Src::of(inst, Role::C))
}

/// A 32-bit source, with its sign changes as operations on its bits.
#[derive(Clone, Copy)]
struct Word {
    source: Src,
    /// All ones where `|x|` of an integer is taken first.
    magnitude: u32,
    keep: u32,
    flip: u32,
    plus: u32,
}

impl Word {
    /// An integer: `|x|`, then `-x`, then `!x`.
    fn integer(source: Src) -> Self {
        let flip = if source.negated() != source.inverted() { u32::MAX } else { 0 };
        // -x is !x + 1, and !-x is x - 1.
        let plus = match (source.negated(), source.inverted()) {
            (true, false) => 1,
            (true, true) => u32::MAX,
            (false, _) => 0,
        };
        Word { magnitude: u32::from(source.absolute()).wrapping_neg(), keep: u32::MAX, flip, plus, source }
    }

    /// The bits of a single.
    fn single(source: Src) -> Self {
        let (keep, flip) = source.sign(31);
        Word { source, magnitude: 0, keep: keep as u32, flip: flip as u32, plus: 0 }
    }

    fn is_plain(&self) -> bool {
        (self.magnitude, self.keep, self.flip, self.plus) == (0, u32::MAX, 0, 0)
    }

    /// A value with the changes.
    #[inline]
    fn changed(&self, bits: u32) -> u32 {
        let sign = (bits as i32 >> 31) as u32 & self.magnitude;
        let bits = (bits ^ sign).wrapping_sub(sign);
        ((bits & self.keep) ^ self.flip).wrapping_add(self.plus)
    }

    /// The value of each lane; `buffer` is where they are put if no register holds them as they are.
    #[inline(always)]
    fn lanes<'s>(&self, state: &'s State, buffer: &'s mut Buffer) -> &'s Lanes {
        if self.is_plain() { self.source.lanes(state, buffer) } else { self.changed_lanes(state, buffer) }
    }

    /// A loop of its own: as part of those of the operations it would be compiled for each of them.
    #[inline(never)]
    fn changed_lanes<'s>(&self, state: &State, buffer: &'s mut Buffer) -> &'s Lanes {
        let mut raw = Buffer::uninit();
        let raw = self.source.lanes(state, &mut raw);
        buffer.write(by_lane(|lane| self.changed(raw[lane])))
    }

    /// The value that is the same in all lanes.
    fn scalar(&self, state: &State) -> u32 {
        self.changed(self.source.scalar(state))
    }
}

/// An operation on the three sources and the predicate source of a lane.
trait Operation: Fn(u32, u32, u32, bool) -> u32 + Send + Sync + 'static {}
impl<F: Fn(u32, u32, u32, bool) -> u32 + Send + Sync + 'static> Operation for F {}

/// `D = f(A, B, C, PA)` in each lane of a vector register. What `f` ignores is not fetched.
struct Lanewise<F> {
    to: usize,
    sources: [Word; 3],
    pa: PredSrc,
    f: F,
}

impl<F: Operation> Kernel for Lanewise<F> {
    #[inline(always)]
    fn run(&self, state: &mut State) {
        let [a, b, c] = &self.sources;
        let (mut in_a, mut in_b, mut in_c) = (Buffer::uninit(), Buffer::uninit(), Buffer::uninit());
        let (xs, ys, zs) = (a.lanes(state, &mut in_a), b.lanes(state, &mut in_b), c.lanes(state, &mut in_c));
        let pa = self.pa.mask(state);
        let value = by_lane(|lane| (self.f)(xs[lane], ys[lane], zs[lane], pa >> lane & 1 != 0));
        state.set_r(self.to, &value);
    }
}

/// `D = f(A, B, C, PA)` for sources of 32 bits.
fn words(inst: &Inst, sources: [Word; 3], f: impl Operation) -> Compute {
    let pa = PredSrc::of(inst, Role::PA);
    match Dst::of(inst, Role::D) {
        Dst::Register(to) => host::compute(Lanewise { to, sources, pa, f }),
        to => Box::new(move |state: &mut State| {
            let [a, b, c] = sources.map(|source| source.scalar(state));
            let first = pa.mask(state) >> state.first_active() & 1 != 0;
            to.set_scalar(state, f(a, b, c, first));
        }),
    }
}

/// The integer sources `A`, `B`, `C`.
fn integers(inst: &Inst) -> [Word; 3] {
    [Role::A, Role::B, Role::C].map(|role| Word::integer(Src::of(inst, role)))
}

/// The single-precision sources `A`, `B`, `C`.
fn singles(inst: &Inst) -> [Word; 3] {
    [Role::A, Role::B, Role::C].map(|role| Word::single(Src::of(inst, role)))
}

/// The sources that an operation does not have; they cost nothing.
const NONE: Word = Word { source: Src::ZERO, magnitude: 0, keep: u32::MAX, flip: 0, plus: 0 };

/// `D = f(B)` on integers.
pub(super) fn int1(inst: &Inst, f: impl Fn(u32) -> u32 + Send + Sync + 'static) -> Compute {
    let [_, b, _] = integers(inst);
    words(inst, [NONE, b, NONE], move |_, b, _, _| f(b))
}

/// `D = f(A, B)` on integers.
pub(super) fn int2(inst: &Inst, f: impl Fn(u32, u32) -> u32 + Send + Sync + 'static) -> Compute {
    let [a, b, _] = integers(inst);
    words(inst, [a, b, NONE], move |a, b, _, _| f(a, b))
}

/// `D = f(A, B, PA)` on integers.
pub(super) fn int2_if(inst: &Inst, f: impl Fn(u32, u32, bool) -> u32 + Send + Sync + 'static) -> Compute {
    let [a, b, _] = integers(inst);
    words(inst, [a, b, NONE], move |a, b, _, pa| f(a, b, pa))
}

/// `D = f(A, B, C)` on integers.
pub(super) fn int3(inst: &Inst, f: impl Fn(u32, u32, u32) -> u32 + Send + Sync + 'static) -> Compute {
    words(inst, integers(inst), move |a, b, c, _| f(a, b, c))
}

/// `D = f(B)` on single-precision bits.
pub(super) fn single1(inst: &Inst, f: impl Fn(u32) -> u32 + Send + Sync + 'static) -> Compute {
    let [_, b, _] = singles(inst);
    words(inst, [NONE, b, NONE], move |_, b, _, _| f(b))
}

/// `D = f(A, B)` on single-precision bits.
pub(super) fn single2(inst: &Inst, f: impl Fn(u32, u32) -> u32 + Send + Sync + 'static) -> Compute {
    let [a, b, _] = singles(inst);
    words(inst, [a, b, NONE], move |a, b, _, _| f(a, b))
}

/// `D = f(A, B, PA)` on single-precision bits.
pub(super) fn single2_if(inst: &Inst, f: impl Fn(u32, u32, bool) -> u32 + Send + Sync + 'static) -> Compute {
    let [a, b, _] = singles(inst);
    words(inst, [a, b, NONE], move |a, b, _, pa| f(a, b, pa))
}

/// `D = f(A, B, C)` on single-precision bits.
pub(super) fn single3(inst: &Inst, f: impl Fn(u32, u32, u32) -> u32 + Send + Sync + 'static) -> Compute {
    words(inst, singles(inst), move |a, b, c, _| f(a, b, c))
}

/// `D = f(A, B)` on double-precision bits.
pub(super) fn double2(inst: &Inst, f: impl Fn(u64, u64) -> u64 + Send + Sync + 'static) -> Compute {
    let (d, a, b, _) = sources(inst);
    host::compute(Doubles { d, sources: [a, b, Src::ZERO], f: move |a, b, _| f(a, b) })
}

/// `D = f(A, B, C)` on double-precision bits.
pub(super) fn double3(inst: &Inst, f: impl Fn(u64, u64, u64) -> u64 + Send + Sync + 'static) -> Compute {
    let (d, a, b, c) = sources(inst);
    host::compute(Doubles { d, sources: [a, b, c], f })
}

/// `D = f(A, B, C)` in each lane of a register pair.
struct Doubles<F> {
    d: Dst,
    sources: [Src; 3],
    f: F,
}

impl<F: Fn(u64, u64, u64) -> u64 + Send + Sync + 'static> Kernel for Doubles<F> {
    #[inline(always)]
    fn run(&self, state: &mut State) {
        let [a, b, c] = &self.sources;
        let value = map3(&a.f64_bits(state), &b.f64_bits(state), &c.f64_bits(state), &self.f);
        self.d.set_wide(state, &value);
    }
}

/// `A` and `B` compared: `PD`, `PD2` = the lanes where `f(A, B)` holds, joined with `PA`.
struct Comparison<F> {
    a: Word,
    b: Word,
    verdict: Verdict,
    f: F,
}

impl<F: Fn(u32, u32) -> bool + Send + Sync + 'static> Kernel for Comparison<F> {
    #[inline(always)]
    fn run(&self, state: &mut State) {
        let (mut in_a, mut in_b) = (Buffer::uninit(), Buffer::uninit());
        let (xs, ys) = (self.a.lanes(state, &mut in_a), self.b.lanes(state, &mut in_b));
        let result = mask_where(|lane| (self.f)(xs[lane], ys[lane]));
        self.verdict.write(state, result);
    }
}

/// A comparison of integers.
pub(super) fn compare_integers(inst: &Inst, f: impl Fn(u32, u32) -> bool + Send + Sync + 'static) -> Compute {
    let [a, b, _] = integers(inst);
    host::compute(Comparison { a, b, verdict: Verdict::of(inst), f })
}

/// A comparison of single-precision bits.
pub(super) fn compare_singles(inst: &Inst, f: impl Fn(u32, u32) -> bool + Send + Sync + 'static) -> Compute {
    let [a, b, _] = singles(inst);
    host::compute(Comparison { a, b, verdict: Verdict::of(inst), f })
}

/// Whether two values relate in one of the ways that a comparison code asks for: bit 0 less, 1 equal,
/// 2 greater, 3 unordered. Without branches, so that a warp is compared by vector operations.
#[inline(always)]
pub(super) fn relates<T: PartialOrd>(code: u8, a: T, b: T) -> bool {
    let asks = |bit: u8| code & bit != 0;
    let unordered = a.partial_cmp(&b).is_none();
    asks(1) & (a < b) | asks(2) & (a == b) | asks(4) & (a > b) | asks(8) & unordered
}

/// One bit per lane, as a mask.
#[inline(always)]
pub(super) fn mask_of(bits: &[bool; WARP]) -> Mask {
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
    bop: Bop,
}

impl Verdict {
    /// The predicate operands of `inst`.
    pub(super) fn of(inst: &Inst) -> Self {
        let (pd, pd2) = (Dst::of(inst, Role::PD), Dst::of(inst, Role::PD2));
        Verdict { pd, pd2, pa: PredSrc::of(inst, Role::PA), bop: inst.get(Field::BOP) }
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
            Bop::OR => result | pa,
            Bop::XOR => result ^ pa,
            _ => result & pa,
        }
    }
}
