//! Arithmetic on pairs of `f16` or `bf16`.
//!
//! Both elements are computed in `f64`, exactly or rounded to odd, and rounded once.

use super::float::refuse;
use super::host;
use super::lanewise::{Verdict, mask_of, relates};
use super::rounding::{self, BFLOAT, Format, HALF, Rounding, SINGLE, sum_to_odd};
use super::sixteen::{Bf16, F16, Sixteen, narrow};
use crate::effect::{Compute, Unsupported};
use crate::lanes::{Lanes, Mask, WARP, by_lane, map2};
use crate::operand::{Dst, PredSrc, Src};
use crate::state::State;
use oriole_isa::{Field, HalfFmt, Inst, Opcode, Role, Swizzle, SwzB};
use smallvec::SmallVec;

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported> {
    refuse(inst, &[Field::FMZ, Field::IS_A])?;
    Ok(Some(match opcode {
        Opcode::HADD2 => arithmetic(inst, &[Role::A, Role::B], |[a, b]| sum_to_odd(a, b, Rounding::Nearest))?,
        Opcode::HMUL2 => arithmetic(inst, &[Role::A, Role::B], |[a, b]| a * b)?,
        Opcode::HFMA2 => {
            arithmetic(inst, &[Role::A, Role::B, Role::C], |[a, b, c]| sum_to_odd(a * b, c, Rounding::Nearest))?
        }
        Opcode::HSETP2 => set_predicates(inst)?,
        Opcode::HSET2 => set(inst)?,
        Opcode::HMNMX2 | Opcode::VHMNMX => minmax(inst)?,
        _ => return Ok(None),
    }))
}

/// The format of the elements.
fn format(inst: &Inst) -> Format {
    if inst.get(Field::HALF_FMT) == HalfFmt::BF16_V2 { BFLOAT } else { HALF }
}

/// Which halves a source takes. The fields of A and C lack one value of B's and number the others alike.
fn halves(inst: &Inst, role: Role) -> SwzB {
    let as_of_b = |halves: Swizzle| SwzB::from_code(halves.code());
    match role {
        Role::A => as_of_b(inst.get(Field::SWZ_A)),
        Role::C => as_of_b(inst.get(Field::SWZ_C)),
        _ => inst.get(Field::SWZ_B),
    }
}

/// A source of two elements.
#[derive(Clone, Copy)]
struct Pair {
    source: Src,
    /// Distance of the low and of the high element from bit 0.
    low: u32,
    high: u32,
    keep: u32,
    /// What is inverted in the low and in the high element.
    flip: [u32; 2],
    flush: Option<Format>,
}

impl Pair {
    fn of(inst: &Inst, role: Role) -> Result<Self, Unsupported> {
        let source = Src::of(inst, role);
        // Immediates hold both elements; a form has no place for their halves.
        let halves = halves(inst, role);
        let crossed = halves == SwzB::H0_NH1;
        let (low, high) = match halves {
            _ if source.is_immediate() => (0, 16),
            SwzB::H0_H0 => (0, 0),
            SwzB::H1_H1 => (16, 16),
            // A single is read by `singles`.
            SwzB::F32 => (0, 0),
            _ if crossed => (16, 0),
            _ => (0, 16),
        };
        let keep = if source.absolute() { 0x7fff } else { 0xffff };
        let negated = source.negated();
        let crossed = crossed && !source.is_immediate();
        let flip = [negated != crossed, negated].map(|negate| if negate { 0x8000 } else { 0 });
        let flush = inst.get(Field::FTZ).then(|| format(inst));
        Ok(Pair { source, low, high, keep, flip, flush })
    }

    /// Place and inversion of the low and of the high element.
    fn elements(&self) -> [(u32, u32); 2] {
        [(self.low, self.flip[0]), (self.high, self.flip[1])]
    }

    /// The sign bits of the low and of the high elements, whatever `|x|` makes of them.
    fn signs(&self, state: &State) -> [Lanes; 2] {
        let bits = self.source.bits(state);
        self.elements().map(|(at, flip)| bits.map(|v| (v >> at ^ flip) & 0x8000))
    }

    /// The bits of the low and of the high elements.
    fn bits(&self, state: &State) -> [Lanes; 2] {
        let bits = self.source.bits(state);
        self.elements().map(|(at, flip)| {
            bits.map(|v| {
                let element = v >> at & self.keep ^ flip;
                self.flush.map_or(element, |format| format.flush(element))
            })
        })
    }
}

/// What becomes of a result: the clamps.
#[derive(Clone, Copy)]
struct Finish {
    sat: bool,
    relu: bool,
}

impl Finish {
    fn of(inst: &Inst) -> Self {
        Finish { sat: inst.get(Field::SAT), relu: inst.get(Field::RELU) }
    }

    /// `value` clamped; `relu` tells whether the lane takes part in that clamp.
    #[inline(always)]
    fn apply(&self, value: f64, relu: bool) -> f64 {
        let at_most_one = if value > 1.0 { 1.0 } else { value };
        let value = if self.sat { at_most_one } else { value };
        // `.SAT` makes +0 of a NaN and of -0, `.RELU` of -0 only.
        let cleared = value <= 0.0 && (self.sat || self.relu && relu) || value.is_nan() && self.sat;
        if cleared { 0.0 } else { value }
    }
}

/// `HADD2`, `HMUL2`, `HFMA2`: `f` gives the result exactly or rounded to odd.
fn arithmetic<const N: usize>(
    inst: &Inst,
    operands: &[Role; N],
    f: impl Fn([f64; N]) -> f64 + Send + Sync + 'static,
) -> Result<Compute, Unsupported> {
    let has_single = operands.iter().any(|&role| is_single(inst, role));
    match inst.get(Field::HALF_FMT) {
        _ if has_single || inst.get(Field::OOB) => arithmetic_one_by_one(inst, operands, f),
        HalfFmt::BF16_V2 => arithmetic_in::<Bf16, N>(inst, operands, f),
        _ => arithmetic_in::<F16, N>(inst, operands, f),
    }
}

/// [`arithmetic`] in one format.
fn arithmetic_in<T: Sixteen, const N: usize>(
    inst: &Inst,
    operands: &[Role; N],
    f: impl Fn([f64; N]) -> f64 + Send + Sync + 'static,
) -> Result<Compute, Unsupported> {
    let mut pairs = Vec::with_capacity(N);
    for &role in operands {
        pairs.push(Pair::of(inst, role)?);
    }
    let (d, finish, relu) = (Dst::of(inst, Role::D), Finish::of(inst), PredSrc::of(inst, Role::PA));
    let (single, ftz) = (inst.get(Field::HALF_F32), inst.get(Field::FTZ));
    Ok(host::compute(move |state: &mut State| {
        let relu = relu.mask(state);
        let mut sources = [[[0; WARP]; 2]; N];
        for (source, pair) in sources.iter_mut().zip(&pairs) {
            *source = pair.bits(state);
        }
        let exact = |half: usize| -> [f64; WARP] {
            std::array::from_fn(|lane| {
                let values = std::array::from_fn(|n| f64::from(T::widen(sources[n][half][lane])));
                finish.apply(f(values), relu >> lane & 1 != 0)
            })
        };
        if single {
            return d.set(
                state,
                &exact(0).map(|value| flushed(rounding::narrow(value, SINGLE, Rounding::Nearest), SINGLE, ftz)),
            );
        }
        let [low, high] =
            [exact(0), exact(1)].map(|values| values.map(|value| flushed(narrow::<T>(value), T::FORMAT, ftz)));
        d.set(state, &map2(&low, &high, |low, high| low | high << 16));
    }))
}

/// The operand is a single among halves.
fn is_single(inst: &Inst, role: Role) -> bool {
    halves(inst, role) == SwzB::F32 && !Src::of(inst, role).is_immediate()
}

/// The element that stands for one outside of a tensor, of either sign. NVIDIA does not publish its bits;
/// others have measured that tensor copies fill in this one.
const OUT_OF_BOUNDS: u32 = 0x7ff7;

/// [`arithmetic`] with operands that are singles, or with `.OOB`: an element whose operand is
/// [`OUT_OF_BOUNDS`] becomes zero.
fn arithmetic_one_by_one<const N: usize>(
    inst: &Inst,
    operands: &[Role; N],
    f: impl Fn([f64; N]) -> f64 + Send + Sync + 'static,
) -> Result<Compute, Unsupported> {
    if inst.get(Field::HALF_F32) {
        return Err(Unsupported(format!("{} from a single to a single", inst.opcode.name())));
    }
    let (format, oob, ftz) = (format(inst), inst.get(Field::OOB), inst.get(Field::FTZ));
    let mut pairs = Vec::with_capacity(N);
    for &role in operands {
        pairs.push((Pair::of(inst, role)?, is_single(inst, role)));
    }
    let (d, finish, relu) = (Dst::of(inst, Role::D), Finish::of(inst), PredSrc::of(inst, Role::PA));
    // For `cvt.rz.f16.f32` of sm_75 ptxas adds zero to a single here, for `cvt.rn` it does not.
    let rounding = if pairs.iter().any(|(_, single)| *single) { Rounding::Zero } else { Rounding::Nearest };
    Ok(host::compute(move |state: &mut State| {
        let relu = relu.mask(state);
        let mut values = [[[0.0; WARP]; 2]; N];
        let mut outside: [Mask; 2] = [0; 2];
        for ((pair, single), values) in pairs.iter().zip(&mut values) {
            if *single {
                *values = [pair.source.f32_bits(state).map(|v| SINGLE.widen(flushed(v, SINGLE, ftz))); 2];
                continue;
            }
            for (half, bits) in pair.bits(state).into_iter().enumerate() {
                outside[half] |= mask_of(&bits.map(|v| oob && v & 0x7fff == OUT_OF_BOUNDS));
                values[half] = bits.map(|v| format.widen(v));
            }
        }
        let element = |lane: usize, half: usize| {
            let value = f(std::array::from_fn(|n| values[n][half][lane]));
            let value = finish.apply(value, relu >> lane & 1 != 0);
            match outside[half] >> lane & 1 {
                0 => flushed(rounding::narrow(value, format, rounding), format, ftz),
                _ => 0,
            }
        };
        d.set(state, &by_lane(|lane| element(lane, 0) | element(lane, 1) << 16));
    }))
}

/// `bits`, without subnormal numbers with `.FTZ`.
#[inline(always)]
fn flushed(bits: u32, format: Format, ftz: bool) -> u32 {
    if ftz { format.flush(bits) } else { bits }
}

/// The lanes where each element's comparison holds.
fn comparison(inst: &Inst) -> Result<impl Fn(&State) -> [Mask; 2] + use<>, Unsupported> {
    let (a, b) = (Pair::of(inst, Role::A)?, Pair::of(inst, Role::B)?);
    let (format, code) = (format(inst), inst.get(Field::FCMP).code());
    Ok(move |state: &State| {
        let (a, b) = (a.bits(state), b.bits(state));
        [0, 1].map(|half| mask_of(&map2(&a[half], &b[half], |a, b| relates(code, format.widen(a), format.widen(b)))))
    })
}

/// `HSETP2`: one predicate per element, or with `.H_AND` one for both and its contrary.
fn set_predicates(inst: &Inst) -> Result<Compute, Unsupported> {
    let (compare, verdict, both) = (comparison(inst)?, Verdict::of(inst), inst.get(Field::H_AND));
    Ok(host::compute(move |state: &mut State| {
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
    let truth = if inst.get(Field::BF) { format(inst).one() } else { 0xffff };
    Ok(host::compute(move |state: &mut State| {
        let [low, high] = compare(state).map(|result| verdict.combine(state, result));
        let element = |mask: Mask, lane: usize| if mask >> lane & 1 != 0 { truth } else { 0 };
        d.set(state, &by_lane(|lane| element(low, lane) | element(high, lane) << 16));
    }))
}

/// `HMNMX2`, `VHMNMX`: of two or three; a NaN gives way to a number, unless `.NAN` lets it win; -0 is below +0.
fn minmax(inst: &Inst) -> Result<Compute, Unsupported> {
    let places = [Role::A, Role::B, Role::C];
    let count = if inst.opcode == Opcode::VHMNMX { 3 } else { 2 };
    let sources: SmallVec<[Pair; 3]> =
        places[..count].iter().map(|&role| Pair::of(inst, role)).collect::<Result<_, _>>()?;
    let (d, pa, format) = (Dst::of(inst, Role::D), PredSrc::of(inst, Role::PA), format(inst));
    let (nan_wins, xor_sign) = (inst.get(Field::NAN), inst.get(Field::XORSIGN));
    let nan = rounding::NAN16;
    let ordinal = |bits: u32| if bits & 0x8000 != 0 { !bits & 0x7fff } else { bits | 0x8000 };
    let pick = move |least: bool, a: u32, b: u32| match (format.is_nan(a), format.is_nan(b)) {
        (true, true) => nan,
        (true, false) | (false, true) if nan_wins => nan,
        (true, false) => b,
        (false, true) => a,
        _ if (ordinal(a) < ordinal(b)) == least => a,
        _ => b,
    };
    // The signs that count for `.XORSIGN` are those before `|x|`; a NaN keeps its own.
    let signed = move |chosen: u32, sign: u32| match xor_sign && !format.is_nan(chosen) {
        true => chosen & 0x7fff | sign,
        false => chosen,
    };
    Ok(host::compute(move |state: &mut State| {
        let least = pa.mask(state);
        let halves = [0, 1].map(|half| {
            let first = (sources[0].bits(state)[half], sources[0].signs(state)[half]);
            let (values, signs) = sources[1..].iter().fold(first, |(values, signs), source| {
                let (next, sign) = (source.bits(state)[half], source.signs(state)[half]);
                let value = |lane: usize| pick(least >> lane & 1 != 0, values[lane], next[lane]);
                (by_lane(value), map2(&signs, &sign, |a, b| a ^ b))
            });
            map2(&values, &signs, signed)
        });
        d.set(state, &map2(&halves[0], &halves[1], |low, high| low | high << 16));
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
