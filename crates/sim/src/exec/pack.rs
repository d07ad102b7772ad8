//! Conversions whose results share a register.

use super::lanewise::int3;
use super::rounding::{BFLOAT, E2M1, E2M3, E3M2, E4M3, E5M2, Format, HALF, Rounding, SINGLE, TENSOR, UE5M3, narrow};
use crate::effect::{Compute, Unsupported};
use oriole_isa::{Clamp, Field, HalfB, HalfC, Ifmt, Inst, Nfmt, Opcode, Pack, PackDst, PackSrc, PartC, RndInt, Scales};

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported> {
    Ok(Some(match opcode {
        Opcode::F2FP => floats(inst)?,
        Opcode::F2IP => floats_to_bytes(inst)?,
        Opcode::I2IP => integers(inst),
        _ => return Ok(None),
    }))
}

/// What the bits of a number mean.
#[derive(Clone, Copy)]
enum Number {
    Float(Format),
    /// `.E8`: a power of two from 2^-127 to 2^127 without a sign; 255 is NaN.
    Power,
    /// `.S2_6`: a signed byte of 64ths.
    Fixed,
}

impl Number {
    fn widen(self, bits: u32) -> f64 {
        match (self, bits) {
            (Number::Float(format), _) => format.widen(bits),
            (Number::Power, 0xff) => f64::NAN,
            (Number::Power, _) => libm::exp2(f64::from(bits as i32 - 127)),
            (Number::Fixed, _) => f64::from(bits as i8) / STEPS,
        }
    }
}

/// Steps of `.S2_6` from 0 to 1.
const STEPS: f64 = 64.0;

/// Which random bits each of the two numbers takes, if their rounding is random.
#[derive(Clone, Copy)]
struct Random {
    /// How many of the highest dropped bits they are added to.
    count: u32,
    /// Those of `A` and `B`, from the third operand.
    bits: fn(u32) -> [u32; 2],
}

impl Random {
    /// Shared by both: the high half of `C`. When a second instruction packs on, with the first one's
    /// result as `C`, it finds the next bits in the same place.
    const HIGH: Random = Random { count: 16, bits: |c| [c >> 16; 2] };
    /// The high bytes of the halves of `C`.
    const BYTES: Random = Random { count: 16, bits: |c| [c >> 16 & 0xff00 | c >> 8 & 0xff; 2] };
    /// A half of `C` for each.
    const HALVES: Random = Random { count: 16, bits: |c| [c >> 16, c & 0xffff] };
    /// The 13 low bits of each half of `C`: as many as an f16 drops of a single.
    const THIRTEEN: Random = Random { count: 13, bits: |c| [c >> 16 & 0x1fff, c & 0x1fff] };
}

/// How `F2FP` converts one number.
#[derive(Clone, Copy)]
struct Conversion {
    from: Number,
    to: Number,
    rounding: Rounding,
    random: Option<Random>,
    relu: bool,
    satfinite: bool,
    /// A result of -0 becomes +0.
    positive_zero: bool,
}

impl Conversion {
    fn of(inst: &Inst) -> Result<Self, Unsupported> {
        let from = match inst.get(Field::PACK_SRC) {
            PackSrc::F16 => Number::Float(HALF),
            PackSrc::BF16 => Number::Float(BFLOAT),
            PackSrc::E4M3 => Number::Float(E4M3),
            PackSrc::E5M2 => Number::Float(E5M2),
            PackSrc::E2M1 => Number::Float(E2M1),
            PackSrc::E2M3 => Number::Float(E2M3),
            PackSrc::E3M2 => Number::Float(E3M2),
            PackSrc::E8 => Number::Power,
            PackSrc::S2_6 => Number::Fixed,
            PackSrc::UE5M3 => Number::Float(UE5M3),
            _ => Number::Float(SINGLE),
        };
        let (to, random) = match inst.get(Field::PACK_DST) {
            PackDst::BF16 => (Number::Float(BFLOAT), Random::HALVES),
            PackDst::TF32 => (Number::Float(TENSOR), Random::HALVES),
            PackDst::E4M3 => (Number::Float(E4M3), Random::HIGH),
            PackDst::E5M2 => (Number::Float(E5M2), Random::HIGH),
            PackDst::E2M1 => (Number::Float(E2M1), Random::BYTES),
            PackDst::E2M3 => (Number::Float(E2M3), Random::HIGH),
            PackDst::E3M2 => (Number::Float(E3M2), Random::HIGH),
            PackDst::E8 => (Number::Power, Random::HIGH),
            PackDst::S2_6 => (Number::Fixed, Random::HIGH),
            PackDst::UE5M3 => (Number::Float(UE5M3), Random::HIGH),
            _ => (Number::Float(HALF), Random::THIRTEEN),
        };
        let [relu, satfinite, positive_zero] = [Field::RELU, Field::SATFINITE, Field::PZO].map(|field| inst.get(field));
        let random = inst.get(Field::RS).then_some(random);
        Ok(Conversion { from, to, rounding: Rounding::of(inst), random, relu, satfinite, positive_zero })
    }

    /// The bits of the number that `bits` are in the source format.
    #[inline]
    fn apply(&self, bits: u32) -> u32 {
        self.rounded(self.from.widen(bits), |value, to| narrow(value, to, self.rounding))
    }

    /// The same of the number divided by the power of two in the highest byte of `c`; subnormal numbers count as zero.
    #[inline]
    fn apply_divided(&self, bits: u32, c: u32) -> u32 {
        let bits = if let Number::Float(from) = self.from { from.flush(bits) } else { bits };
        let quotient = self.from.widen(bits) / Number::Power.widen(c >> 24);
        self.rounded(quotient, |value, to| narrow(value, to, self.rounding))
    }

    /// The same of the number times a scale, or divided by it if the result is the narrow one.
    #[inline]
    fn apply_scaled(&self, bits: u32, scale: u32) -> u32 {
        let (value, scale) = (self.from.widen(bits), Number::Power.widen(scale & 0xff));
        let scaled = if matches!(self.to, Number::Fixed) { value / scale } else { value * scale };
        self.rounded(scaled, |value, to| narrow(value, to, self.rounding))
    }

    /// Both numbers, with the random bits that `c` holds if their rounding is random.
    #[inline]
    fn apply_two(&self, a: u32, b: u32, c: u32) -> [u32; 2] {
        let Some(Random { count, bits }) = self.random else { return [self.apply(a), self.apply(b)] };
        let [random_a, random_b] = bits(c);
        let each =
            |bits, random| self.rounded(self.from.widen(bits), |value, to| narrow_randomly(value, to, random, count));
        [each(a, random_a), each(b, random_b)]
    }

    #[inline]
    fn rounded(&self, value: f64, narrow: impl Fn(f64, Format) -> u32) -> u32 {
        let to = match self.to {
            Number::Float(to) => to,
            Number::Fixed => return fixed(value, self.rounding, self.relu),
            Number::Power => return power(value, self.rounding == Rounding::Up, self.satfinite),
        };
        if self.relu && value <= 0.0 {
            return 0;
        }
        if value.is_nan() && !to.has_nan() {
            return to.greatest();
        }
        let value = if to == UE5M3 { value.abs() } else { value };
        let limit = if self.satfinite { to.widen(to.greatest()) } else { f64::INFINITY };
        let result = narrow(value.clamp(-limit, limit), to);
        if self.positive_zero && result == to.sign() { 0 } else { result }
    }
}

/// Away from zero where the random bits, added to the highest of the dropped ones, carry: above the greatest finite
/// number to infinity, as far from it as the number below.
fn narrow_randomly(value: f64, to: Format, random: u32, count: u32) -> u32 {
    if !value.is_finite() {
        return narrow(value, to, Rounding::Nearest);
    }
    let truncated = narrow(value, to, Rounding::Zero);
    let magnitude = truncated & (to.sign() - 1);
    let (last, below) = (magnitude >= to.greatest(), to.widen(magnitude));
    let step = if last { below - to.widen(magnitude - 1) } else { to.widen(magnitude + 1) - below };
    let dropped = (value.abs() - below) / step;
    let highest = (dropped * f64::from(1u32 << count)) as u32;
    let carry = (u64::from(highest) + u64::from(random)) >> count != 0;
    match last && carry {
        true => narrow(f64::INFINITY.copysign(value), to, Rounding::Nearest),
        false => truncated + u32::from(carry),
    }
}

/// The power of two at or below the magnitude of `value`, or with `up` at or above it.
fn power(value: f64, up: bool, satfinite: bool) -> u32 {
    let magnitude = value.abs();
    let code = match () {
        () if value.is_nan() => return 0xff,
        () if magnitude < libm::exp2(-127.0) => 0,
        () if magnitude.is_infinite() => 0xff,
        () => {
            let bits = magnitude.to_bits();
            let above = up && bits << 12 != 0;
            (bits >> 52) as u32 - (1023 - 127) + u32::from(above)
        }
    };
    if satfinite { code.min(0xfe) } else { code }
}

/// `value` in 64ths, rounded and clamped; of a NaN the greatest number.
fn fixed(value: f64, rounding: Rounding, relu: bool) -> u32 {
    if value.is_nan() {
        return i8::MAX as u32;
    }
    let steps = value * STEPS;
    let steps = if rounding == Rounding::Zero { steps.trunc() } else { steps.round_ties_even() } as i8;
    u32::from(if relu { steps.max(0) } else { steps } as u8)
}

/// Where `F2FP` has the scales of a conversion to bf16 in its third operand: bits to the right of them.
fn place_of_scales(inst: &Inst) -> u32 {
    match inst.get(Field::SCALES) {
        Scales::B1 => 8,
        Scales::H1 | Scales::B2 => 16,
        Scales::B3 => 24,
        _ => 0,
    }
}

/// `F2FP`.
fn floats(inst: &Inst) -> Result<Compute, Unsupported> {
    let each = Conversion::of(inst)?;
    let half = if inst.get(Field::HALF_B) == HalfB::H1 { 16 } else { 0 };
    let width = |number: Number| if matches!(number, Number::Float(E2M1)) { 4 } else { 8 };
    let (packed, unpacked) = (width(each.to), width(each.from));
    let part = if unpacked == 4 { 8 * u32::from(inst.get(Field::PART_B).code()) } else { half };
    if part >= u32::BITS {
        return Err(Unsupported(format!("part {} of F2FP", inst.get(Field::PART_B))));
    }
    let two_of = move |b: u32| [b >> part >> unpacked, b >> part].map(|bits| bits & ((1 << unpacked) - 1));
    Ok(match inst.get(Field::PACK) {
        Pack::PACK_AB => single_sources(inst, move |a, b, c| {
            let [a, b] = each.apply_two(a, b, c);
            a << 16 | b
        }),
        // The 19 bits of a tf32 are the high ones of a single.
        Pack::PACK_B => single_sources(inst, move |_, b, _| each.apply(b) << 13),
        Pack::MERGE_C if each.random.is_none() => single_sources(inst, move |_, b, c| c << 16 | each.apply(b)),
        Pack::PACK_AB_MERGE_C if inst.get(Field::PACK_DST) == PackDst::S2_6 => single_sources(inst, move |a, b, c| {
            c << (2 * packed) | each.apply_scaled(a, c >> 24) << packed | each.apply_scaled(b, c >> 16)
        }),
        Pack::UNPACK_B_MERGE_C if inst.get(Field::PACK_DST) == PackDst::S2_6 => int3(inst, move |_, b, c| {
            let [high, low] = [b >> 16, b & 0xffff];
            c << (2 * packed) | each.apply_scaled(high, c >> 24) << packed | each.apply_scaled(low, c >> 16)
        }),
        Pack::UNPACK_B if inst.get(Field::PACK_DST) == PackDst::BF16 && inst.get(Field::PACK_SRC) != PackSrc::E8 => {
            // A byte scales both numbers, a half has one for each.
            let is_shared = !matches!(inst.get(Field::SCALES), Scales::H0 | Scales::H1);
            let (at, next) = (place_of_scales(inst), if is_shared { 0 } else { 8 });
            int3(inst, move |_, b, c| {
                let [high, low] = two_of(b);
                each.apply_scaled(high, c >> at >> next) << 16 | each.apply_scaled(low, c >> at)
            })
        }
        Pack::PACK_AB_MERGE_C if inst.get(Field::SCALE_BY_C) => single_sources(inst, move |a, b, c| {
            c << (2 * packed) | each.apply_divided(a, c) << packed | each.apply_divided(b, c)
        }),
        Pack::UNPACK_B_MERGE_C if inst.get(Field::SCALE_BY_C) => int3(inst, move |_, b, c| {
            let [high, low] = [b >> 16, b & 0xffff].map(|half| each.apply_divided(half, c));
            c << (2 * packed) | high << packed | low
        }),
        Pack::PACK_AB_MERGE_C => single_sources(inst, move |a, b, c| {
            let [a, b] = each.apply_two(a, b, c);
            c << (2 * packed) | a << packed | b
        }),
        Pack::UNPACK_B => int3(inst, move |_, b, _| {
            let [high, low] = two_of(b);
            each.apply(high) << 16 | each.apply(low)
        }),
        Pack::UNPACK_B_MERGE_C => {
            int3(inst, move |_, b, c| c << (2 * packed) | each.apply(b >> 16) << packed | each.apply(b & 0xffff))
        }
        other => return Err(Unsupported(format!("packing {other} of F2FP"))),
    })
}

/// `D = f(A, B, C)`, where `A` and `B` are singles, which have no signs here.
fn single_sources(inst: &Inst, f: impl Fn(u32, u32, u32) -> u32 + Send + Sync + 'static) -> Compute {
    super::lanewise::single3(inst, f)
}

/// `F2IP`: bytes from `A` and `B` below a half of `C`.
fn floats_to_bytes(inst: &Inst) -> Result<Compute, Unsupported> {
    let round: fn(f32) -> f32 = match inst.get(Field::RND_INT) {
        RndInt::FLOOR => f32::floor,
        RndInt::CEIL => f32::ceil,
        RndInt::TRUNC => f32::trunc,
        _ => f32::round_ties_even,
    };
    let (signed, relu) = (inst.get(Field::DST_INT) == Ifmt::S8, inst.get(Field::RELU));
    if !inst.get(Field::NTZ) {
        return Err(Unsupported("F2IP without .NTZ".into()));
    }
    let at = if inst.get(Field::HALF_C) == HalfC::H1 { 16 } else { 0 };
    let byte = move |bits: u32| {
        let value = round(f32::from_bits(bits));
        let value = if relu && value < 0.0 { 0.0 } else { value };
        // Conversions of the host clamp, and make zero of a NaN.
        u32::from(if signed { value as i8 as u8 } else { value as u8 })
    };
    Ok(single_sources(inst, move |a, b, c| (c >> at) << 16 | byte(a) << 8 | byte(b)))
}

/// `I2IP`: narrow integers from `A` and `B` below the low bits of `C`.
fn integers(inst: &Inst) -> Compute {
    let (width, signed) = match inst.get(Field::DST_NARROW) {
        Nfmt::U8 => (8, false),
        Nfmt::S8 => (8, true),
        Nfmt::U16 => (16, false),
        Nfmt::S16 => (16, true),
        Nfmt::U2 => (2, false),
        Nfmt::S2 => (2, true),
        Nfmt::U4 => (4, false),
        _ => (4, true),
    };
    let (saturate, positive) = match inst.get(Field::CLAMP) {
        Clamp::SAT => (true, false),
        Clamp::SATRELU => (true, true),
        _ => (false, false),
    };
    let greatest = if signed { (1i32 << (width - 1)) - 1 } else { (1i32 << width) - 1 };
    let least = if signed && !positive { -greatest - 1 } else { 0 };
    let field = (1u32 << width) - 1;
    let element = move |v: u32| if saturate { (v as i32).clamp(least, greatest) as u32 & field } else { v & field };
    let at = if inst.get(Field::PART_C) == PartC::H1 { 16 } else { 0 };
    int3(inst, move |a, b, c| (c >> at).unbounded_shl(2 * width) | element(a) << width | element(b))
}
