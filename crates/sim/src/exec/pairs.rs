//! Arithmetic on pairs of singles (`FADD2`, `FMUL2`, `FFMA2`), on a half and a single (`FHADD`, `FHFMA`), on pairs of
//! both (`FHADD2`, `FHMUL2`, `FHFMA2`, `HMUL2` with two formats), and products in which zero wins (`.FMZ`).

use super::float::output;
use super::host;
use super::rounding::{BFLOAT, Format, HALF, Rounding, SINGLE, narrow, sum_to_odd};
use crate::effect::{Compute, Unsupported};
use crate::lanes::{Lanes, by_lane, map};
use crate::operand::{Dst, Src};
use crate::state::State;
use oriole_isa::{Fh2, FhFmt, Field, FmulScale, HalfB, HalfFmt, Inst, Lanes2, Opcode, Role, Swizzle, SwzB};

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported> {
    let ways = [(Role::A, Field::LANES_A), (Role::B, Field::LANES_B), (Role::C, Field::LANES_C)];
    Ok(Some(match opcode {
        Opcode::FADD2 => {
            let one = Element::Constant(1f32.to_bits());
            let [a, b] = [Element::pair(inst, ways[0])?, Element::pair(inst, ways[1])?];
            fused(inst, [a, [one; 2], b])
        }
        Opcode::FMUL2 => {
            let [a, b] = [Element::pair(inst, ways[0])?, Element::pair(inst, ways[1])?];
            fused(inst, [a, b, [Element::Nothing; 2]])
        }
        Opcode::FFMA2 => {
            let [a, b, c] =
                [Element::pair(inst, ways[0])?, Element::pair(inst, ways[1])?, Element::pair(inst, ways[2])?];
            fused(inst, [a, b, c])
        }
        Opcode::FHADD2 => {
            let one = Element::Constant(1f32.to_bits());
            let [a, b] = [Element::halves_or_pair(inst)?, Element::pair(inst, ways[1])?];
            fused(inst, [a, [one; 2], b])
        }
        Opcode::FHMUL2 => {
            let [a, b] = [Element::pair(inst, ways[0])?, Element::pair(inst, ways[1])?];
            fused(inst, [a, b, [Element::Nothing; 2]])
        }
        Opcode::FHFMA2 => {
            let [a, b, c] =
                [Element::halves_or_pair(inst)?, Element::pair(inst, ways[1])?, Element::pair(inst, ways[2])?];
            fused(inst, [a, b, c])
        }
        Opcode::HMUL2_MIXED => product_of_halves(inst)?,
        Opcode::FHADD => {
            let one = Element::Constant(1f32.to_bits());
            let a = Element::half(inst, Role::A, Field::HALF_A);
            single(inst, [a, one, Element::single(inst, Role::B)])
        }
        Opcode::FHFMA => {
            let (a, b) = (Element::half(inst, Role::A, Field::HALF_A), Element::half(inst, Role::B, Field::HALF_B));
            single(inst, [a, b, Element::single(inst, Role::C)])
        }
        Opcode::FMUL if inst.get(Field::FMZ) => {
            if inst.get(Field::FMUL_SCALE) != FmulScale::X1 {
                return Err(Unsupported("FMUL.FMZ with a factor".into()));
            }
            let [a, b] = [Role::A, Role::B].map(|role| Element::single(inst, role));
            single(inst, [a, b, Element::Nothing])
        }
        Opcode::FFMA if inst.get(Field::FMZ) => {
            single(inst, [Role::A, Role::B, Role::C].map(|role| Element::single(inst, role)))
        }
        _ => return Ok(None),
    }))
}

/// One element of a source: a single, as it is computed with.
#[derive(Clone, Copy)]
enum Element {
    /// No addend: the product is the result.
    Nothing,
    /// These bits, not flushed.
    Constant(u32),
    /// A single: the source (as the second register of a pair), what its sign bit is masked and inverted with.
    Single { source: Src, high: bool },
    /// A half: its first bit and its format.
    Half { source: Src, at: u32, format: Format },
}

impl Element {
    /// The low and the high element of a source of two.
    fn pair(inst: &Inst, (role, lanes): (Role, Field<Lanes2>)) -> Result<[Element; 2], Unsupported> {
        let source = Src::of(inst, role);
        let single = |high| Element::Single { source, high };
        match inst.get(lanes) {
            // An immediate is both elements.
            Lanes2::F32 => Ok([single(false), single(false)]),
            Lanes2::HI_LO => Ok([single(false), single(true)]),
            Lanes2::LO_HI => Ok([single(true), single(false)]),
            _ => Err(Unsupported(format!("{} with .NP", inst.opcode.name()))),
        }
    }

    /// `A` of an instruction on pairs of two formats.
    fn halves_or_pair(inst: &Inst) -> Result<[Element; 2], Unsupported> {
        let format = match inst.get(Field::FH2) {
            Fh2::F32_F16 => HALF,
            Fh2::F32_BF16 => BFLOAT,
            _ => return Element::pair(inst, (Role::A, Field::LANES_A)),
        };
        Ok([0, 16].map(|at| Element::Half { source: Src::of(inst, Role::A), at, format }))
    }

    fn single(inst: &Inst, role: Role) -> Element {
        Element::Single { source: Src::of(inst, role), high: false }
    }

    fn half(inst: &Inst, role: Role, which: Field<HalfB>) -> Element {
        let format = if inst.get(Field::FH_FMT) == FhFmt::BF16 { BFLOAT } else { HALF };
        let at = if inst.get(which) == HalfB::H1 { 16 } else { 0 };
        Element::Half { source: Src::of(inst, role), at, format }
    }

    /// The value in each lane, with `flush` of subnormal singles.
    fn values(&self, state: &State, flush: bool) -> [f64; 32] {
        let (bits, source, format): (Lanes, &Src, Format) = match self {
            Element::Nothing => return [0.0; 32],
            Element::Constant(bits) => return [f64::from(f32::from_bits(*bits)); 32],
            Element::Single { source, high: false } => (source.bits(state), source, SINGLE),
            Element::Single { source, high: true } => {
                (source.wide_bits(state).map(|v| (v >> 32) as u32), source, SINGLE)
            }
            Element::Half { source, at, format } => (source.bits(state).map(|v| v >> at & 0xffff), source, *format),
        };
        let keep = if source.absolute() { !format.sign() } else { u32::MAX };
        let flip = if source.negated() { format.sign() } else { 0 };
        map(&bits, |v| {
            let v = v & keep ^ flip;
            format.widen(if flush { format.flush(v) } else { v })
        })
    }
}

/// `A * B + C` of one element, rounded once.
struct Fused {
    rounding: Rounding,
    ftz: bool,
    sat: bool,
    zero_wins: bool,
    /// The format of the result.
    to: Format,
}

impl Fused {
    fn of(inst: &Inst) -> Self {
        let zero_wins = inst.get(Field::FMZ);
        let (ftz, sat) = (inst.get(Field::FTZ) || zero_wins, inst.get(Field::SAT));
        let to = match (inst.opcode, inst.get(Field::FH2)) {
            (Opcode::FHADD2 | Opcode::FHMUL2, Fh2::F16_F32) => HALF,
            (Opcode::FHADD2 | Opcode::FHMUL2, Fh2::BF16_F32) => BFLOAT,
            _ => SINGLE,
        };
        Fused { rounding: Rounding::of(inst), ftz, sat, zero_wins, to }
    }

    fn element(&self, state: &State, [a, b, c]: &[Element; 3]) -> Lanes {
        let adds = !matches!(c, Element::Nothing);
        let [a, b, c] = [a, b, c].map(|element| element.values(state, self.ftz));
        std::array::from_fn(|i| self.apply(a[i], b[i], adds.then_some(c[i])))
    }

    fn apply(&self, a: f64, b: f64, c: Option<f64>) -> u32 {
        // The product of two singles is exact in a double.
        let product = if self.zero_wins && (a == 0.0 || b == 0.0) { 0.0 } else { a * b };
        let sum = c.map_or(product, |c| sum_to_odd(product, c, self.rounding));
        let bits = narrow(sum, self.to, self.rounding);
        if self.to != SINGLE {
            return if self.ftz { self.to.flush(bits) } else { bits };
        }
        let sum = f32::from_bits(bits);
        match (self.ftz, self.sat) {
            (false, false) => output::<false, false>(sum),
            (false, true) => output::<false, true>(sum),
            (true, false) => output::<true, false>(sum),
            (true, true) => output::<true, true>(sum),
        }
    }
}

/// Two elements, to a pair of registers.
fn fused(inst: &Inst, sources: [[Element; 2]; 3]) -> Compute {
    let (d, fused) = (Dst::of(inst, Role::D), Fused::of(inst));
    let to = fused.to;
    let [low, high] = [0, 1].map(|half| sources.map(|source| source[half]));
    host::compute(move |state: &mut State| {
        let (low, high) = (fused.element(state, &low), fused.element(state, &high));
        match to {
            SINGLE => d.set_wide(state, &by_lane(|i| u64::from(low[i]) | u64::from(high[i]) << 32)),
            _ => d.set(state, &by_lane(|i| low[i] | high[i] << 16)),
        }
    })
}

/// `HMUL2` of halves of two formats; the result has that of `A`.
fn product_of_halves(inst: &Inst) -> Result<Compute, Unsupported> {
    let named = [(Field::FTZ, "FTZ"), (Field::FMZ, "FMZ"), (Field::SAT, "SAT")];
    if let Some((_, name)) = named.into_iter().find(|(field, _)| inst.get(*field)) {
        return Err(Unsupported(format!("HMUL2 of two formats with .{name}")));
    }
    let (other, to) = if inst.get(Field::HALF_FMT) == HalfFmt::BF16_V2 { (BFLOAT, HALF) } else { (HALF, BFLOAT) };
    let of = |role, format, low, high| {
        [(low, 0), (high, 16)].map(|(is_other, at)| Element::Half {
            source: Src::of(inst, role),
            at: if is_other { 16 - at } else { at },
            format,
        })
    };
    let (a, b) = (inst.get(Field::SWZ_A), inst.get(Field::SWZ_B));
    let a = of(Role::A, to, a == Swizzle::H1_H1, a == Swizzle::H0_H0);
    let b = of(Role::B, other, b == SwzB::H1_H1, b == SwzB::H0_H0);
    let d = Dst::of(inst, Role::D);
    Ok(host::compute(move |state: &mut State| {
        let [low, high] = [0, 1].map(|half| {
            let (a, b) = (a[half].values(state, false), b[half].values(state, false));
            by_lane(|i| narrow(a[i] * b[i], to, Rounding::Nearest))
        });
        d.set(state, &by_lane(|i| low[i] | high[i] << 16));
    }))
}

/// One element, to one register.
fn single(inst: &Inst, sources: [Element; 3]) -> Compute {
    let (d, fused) = (Dst::of(inst, Role::D), Fused::of(inst));
    host::compute(move |state: &mut State| {
        let value = fused.element(state, &sources);
        d.set(state, &value);
    })
}
