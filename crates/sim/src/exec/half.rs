//! Arithmetic on pairs of `f16` or `bf16`.
//!
//! Both elements are computed in `f64`, exactly or rounded to odd, and rounded once.

use super::float::relation;
use super::lanewise::{Verdict, flag, mask_of};
use super::rounding::{BFLOAT, Format, HALF, Rounding, SINGLE, narrow, sum_to_odd};
use super::{Compute, Unsupported};
use crate::operand::{Dst, PredSrc, Src};
use crate::state::{Lanes, Mask, State, map2};
use oriole_isa::{Field, Inst, Opcode, Role, half_fmt, swizzle};

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported> {
    Ok(Some(match opcode {
        Opcode::HADD2 => arithmetic(inst, &[(Role::A, Field::SwzA), (Role::B, Field::SwzB)], |[a, b]| {
            sum_to_odd(a, b, Rounding::Nearest)
        })?,
        Opcode::HMUL2 => arithmetic(inst, &[(Role::A, Field::SwzA), (Role::B, Field::SwzB)], |[a, b]| a * b)?,
        Opcode::HFMA2 => {
            let roles = [(Role::A, Field::SwzA), (Role::B, Field::SwzB), (Role::C, Field::SwzC)];
            arithmetic(inst, &roles, |[a, b, c]| sum_to_odd(a * b, c, Rounding::Nearest))?
        }
        Opcode::HSETP2 => set_predicates(inst)?,
        Opcode::HSET2 => set(inst)?,
        Opcode::HMNMX2 => minmax(inst)?,
        _ => return Ok(None),
    }))
}

/// The format of the elements.
fn format(inst: &Inst) -> Format {
    if inst.get(Field::HalfFmt) == half_fmt::BF16_V2 { BFLOAT } else { HALF }
}

/// A source of two elements.
#[derive(Clone, Copy)]
struct Pair {
    source: Src,
    /// Distance of the low and of the high element from bit 0.
    low: u32,
    high: u32,
    keep: u32,
    flip: u32,
    flush: Option<Format>,
}

impl Pair {
    fn of(inst: &Inst, role: Role, halves: Field) -> Result<Self, Unsupported> {
        let source = Src::of(inst, role);
        // Immediates hold both elements; a form has no place for their halves.
        let (low, high) = match inst.get(halves) {
            _ if source.is_immediate() => (0, 16),
            swizzle::H0_H0 => (0, 0),
            swizzle::H1_H1 => (16, 16),
            swizzle::F32 => return Err(Unsupported("a single among halves".into())),
            _ => (0, 16),
        };
        let keep = if source.absolute() { 0x7fff } else { 0xffff };
        let flip = if source.negated() { 0x8000 } else { 0 };
        let flush = flag(inst, Field::Ftz).then(|| format(inst));
        Ok(Pair { source, low, high, keep, flip, flush })
    }

    /// The bits of the low and of the high elements.
    fn bits(&self, state: &State) -> [Lanes; 2] {
        let bits = self.source.bits(state);
        [self.low, self.high].map(|at| {
            bits.map(|v| {
                let element = v >> at & self.keep ^ self.flip;
                self.flush.map_or(element, |format| format.flush(element))
            })
        })
    }
}

/// What becomes of a result: its format, and the clamps.
#[derive(Clone, Copy)]
struct Finish {
    format: Format,
    ftz: bool,
    sat: bool,
    relu: bool,
}

impl Finish {
    fn of(inst: &Inst, format: Format) -> Self {
        let [ftz, sat, relu] = [Field::Ftz, Field::Sat, Field::Relu].map(|field| flag(inst, field));
        Finish { format, ftz, sat, relu }
    }

    /// The bits of `value`; `relu` tells whether the lane takes part in that clamp.
    #[inline]
    fn bits(&self, value: f64, relu: bool) -> u32 {
        let value = match (self.sat, self.relu && relu) {
            // A NaN and -0 become +0.
            (true, _) => {
                if value > 0.0 {
                    value.min(1.0)
                } else {
                    0.0
                }
            }
            (false, true) if value <= 0.0 => 0.0,
            _ => value,
        };
        let bits = narrow(value, self.format, Rounding::Nearest);
        if self.ftz { self.format.flush(bits) } else { bits }
    }
}

/// `HADD2`, `HMUL2`, `HFMA2`: `f` gives the result exactly or rounded to odd.
fn arithmetic<const N: usize>(
    inst: &Inst,
    operands: &[(Role, Field); N],
    f: impl Fn([f64; N]) -> f64 + Send + Sync + 'static,
) -> Result<Compute, Unsupported> {
    if flag(inst, Field::Oob) {
        return Err(Unsupported("out-of-bounds elements in HFMA2".into()));
    }
    let mut pairs = Vec::with_capacity(N);
    for &(role, halves) in operands {
        pairs.push(Pair::of(inst, role, halves)?);
    }
    let (d, from) = (Dst::of(inst, Role::D), format(inst));
    let single = flag(inst, Field::HalfF32);
    let finish = Finish::of(inst, if single { SINGLE } else { from });
    let relu = PredSrc::of(inst, Role::PA);
    Ok(Box::new(move |state: &mut State| {
        let relu = relu.mask(state);
        let mut sources = [[[0; 32]; 2]; N];
        for (source, pair) in sources.iter_mut().zip(&pairs) {
            *source = pair.bits(state);
        }
        let element = |half: usize, lane: usize| {
            let values = std::array::from_fn(|n| from.widen(sources[n][half][lane]));
            finish.bits(f(values), relu >> lane & 1 != 0)
        };
        let value = match single {
            true => std::array::from_fn(|lane| element(0, lane)),
            false => std::array::from_fn(|lane| element(0, lane) | element(1, lane) << 16),
        };
        d.set(state, &value);
    }))
}

/// The lanes where each element's comparison holds.
fn comparison(inst: &Inst) -> Result<impl Fn(&State) -> [Mask; 2] + use<>, Unsupported> {
    let (a, b) = (Pair::of(inst, Role::A, Field::SwzA)?, Pair::of(inst, Role::B, Field::SwzB)?);
    let (format, code) = (format(inst), inst.get(Field::Fcmp));
    Ok(move |state: &State| {
        let (a, b) = (a.bits(state), b.bits(state));
        [0, 1].map(|half| {
            mask_of(&map2(&a[half], &b[half], |a, b| relation(format.widen(a), format.widen(b)) & code != 0))
        })
    })
}

/// `HSETP2`: one predicate per element, or with `.H_AND` one for both and its contrary.
fn set_predicates(inst: &Inst) -> Result<Compute, Unsupported> {
    let (compare, verdict, both) = (comparison(inst)?, Verdict::of(inst), flag(inst, Field::HAnd));
    Ok(Box::new(move |state: &mut State| {
        let [low, high] = compare(state);
        match both {
            true => verdict.write(state, low & high),
            false => verdict.write_both(state, low, high),
        }
    }))
}

/// `HSET2`: all ones, or 1.0 with `.BF`, in each element whose comparison holds.
fn set(inst: &Inst) -> Result<Compute, Unsupported> {
    let (compare, verdict, d) = (comparison(inst)?, Verdict::of(inst), Dst::of(inst, Role::D));
    let truth = if flag(inst, Field::Bf) { format(inst).one() } else { 0xffff };
    Ok(Box::new(move |state: &mut State| {
        let [low, high] = compare(state).map(|result| verdict.combine(state, result));
        let element = |mask: Mask, lane: usize| if mask >> lane & 1 != 0 { truth } else { 0 };
        d.set(state, &std::array::from_fn(|lane| element(low, lane) | element(high, lane) << 16));
    }))
}

/// `HMNMX2`: a NaN gives way to a number, unless `.NAN` lets it win; -0 is below +0.
fn minmax(inst: &Inst) -> Result<Compute, Unsupported> {
    let (a, b) = (Pair::of(inst, Role::A, Field::SwzA)?, Pair::of(inst, Role::B, Field::SwzB)?);
    let (d, pa, format) = (Dst::of(inst, Role::D), PredSrc::of(inst, Role::PA), format(inst));
    let (nan_wins, xor_sign) = (flag(inst, Field::Nan), flag(inst, Field::Xorsign));
    let nan = narrow(f64::NAN, format, Rounding::Nearest);
    let ordinal = |bits: u32| if bits & 0x8000 != 0 { !bits & 0x7fff } else { bits | 0x8000 };
    let pick = move |least: bool, a: u32, b: u32| {
        let chosen = match (format.is_nan(a), format.is_nan(b)) {
            (true, true) => return nan,
            (true, false) | (false, true) if nan_wins => return nan,
            (true, false) => b,
            (false, true) => a,
            _ if (ordinal(a) < ordinal(b)) == least => a,
            _ => b,
        };
        if xor_sign { chosen & 0x7fff | (a ^ b) & 0x8000 } else { chosen }
    };
    Ok(Box::new(move |state: &mut State| {
        let ([a_low, a_high], [b_low, b_high], least) = (a.bits(state), b.bits(state), pa.mask(state));
        let element = |lane: usize| {
            let least = least >> lane & 1 != 0;
            pick(least, a_low[lane], b_low[lane]) | pick(least, a_high[lane], b_high[lane]) << 16
        };
        d.set(state, &std::array::from_fn(element));
    }))
}

/// One half of the source `B`, for instructions that take a single `f16` or `bf16`.
#[derive(Clone, Copy)]
pub(super) struct HalfOperand {
    source: Src,
    at: u32,
    keep: u32,
    flip: u32,
}

impl HalfOperand {
    /// The half that starts at bit `at`.
    pub(super) fn of(inst: &Inst, at: u32) -> Self {
        let source = Src::of(inst, Role::B);
        let keep = if source.absolute() { 0x7fff } else { 0xffff };
        HalfOperand { source, at, keep, flip: if source.negated() { 0x8000 } else { 0 } }
    }

    /// Its 16 bits in each lane.
    pub(super) fn bits(&self, state: &State) -> Lanes {
        self.source.bits(state).map(|v| v >> self.at & self.keep ^ self.flip)
    }
}
