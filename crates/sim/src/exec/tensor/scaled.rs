//! `QMMA.SF`, `OMMA`: products of narrow floats, with a scale for each block of a row of A and of a column
//! of B.

use super::dot::{Adder, Path, Sum, cut};
use super::float::{FloatAccumulators, formats, metadata};
use super::fragment::{COLUMNS, Factors, ROWS, Registers, check_depth, registers};
use super::number::{E2M1, E4M3, Number, SPECIAL, Term};
use super::sparse::Metadata;
use crate::effect::{Compute, Unsupported};
use crate::exec::host;
use crate::operand::Src;
use crate::state::State;
use oriole_isa::{Field, Inst, Opcode, Role, ScaleSize, ScaleType};

/// Products whose sum `OMMA` scales.
const GROUP: usize = 16;
/// Fraction bits that `OMMA` keeps beside the greatest exponent.
const KEPT: u32 = 35;

/// The compiled form of `inst`.
pub(super) fn compile(inst: &Inst) -> Result<Compute, Unsupported> {
    let [a, b] = [registers(inst, Role::A)?, registers(inst, Role::B)?];
    let accumulators = FloatAccumulators::of(inst)?;
    let scales = Scales::of(inst)?;
    if inst.opcode == Opcode::OMMA {
        let metadata = metadata(inst, E2M1.bits)?;
        check_depth(a.length(ROWS, E2M1.bits), b.length(COLUMNS, E2M1.bits), metadata.is_some())?;
        return Ok(packed(a, b, metadata, accumulators, scales));
    }
    let (a_format, b_format) = formats(inst)?;
    let metadata = metadata(inst, a_format.bits)?;
    check_depth(a.length(ROWS, a_format.bits), b.length(COLUMNS, b_format.bits), metadata.is_some())?;
    Ok(host::compute(move |state: &mut State| {
        let factors = factors(state, a, b, metadata, [a_format, b_format].map(|format| (format.bits, format)));
        let adder = Adder::of(state.identity.arch, Path::Warp, a_format, false);
        let fraction = a_format.fraction + b_format.fraction;
        let mut tile = accumulators.read(state);
        let ids = scales.ids.scalar(state);
        factors.multiply(&mut tile, |a, b, (row, column), c| match scales.product(state, ids, row, column, 0) {
            Some(scale) => adder.add(a, b, fraction, scale.exponent, c),
            None => adder.special(f64::NAN),
        });
        accumulators.write(state, tile, adder);
    }))
}

/// A and B as terms.
fn factors(
    state: &State,
    a: Registers,
    b: Registers,
    metadata: Option<Metadata>,
    formats: [(usize, Number); 2],
) -> Factors<Term> {
    let [(a_bits, a_format), (b_bits, b_format)] = formats;
    let a = a.lines(state, ROWS, a_bits, |bits| a_format.term(bits));
    let places = metadata.map(|metadata| metadata.places(state, a.line(0).len()));
    Factors { a, b: b.lines(state, COLUMNS, b_bits, |bits| b_format.term(bits)), places }
}

/// `OMMA`: sums of sixteen products are exact, then scaled, then added as the products of others are.
fn packed(
    a: Registers,
    b: Registers,
    metadata: Option<Metadata>,
    accumulators: FloatAccumulators,
    scales: Scales,
) -> Compute {
    host::compute(move |state: &mut State| {
        let factors = factors(state, a, b, metadata, [(E2M1.bits, E2M1); 2]);
        let mut tile = accumulators.read(state);
        let ids = scales.ids.scalar(state);
        factors.multiply(&mut tile, |a, b, (row, column), accumulator| {
            let scale = |n: usize| scales.product(state, ids, row, column, n * scales.blocks / (64 / GROUP));
            scaled_sum(a, b, scales.fractional, accumulator, scale)
        });
        accumulators.write(state, tile, PACKED);
    })
}

/// How `OMMA` adds.
const PACKED: Adder = Adder { kept: KEPT, step: GROUP, sum: Sum::Single };

/// The accumulator after adding the products of `e2m1` elements, of which each sixteen have a product of scales, `fractional` ones or
/// powers of two.
pub(super) fn scaled_sum(
    a: &[Term],
    b: &[Term],
    fractional: bool,
    accumulator: u32,
    scale: impl Fn(usize) -> Option<Term>,
) -> u32 {
    let fraction = 2 * E2M1.fraction + if fractional { 2 * E4M3.fraction } else { 0 };
    let (c, c_fraction) = PACKED.accumulator(accumulator);
    let mut groups = [(0i64, c.exponent); 8];
    for (n, (a, b)) in a.chunks(GROUP).zip(b.chunks(GROUP)).enumerate() {
        let Some(scale) = scale(n) else { return PACKED.special(f64::NAN) };
        let sum: i64 = a.iter().zip(b).map(|(a, b)| fixed(*a) * fixed(*b)).sum();
        groups[n % 8] = (sum * i64::from(scale.significand), scale.exponent);
    }
    // Behind the scales: one that is a NaN counts also where C is infinite.
    if c.exponent == SPECIAL {
        return PACKED.special(c.kind());
    }
    let top = groups.iter().map(|group| group.1).fold(c.exponent, i32::max);
    let shift = |fraction: u32, exponent: i32| KEPT as i32 - fraction as i32 - (top - exponent);
    let scaled = groups.iter().map(|&(sum, exponent)| cut(sum, shift(fraction, exponent)));
    let c = cut(i64::from(c.significand), shift(c_fraction, c.exponent));
    PACKED.finish(c + scaled.sum::<i64>(), top)
}

/// A scale factor with these bits.
pub(super) fn scale_of(bits: u32, fractional: bool) -> Term {
    match (fractional, bits) {
        (true, _) => E4M3.term(bits & 0x7f),
        (false, 0xff) => Term { significand: 0, exponent: SPECIAL },
        (false, _) => Term { significand: 1, exponent: bits as i32 - 127 },
    }
}

/// The product of two scale factors; `None` if it is a NaN.
pub(super) fn scales_product([a, b]: [Term; 2]) -> Option<Term> {
    let special = a.exponent == SPECIAL || b.exponent == SPECIAL;
    (!special).then(|| Term { significand: a.significand * b.significand, exponent: a.exponent + b.exponent })
}

/// An `e2m1` number in units of its last bit.
fn fixed(term: Term) -> i64 {
    i64::from(term.significand) << term.exponent.max(0)
}

/// The scales of one instruction.
#[derive(Clone, Copy, Debug)]
struct Scales {
    a: usize,
    b: usize,
    /// Which threads and bytes hold them.
    ids: Src,
    /// Scales per row.
    blocks: usize,
    /// They are `ue4m3`, not powers of two.
    fractional: bool,
}

impl Scales {
    fn of(inst: &Inst) -> Result<Self, Unsupported> {
        let a = registers(inst, Role::ScaleA)?;
        let packed = inst.opcode == Opcode::OMMA;
        Ok(Scales {
            // The last register: a sparse A has its metadata before.
            a: a.first + a.count.saturating_sub(1),
            b: registers(inst, Role::ScaleB)?.first,
            ids: Src::of(inst, Role::ScaleIds),
            blocks: match (packed, inst.get(Field::SCALE_SIZE)) {
                (false, _) => 1,
                (true, ScaleSize::X2) => 2,
                (true, _) => 4,
            },
            fractional: packed && inst.get(Field::SCALE_TYPE) == ScaleType::UE4M3,
        })
    }

    /// The product of the scales of one block of a row of A and a column of B; `None` if it is a NaN.
    ///
    /// `ids` has the byte of A's scales in bits 0 and 1 and the pair of threads in bit 2, the byte of B's
    /// in bits 3 and 4 and the thread in bits 5 and 6.
    fn product(self, state: &State, ids: u32, row: usize, column: usize, block: usize) -> Option<Term> {
        let id = |from: u32, bits: u32| (ids >> from & ((1 << bits) - 1)) as usize;
        let byte = |register: usize, lane: usize, first: usize| {
            state.lane(register, lane) >> (8 * ((first + block) % 4)) & 0xff
        };
        let a = byte(self.a, 4 * (row % 8) + 2 * id(2, 1) + row / 8, id(0, 2));
        let b = byte(self.b, 4 * column + id(5, 2), id(3, 2));
        scales_product([a, b].map(|bits| scale_of(bits, self.fractional)))
    }
}
