//! `HGMMA`, `QGMMA`, `IGMMA`, `BGMMA`: products of four warps together.
//!
//! Warp `w` of the four has rows `16 w` to `16 w + 15` of A, C and D, in the fragments of the
//! instructions of one warp, eight columns after eight. B is in shared memory; A is there or in
//! registers. `Desc` is the first of four uniform registers: the descriptor of A, if it has one, and
//! that of B.

use super::descriptor::{Descriptor, Elements};
use super::dot::{Adder, Path};
use super::float::{FloatAccumulators, formats, metadata};
use super::fragment::{COLUMNS, Factors, Lines, ROWS, Registers, registers};
use super::integer::{Integer, WordAccumulators, add, combination, count};
use super::number::Term;
use super::sparse::Metadata;
use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::operand::{Src, operand};
use crate::state::State;
use oriole_isa::{Field, Inst, Opcode, RegFile, Role, Value};

/// Pieces of 16 bytes along K of the rows of A, and of the columns of B where A is not sparse.
const PIECES: usize = 2;

/// The compiled form of `inst`.
pub(super) fn compile(inst: &Inst) -> Result<Effect, Unsupported> {
    match inst.opcode {
        Opcode::IGMMA => integers(inst),
        Opcode::BGMMA => bits(inst),
        _ => floats(inst),
    }
}

/// Where A and B are.
#[derive(Clone, Copy, Debug)]
struct Operands {
    /// A, if it is in registers.
    a: Option<Registers>,
    /// The first of the uniform registers.
    descriptors: usize,
    /// A is transposed, B is.
    transposed: [bool; 2],
    /// A is negated, B is.
    negated: [bool; 2],
    metadata: Option<Metadata>,
    /// Groups of eight columns of B.
    tiles: usize,
}

impl Operands {
    fn of(inst: &Inst, a_bits: usize) -> Result<Self, Unsupported> {
        let Value::Reg(RegFile::UR, descriptors) = operand(inst, Role::Desc).value else {
            return Err(Unsupported("a matrix without descriptor".into()));
        };
        let a = match operand(inst, Role::A).value {
            Value::None => None,
            _ => Some(registers(inst, Role::A)?),
        };
        let transposed = [inst.get(Field::GMMA_TNSP_A), inst.get(Field::GMMA_TNSP_B)];
        if transposed != [false; 2] && a_bits != 16 {
            return Err(Unsupported("transposed matrices of elements that have not 16 bits".into()));
        }
        Ok(Operands {
            a,
            descriptors: usize::from(descriptors),
            transposed,
            negated: [inst.get(Field::GMMA_NEG_A) != Src::of(inst, Role::A).negated(), inst.get(Field::GMMA_NEG_B)],
            metadata: metadata(inst, a_bits)?,
            tiles: usize::from(inst.get(Field::GMMA_N).code()) + 1,
        })
    }

    /// The rows of A that are the warp's.
    fn rows<T: Copy + Default>(
        &self,
        state: &State,
        env: &mut Env<'_>,
        bits: usize,
        element: impl Fn(u32) -> T,
    ) -> Result<Lines<T>, Halt> {
        match self.a {
            Some(registers) => Ok(registers.lines(state, ROWS, bits, element)),
            None => {
                let warp = state.identity.warp as usize % 4;
                let descriptor = Descriptor::new(state.ur_wide(self.descriptors));
                let elements = Elements::dense(bits, self.transposed[0]);
                descriptor.lines(env, env.spaces.rank, (ROWS * warp, ROWS), PIECES, elements, element)
            }
        }
    }

    /// The columns of B.
    fn columns<T: Copy + Default>(
        &self,
        state: &State,
        env: &mut Env<'_>,
        bits: usize,
        element: impl Fn(u32) -> T,
    ) -> Result<Lines<T>, Halt> {
        let descriptor = Descriptor::new(state.ur_wide(self.descriptors + 2));
        let pieces = if self.metadata.is_some() { 2 * PIECES } else { PIECES };
        let elements = Elements::dense(bits, self.transposed[1]);
        descriptor.lines(env, env.spaces.rank, (0, COLUMNS * self.tiles), pieces, elements, element)
    }

    /// The factors of each tile of eight columns, and its number.
    fn factors<T: Copy + Default>(
        &self,
        state: &State,
        a: Lines<T>,
        b: &Lines<T>,
        mut each: impl FnMut(usize, &Factors<T>),
    ) {
        let places = self.metadata.map(|metadata| metadata.places(state, a.line(0).len()));
        let mut factors = Factors { a, b: Lines::new(COLUMNS, b.line(0).len()), places };
        for tile in 0..self.tiles {
            for column in 0..COLUMNS {
                factors.b.line_mut(column).copy_from_slice(b.line(COLUMNS * tile + column));
            }
            each(tile, &factors);
        }
    }
}

fn floats(inst: &Inst) -> Result<Effect, Unsupported> {
    let (a_format, b_format) = formats(inst)?;
    let operands = Operands::of(inst, a_format.bits)?;
    let accumulators = FloatAccumulators::of(inst)?;
    let fraction = a_format.fraction + b_format.fraction;
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let sign = |term: Term, negated: bool| if negated { term.negated() } else { term };
        let [a_negated, b_negated] = operands.negated;
        let a = operands.rows(state, env, a_format.bits, |bits| sign(a_format.term(bits), a_negated))?;
        let b = operands.columns(state, env, b_format.bits, |bits| sign(b_format.term(bits), b_negated))?;
        let adder = Adder::of(state.identity.arch, Path::Warpgroup, a_format, accumulators.halves);
        let mut tiles = Vec::with_capacity(operands.tiles);
        operands.factors(state, a, &b, |tile, factors| {
            let mut values = accumulators.tile(tile).read(state);
            factors.multiply(&mut values, |a, b, _, c| adder.add(a, b, fraction, 0, c));
            tiles.push(values);
        });
        for (tile, values) in tiles.into_iter().enumerate() {
            accumulators.tile(tile).write(state, values, adder);
        }
        Ok(())
    }))
}

fn integers(inst: &Inst) -> Result<Effect, Unsupported> {
    let [a_type, b_type] = [Integer::of(inst, Field::INT_A)?, Integer::of(inst, Field::INT_B)?];
    let saturates = inst.get(Field::SAT);
    let operands = Operands::of(inst, a_type.bits)?;
    let accumulators = WordAccumulators::of(inst)?;
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let a = operands.rows(state, env, a_type.bits, |bits| a_type.value(bits))?;
        let b = operands.columns(state, env, b_type.bits, |bits| b_type.value(bits))?;
        words(state, &operands, accumulators, (a, b), |a, b, c| add(a, b, c, saturates));
        Ok(())
    }))
}

fn bits(inst: &Inst) -> Result<Effect, Unsupported> {
    let operands = Operands::of(inst, 32)?;
    let accumulators = WordAccumulators::of(inst)?;
    let combine = combination(inst);
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let a = operands.rows(state, env, 32, |bits| bits)?;
        let b = operands.columns(state, env, 32, |bits| bits)?;
        words(state, &operands, accumulators, (a, b), |a, b, c| count(a, b, c, combine));
        Ok(())
    }))
}

/// All tiles of an instruction with 32-bit accumulators.
fn words<T: Copy + Default>(
    state: &mut State,
    operands: &Operands,
    accumulators: WordAccumulators,
    (a, b): (Lines<T>, Lines<T>),
    dot: impl Fn(&[T], &[T], u32) -> u32,
) {
    let mut tiles = Vec::with_capacity(operands.tiles);
    operands.factors(state, a, &b, |tile, factors| {
        let mut values = accumulators.tile(tile).read(state);
        factors.multiply(&mut values, |a, b, _, c| dot(a, b, c));
        tiles.push(values);
    });
    for (tile, values) in tiles.iter().enumerate() {
        accumulators.tile(tile).write(state, values);
    }
}
