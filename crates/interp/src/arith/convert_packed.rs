//! `cvt` to and from packed and narrow formats, with `.relu`, `.satfinite` and random rounding, and
//! `cvt.pack`.

use oriole_ptx::ast::{Instruction, Rounding, ScalarType, TypeClass, Word};
use rustc_apfloat::ieee::Quad;
use rustc_apfloat::{Float, Round};
use smallvec::{SmallVec, smallvec};

use super::float::{Finish, direction};
use super::format::{Format, lost_fraction, ue5m3};
use super::function::{Arithmetic, Bits, Results, Unsupported, low, number, saturated, unsupported};

/// The elements of a packed or narrow type.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Packed {
    element: Element,
    /// How many.
    count: u32,
    /// Bits from one to the next.
    stride: u32,
}

/// The format of an element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Element {
    Float(Format),
    /// Powers of two from 2^-127 to 2^127; 255 is NaN.
    Ue8m0,
    /// Signed bytes of 64ths.
    S2f6,
    /// Floats without a sign: 5 bits of exponent, 3 of fraction; 255 is NaN.
    Ue5m3,
}

/// The packed types and what they hold.
fn packed(ty: ScalarType) -> Option<Packed> {
    use ScalarType::*;
    let (format, count, stride) = match ty {
        F32 => (Format::F32, 1, 32),
        F16 => (Format::F16, 1, 16),
        Bf16 => (Format::Bf16, 1, 16),
        Tf32 => (Format::Tf32, 1, 32),
        F16x2 => (Format::F16, 2, 16),
        Bf16x2 => (Format::Bf16, 2, 16),
        E4m3x2 => (Format::E4m3, 2, 8),
        E5m2x2 => (Format::E5m2, 2, 8),
        E2m3x2 => (Format::E2m3, 2, 8),
        E3m2x2 => (Format::E3m2, 2, 8),
        E2m1x2 => (Format::E2m1, 2, 4),
        E4m3x4 => (Format::E4m3, 4, 8),
        E5m2x4 => (Format::E5m2, 4, 8),
        E2m3x4 => (Format::E2m3, 4, 8),
        E3m2x4 => (Format::E3m2, 4, 8),
        E2m1x4 => (Format::E2m1, 4, 4),
        S2f6x2 => return Some(Packed { element: Element::S2f6, count: 2, stride: 8 }),
        Ue5m3x2 => return Some(Packed { element: Element::Ue5m3, count: 2, stride: 8 }),
        Ue8m0x2 => return Some(Packed { element: Element::Ue8m0, count: 2, stride: 8 }),
        _ => return None,
    };
    Some(Packed { element: Element::Float(format), count, stride })
}

/// How one element is rounded.
#[derive(Clone, Copy)]
enum Direction {
    Fixed(Round),
    /// `.rs`: away from zero where adding the random bits to the bits that are lost carries.
    Random,
}

/// A conversion of elements.
#[derive(Clone, Copy)]
struct Conversion {
    from: Packed,
    to: Packed,
    direction: Direction,
    relu: bool,
    satfinite: bool,
    /// `.pzo`: -0 becomes +0.
    positive_zero: bool,
    scales: Scales,
}

/// What powers of two the last operand has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scales {
    None,
    /// `.scaled::n1::ue8m0`: one for all elements.
    Shared,
    /// `.scaled::n2::ue8m0`: one for each element.
    Each,
}

/// The conversions with a packed or narrow type on one side.
pub(super) fn compile(inst: &Instruction, to: ScalarType, from: ScalarType) -> Result<Arithmetic, Unsupported> {
    let (Some(packed_to), Some(packed_from)) = (packed(to), packed(from)) else {
        return unsupported(inst, format_args!("from `{from}` to `{to}`"));
    };
    let random = inst.rounding() == Some(Rounding::Rs);
    let conversion = Conversion {
        from: packed_from,
        to: packed_to,
        direction: if random { Direction::Random } else { Direction::Fixed(direction(inst)?) },
        relu: inst.has(Word::Relu),
        satfinite: inst.has(Word::Satfinite),
        positive_zero: inst.has(Word::Pzo),
        scales: match (inst.has(Word::ScaledN1Ue8m0), inst.has(Word::ScaledN2Ue8m0)) {
            (true, _) => Scales::Shared,
            (_, true) => Scales::Each,
            _ => Scales::None,
        },
    };
    // Scalar sources come first element first, which is the highest of the result.
    let separate = packed_from.count == 1;
    let mut sources: SmallVec<[ScalarType; 4]> =
        if separate { SmallVec::from_elem(from, packed_to.count as usize) } else { smallvec![from] };
    let inputs = sources.len();
    if random {
        sources.push(ScalarType::B32);
    }
    match conversion.scales {
        Scales::None => {}
        Scales::Shared => sources.push(ScalarType::B8),
        Scales::Each => sources.push(ScalarType::B16),
    }
    Ok(Arithmetic {
        sources,
        destinations: smallvec![to],
        run: Box::new(move |given| {
            let input = |n: usize| given.values.get(n).copied().unwrap_or(0);
            let last = input(inputs);
            let result = (0..conversion.to.count).fold(0, |result, lane| {
                let source = match separate {
                    true => input((conversion.to.count - 1 - lane) as usize),
                    false => low(input(0) >> (lane * conversion.from.stride), conversion.from.stride),
                };
                result | conversion.element(source, lane, last) << (lane * conversion.to.stride)
            });
            Results { values: smallvec![low(result, to.bits())], carry: None }
        }),
    })
}

impl Conversion {
    /// One element; `last` has the random bits or the scales.
    fn element(self, source: Bits, lane: u32, last: Bits) -> Bits {
        let scale = match self.scales {
            Scales::None => NO_SCALE,
            Scales::Shared => last,
            Scales::Each => low(last >> (8 * lane), 8),
        };
        match (self.from.element, self.to.element) {
            (Element::Float(from), Element::Float(to)) if self.scales == Scales::Each => {
                self.multiplied(from.decode(source), to, scale)
            }
            (Element::Float(from), Element::Float(to)) if self.scales == Scales::Shared => {
                self.divided(from.decode(from.flushed(source)), to, scale)
            }
            (Element::Ue5m3, Element::Float(to)) => self.multiplied(ue5m3::decode(source), to, scale),
            (Element::Float(from), Element::Ue5m3) => self.unsigned(from, source, scale),
            (Element::Float(from), Element::Float(to)) => self.float(from, to, source, lane, last),
            (Element::S2f6, Element::Float(to)) => self.multiplied(fixed_point(source), to, scale),
            (Element::Float(from), Element::S2f6) => self.fixed(from.decode(source), scale),
            (Element::Float(from), Element::Ue8m0) => self.exponent(from, source),
            (Element::Ue8m0, Element::Float(to)) => power_of_two(to, source),
            _ => source,
        }
    }

    /// A number times its scale.
    fn multiplied(self, value: Quad, to: Format, scale: Bits) -> Bits {
        let product = scaled(value, scale, 1);
        if product.is_nan() {
            return to.nan();
        }
        self.finished(to, to.encode(product, Round::NearestTiesToEven))
    }

    /// To `.s2f6`: the number divided by its scale, in 64ths, rounded and clamped. Of a NaN the greatest
    /// number.
    fn fixed(self, value: Quad, scale: Bits) -> Bits {
        const GREATEST: Bits = 0x7f;
        let quotient = scaled(value, scale, -1);
        if quotient.is_nan() {
            return GREATEST;
        }
        let mut exact = false;
        let steps = quotient.scalbn(FRACTION).to_i128_r(8, self.round(), &mut exact).value;
        low(if self.relu { steps.max(0) } else { steps } as Bits, 8)
    }

    /// A number divided by its scale.
    fn divided(self, value: Quad, to: Format, scale: Bits) -> Bits {
        let quotient = scaled(value, scale, -1);
        if quotient.is_nan() {
            return to.nan();
        }
        self.finished(to, to.encode(quotient, self.round()))
    }

    /// To `.ue5m3`, divided by the scale. The sign is lost. Beyond the greatest number there is that with `.satfinite` and towards
    /// zero, else NaN.
    fn unsigned(self, from: Format, source: Bits, scale: Bits) -> Bits {
        let source = if self.scales == Scales::Shared { from.flushed(source) } else { source };
        let quotient = scaled(from.decode(source).abs(), scale, -1);
        if quotient.is_nan() {
            return ue5m3::NAN;
        }
        let code = ue5m3::encode(quotient, self.round());
        let stays = self.satfinite || quotient.is_finite() && self.round() == Round::TowardZero;
        code.min(if stays { ue5m3::GREATEST } else { ue5m3::NAN })
    }

    /// The direction of rounding; to nearest where it is random.
    fn round(self) -> Round {
        match self.direction {
            Direction::Fixed(round) => round,
            Direction::Random => Round::NearestTiesToEven,
        }
    }

    /// What the modifiers make of a rounded result.
    fn finished(self, to: Format, result: Bits) -> Bits {
        let infinite = to.magnitude(result) > to.largest();
        let result = if self.satfinite && infinite { result & to.sign() | to.largest() } else { result };
        let result = if self.relu { Finish::Relu.apply(to, result) } else { result };
        if self.positive_zero && to.magnitude(result) == 0 { 0 } else { result }
    }

    fn float(self, from: Format, to: Format, source: Bits, lane: u32, random: Bits) -> Bits {
        if from.is_nan(source) {
            return self.nan(to, source);
        }
        let result = match self.direction {
            Direction::Fixed(round) => to.encode(from.decode(source), round),
            Direction::Random => randomly(from, to, source, self.random_bits(lane, random)),
        };
        self.finished(to, result)
    }

    /// The NaN of the result's format. To `.tf32` with `.rna` ptxas's code cuts the bits of the source, and
    /// with `.satfinite` takes one unit away.
    fn nan(self, to: Format, source: Bits) -> Bits {
        const UNIT: Bits = 0x2000;
        match self.direction {
            Direction::Fixed(Round::NearestTiesToAway) if self.satfinite => (source & !(UNIT - 1)) - UNIT,
            Direction::Fixed(Round::NearestTiesToAway) => source & !(UNIT - 1),
            _ => to.nan(),
        }
    }

    /// The random bits of an element: `(bits, how many)`.
    fn random_bits(self, lane: u32, random: Bits) -> (Bits, u32) {
        let half = |n: u32| low(random >> (16 * n), 16);
        match (self.to.count, self.to.stride) {
            (2, _) if self.to.element == Element::Float(Format::F16) => (low(half(lane), 13), 13),
            (2, _) => (half(lane), 16),
            (_, 4) => {
                let byte = |n: u32| low(random >> (8 * (2 * n + lane / 2)), 8);
                (byte(1) << 8 | byte(0), 16)
            }
            _ => (half(lane / 2), 16),
        }
    }

    /// To `.ue8m0`: the exponent, rounded up or down. The sign is lost, and what is too large is the largest
    /// power with `.satfinite` and NaN without.
    fn exponent(self, from: Format, source: Bits) -> Bits {
        const NAN: Bits = 0xff;
        let magnitude = from.magnitude(source);
        if from.is_nan(source) {
            return NAN;
        }
        let up = matches!(self.direction, Direction::Fixed(Round::TowardPositive));
        let magnitude = Format::F32.encode(from.decode(magnitude), Round::NearestTiesToEven);
        let exponent = magnitude >> 23;
        let above = match exponent {
            // A subnormal value lies between 2^-127 and 2^-126 if its highest bit is set, else below.
            0 => magnitude > 1 << 22,
            _ => low(magnitude, 23) != 0,
        };
        let exponent = exponent + Bits::from(up && above);
        if exponent >= NAN { if self.satfinite { 0xfe } else { NAN } } else { exponent }
    }
}

/// The scale 1 in `.ue8m0`.
const NO_SCALE: Bits = 0x7f;

/// Bits of `.s2f6` behind the point.
const FRACTION: i32 = 6;

/// The value of an `.s2f6`.
fn fixed_point(bits: Bits) -> Quad {
    Quad::from_i128(number(bits, 8, true)).value.scalbn(-FRACTION)
}

/// A value times a power of two in `.ue8m0`, or with `sign` -1 divided by it.
fn scaled(value: Quad, scale: Bits, sign: i32) -> Quad {
    const NAN: Bits = 0xff;
    if scale == NAN { Quad::NAN } else { value.scalbn(sign * (scale as i32 - 127)) }
}

/// From `.ue8m0`.
fn power_of_two(to: Format, source: Bits) -> Bits {
    let single = match source {
        0xff => return to.nan(),
        0 => 1 << 22,
        exponent => exponent << 23,
    };
    to.encode(Format::F32.decode(single), Round::NearestTiesToEven)
}

/// Rounds away from zero where the random bits, added to the highest of the lost ones, carry; from the greatest finite
/// number that is to infinity.
fn randomly(from: Format, to: Format, source: Bits, (random, count): (Bits, u32)) -> Bits {
    let exact = from.decode(source);
    let truncated = to.encode(exact, Round::TowardZero);
    let carries = !exact.is_finite() || (lost_fraction(to, exact, truncated, count) + random) >> count != 0;
    match to.magnitude(truncated) >= to.largest() {
        true if carries => to.encode(Quad::INFINITY.copy_sign(exact), Round::NearestTiesToEven),
        _ => truncated + Bits::from(carries),
    }
}

/// `cvt.pack.sat`: `a` above `b`, saturated; narrower results shift `c` up to make room.
pub(super) fn pack_integers(inst: &Instruction, to: ScalarType, from: ScalarType) -> Result<Arithmetic, Unsupported> {
    let (width, signed) = (to.bits(), to.is_signed());
    if !to.is_integer() || width > 16 || from.class() != TypeClass::Signed {
        return unsupported(inst, format_args!("`.pack` from `{from}` to `{to}`"));
    }
    let element = move |value| low(saturated(number(value, 32, true), width, signed) as Bits, width);
    let pair = move |a, b| element(a) << width | element(b);
    let result = ScalarType::B32;
    Ok(match inst.ty(2) {
        Some(rest) => Arithmetic::function(result, [from, from, rest], move |[a, b, c]| c << (2 * width) | pair(a, b)),
        None => Arithmetic::function(result, [from; 2], move |[a, b]| pair(a, b)),
    })
}
