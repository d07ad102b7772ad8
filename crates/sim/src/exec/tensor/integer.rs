//! `IMMA`, `BMMA`: D = A B + C of integers and of bits.

use super::float::metadata;
use super::fragment::{Accumulators, COLUMNS, Factors, ROWS, Tile, check_depth, registers};
use crate::effect::{Compute, Unsupported};
use crate::exec::host;
use crate::operand::PredSrc;
use crate::state::State;
use oriole_isa::{BmmaOp, Field, Inst, MmaInt, Opcode, Role};

/// The compiled form of an `IMMA`.
pub(super) fn compile(inst: &Inst) -> Result<Compute, Unsupported> {
    let [a_type, b_type] = [Integer::of(inst, Field::INT_A)?, Integer::of(inst, Field::INT_B)?];
    let [a, b] = [registers(inst, Role::A)?, registers(inst, Role::B)?];
    let accumulators = WordAccumulators::of(inst)?;
    let metadata = metadata(inst, a_type.bits)?;
    let saturates = inst.get(Field::SAT);
    let rows = accumulators.rows();
    check_depth(a.length(rows, a_type.bits), b.length(COLUMNS, b_type.bits), metadata.is_some())?;
    Ok(host::compute(move |state: &mut State| {
        let a = a.lines(state, rows, a_type.bits, |bits| a_type.value(bits));
        let places = metadata.map(|metadata| metadata.places(state, a.line(0).len()));
        let factors = Factors { a, b: b.lines(state, COLUMNS, b_type.bits, |bits| b_type.value(bits)), places };
        let mut tile = accumulators.read(state);
        factors.multiply(&mut tile, |a, b, _, c| add(a, b, c, saturates));
        accumulators.write(state, &tile);
    }))
}

/// The compiled form of a `BMMA`: words of bits are multiplied by counting.
pub(super) fn compile_bits(inst: &Inst) -> Result<Compute, Unsupported> {
    let [a, b] = [registers(inst, Role::A)?, registers(inst, Role::B)?];
    let accumulators = WordAccumulators::of(inst)?;
    let combine = combination(inst);
    let rows = accumulators.rows();
    check_depth(a.length(rows, 32), b.length(COLUMNS, 32), false)?;
    Ok(host::compute(move |state: &mut State| {
        let word = |bits: u32| bits;
        let factors = Factors { a: a.lines(state, rows, 32, word), b: b.lines(state, COLUMNS, 32, word), places: None };
        let mut tile = accumulators.read(state);
        factors.multiply(&mut tile, |a, b, _, c| count(a, b, c, combine));
        accumulators.write(state, &tile);
    }))
}

/// How the words of A and B are combined before their ones are counted.
pub(super) fn combination(inst: &Inst) -> fn(u32, u32) -> u32 {
    match inst.opcode == Opcode::BMMA && inst.get(Field::BMMA_OP) == BmmaOp::XOR {
        true => |a, b| a ^ b,
        false => |a, b| a & b,
    }
}

/// The accumulator `c` plus the ones in the combinations.
pub(super) fn count(a: &[u32], b: &[u32], c: u32, combine: fn(u32, u32) -> u32) -> u32 {
    a.iter().zip(b).fold(c, |sum, (&a, &b)| sum.wrapping_add(combine(a, b).count_ones()))
}

/// The accumulator `c` plus the products; the exact sum is saturated, or its low 32 bits count.
pub(super) fn add(a: &[i32], b: &[i32], c: u32, saturates: bool) -> u32 {
    let products = a.iter().zip(b).map(|(&a, &b)| i64::from(a * b));
    let sum = i64::from(c as i32) + products.sum::<i64>();
    match saturates {
        true => sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32,
        false => sum as u32,
    }
}

/// An integer type of 4 or 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Integer {
    /// Its bits.
    pub(super) bits: usize,
    signed: bool,
}

impl Integer {
    /// The type that `field` names.
    pub(super) fn of(inst: &Inst, field: Field<MmaInt>) -> Result<Self, Unsupported> {
        let (bits, signed) = match inst.get(field) {
            MmaInt::U8 => (8, false),
            MmaInt::S8 => (8, true),
            MmaInt::U4 => (4, false),
            MmaInt::S4 => (4, true),
            other => return Err(Unsupported(format!("matrix elements of integer type {other}"))),
        };
        Ok(Integer { bits, signed })
    }

    /// Bytes.
    pub(super) fn byte(signed: bool) -> Self {
        Integer { bits: 8, signed }
    }

    /// The number with these bits.
    pub(super) fn value(self, bits: u32) -> i32 {
        let unused = 32 - self.bits as u32;
        if self.signed { (bits << unused) as i32 >> unused } else { bits as i32 }
    }
}

/// C and D of an instruction on integers.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordAccumulators {
    to: Accumulators,
    from: Accumulators,
    counts: PredSrc,
    registers: usize,
}

impl WordAccumulators {
    /// The operands `D`, `C` and `PA` of `inst`.
    pub(super) fn of(inst: &Inst) -> Result<Self, Unsupported> {
        let to = registers(inst, Role::D)?;
        Ok(WordAccumulators {
            to: Accumulators::new(to, false),
            from: Accumulators::new(registers(inst, Role::C)?, false),
            counts: PredSrc::of(inst, Role::PA),
            registers: to.count,
        })
    }

    /// Rows of A: two registers of accumulators hold eight.
    fn rows(self) -> usize {
        if self.registers == 2 { 8 } else { ROWS }
    }

    /// Those of eight columns.
    pub(super) fn tile(self, tile: usize) -> Self {
        WordAccumulators { to: self.to.tile(tile), from: self.from.tile(tile), ..self }
    }

    /// C.
    pub(super) fn read(self, state: &State) -> Tile {
        if self.counts.mask(state) == 0 { [[0; COLUMNS]; ROWS] } else { self.from.read(state) }
    }

    /// Writes D.
    pub(super) fn write(self, state: &mut State, tile: &Tile) {
        self.to.write(state, tile);
    }
}
