//! Sums of products.
//!
//! Integers are exact. Sums of small floats follow the model of tensor cores that `docs/sim-arithmetic.md`
//! cites (MMA-Sim, arXiv:2511.10909): a row of A is worked off in parts. In each part, exact products and
//! accumulator are cut to a number of bits below the greatest exponent among them, and their exact sum is
//! the accumulator of the next part.

use super::element::{HALF, SINGLE, Value};
use rustc_apfloat::ieee::{Half, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

/// How a target adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// Bits kept below the greatest exponent.
    pub(super) bits: i32,
    /// Products of a part.
    pub(super) part: usize,
    /// Bits of the fraction that a single keeps.
    pub(super) kept: u32,
}

/// Exponent of a zero.
pub(super) const ZERO_EXPONENT: i32 = -126;

/// The NaN that tensor cores give, as a single.
pub(super) const NAN: u32 = 0x7fff_ffff;

/// One term of a sum: an integer times 2^unit, of an exponent that may be more than its leading bit's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    pub(super) integer: i64,
    pub(super) unit: i32,
    pub(super) exponent: i32,
}

/// What a sum has come to.
#[derive(Clone, Copy, Debug, Default)]
struct Extremes {
    nan: bool,
    positive: bool,
    negative: bool,
}

impl Extremes {
    fn note(&mut self, negative: bool) {
        if negative { self.negative = true } else { self.positive = true }
    }

    /// The result, unless it is finite.
    fn result(self) -> Option<Value> {
        match self {
            Extremes { nan: true, .. } | Extremes { positive: true, negative: true, .. } => Some(Value::Nan),
            Extremes { positive: true, .. } => Some(Value::Infinity(false)),
            Extremes { negative: true, .. } => Some(Value::Infinity(true)),
            _ => None,
        }
    }
}

/// Adds the products of `pairs`, whose formats have `fractions` bits, to `start`; gives the bits of the
/// result, single or half.
pub(super) fn float(pairs: &[(Value, Value)], fractions: [i32; 2], start: u32, single: bool, rule: Rule) -> u32 {
    pairs.chunks(rule.part).fold(start, |bits, part| add_part(part, fractions, 0, bits, single, rule))
}

/// The same with products times 2^`scale`, and a single.
pub(super) fn scaled(pairs: &[(Value, Value)], fractions: [i32; 2], scale: i32, start: u32, rule: Rule) -> u32 {
    pairs.chunks(rule.part).fold(start, |bits, part| add_part(part, fractions, scale, bits, true, rule))
}

/// Adds terms to the single `start` at once.
pub(super) fn terms(mut terms: Vec<Term>, start: u32, rule: Rule) -> u32 {
    match SINGLE.value(start.into()) {
        Value::Finite { integer, unit } => {
            let exponent = if integer == 0 { ZERO_EXPONENT } else { unit + SINGLE.fraction as i32 };
            terms.push(Term { integer, unit, exponent });
            add(&terms, true, rule)
        }
        special => special_bits(special, true),
    }
}

fn add_part(pairs: &[(Value, Value)], fractions: [i32; 2], scale: i32, start: u32, single: bool, rule: Rule) -> u32 {
    let mut extremes = Extremes::default();
    let format = if single { SINGLE } else { HALF };
    let mut terms: Vec<Term> = Vec::with_capacity(pairs.len() + 1);
    let exponent = |integer, unit, fraction| if integer == 0 { ZERO_EXPONENT } else { unit + fraction };
    match format.value(start.into()) {
        Value::Nan => extremes.nan = true,
        Value::Infinity(negative) => extremes.note(negative),
        Value::Finite { integer, unit } => {
            terms.push(Term { integer, unit, exponent: exponent(integer, unit, format.fraction as i32) });
        }
    }
    for &pair in pairs {
        match pair {
            (Value::Nan, _) | (_, Value::Nan) => extremes.nan = true,
            (Value::Finite { integer: a, unit: x }, Value::Finite { integer: b, unit: y }) => {
                let exponent = exponent(a, x, fractions[0]) + exponent(b, y, fractions[1]) + scale;
                terms.push(Term { integer: a * b, unit: x + y + scale, exponent });
            }
            (Value::Infinity(_), Value::Finite { integer: 0, .. })
            | (Value::Finite { integer: 0, .. }, Value::Infinity(_)) => extremes.nan = true,
            (a, b) => extremes.note(is_negative(a) != is_negative(b)),
        }
    }
    if let Some(special) = extremes.result() {
        return special_bits(special, single);
    }
    add(&terms, single, rule)
}

fn add(terms: &[Term], single: bool, rule: Rule) -> u32 {
    let unit = terms.iter().map(|term| term.exponent).max().unwrap_or(ZERO_EXPONENT) - rule.bits;
    let sum: i64 = terms.iter().map(|term| at_unit(*term, unit)).sum();
    if single { to_single(sum, unit, rule.kept) } else { to_half(sum, unit) }
}

fn is_negative(value: Value) -> bool {
    match value {
        Value::Nan => false,
        Value::Infinity(negative) => negative,
        Value::Finite { integer, .. } => integer < 0,
    }
}

/// A term as a multiple of 2^unit, cut toward zero.
fn at_unit(term: Term, unit: i32) -> i64 {
    let up = term.unit - unit;
    match up {
        // Below 2^(bits + 2), because the exponent is not above the greatest.
        0.. => term.integer << up.min(62),
        -62.. => term.integer / (1 << -up),
        _ => 0,
    }
}

/// The NaN that tensor cores give, or infinity.
fn special_bits(value: Value, single: bool) -> u32 {
    let (nan, infinity, sign) = if single { (NAN, 0x7f80_0000, 31) } else { (0x7fff, 0x7c00, 15) };
    match value {
        Value::Infinity(negative) => infinity | u32::from(negative) << sign,
        _ => nan,
    }
}

/// Cuts; beyond the range is infinity, and nothing is +0.
fn to_single(sum: i64, unit: i32, kept: u32) -> u32 {
    let exact = Quad::from_i128(sum.into()).value.scalbn(unit);
    let beyond = exact.abs() >= Quad::from_u128(1).value.scalbn(128);
    let cut: Single = exact.convert_r(Round::TowardZero, &mut false).value;
    match () {
        () if sum == 0 => 0,
        () if beyond => special_bits(Value::Infinity(sum < 0), true),
        () => cut.to_bits() as u32 & (u32::MAX << (SINGLE.fraction - kept)),
    }
}

fn to_half(sum: i64, unit: i32) -> u32 {
    let exact = Quad::from_i128(sum.into()).value.scalbn(unit);
    let rounded: Half = exact.convert_r(Round::NearestTiesToEven, &mut false).value;
    if sum == 0 { 0 } else { rounded.to_bits() as u32 }
}

/// The nearest half of a single.
pub(super) fn narrowed(bits: u32) -> u32 {
    match SINGLE.value(bits.into()) {
        Value::Finite { integer, unit } => {
            let exact = Quad::from_i128(integer.into()).value.scalbn(unit);
            let rounded: Half = exact.convert_r(Round::NearestTiesToEven, &mut false).value;
            rounded.to_bits() as u32 | (bits >> 16 & 0x8000)
        }
        special => special_bits(special, false),
    }
}

/// The low 32 bits of an exact sum, or the nearest `s32`.
pub(super) fn integer(sum: i64, saturate: bool) -> u32 {
    if saturate { sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32 } else { sum as u32 }
}
