//! `mma` with `.block_scale`: a scale for each block of a row of A and of a column of B. The lanes that hold the scales
//! are those of the PTX manual's "Block scaling for mma"; sums are added by the model of docs/sim-arithmetic.md.

use super::element::{Format, Value};
use super::product::{self, Rule, Term};
use crate::arith::Unsupported;
use crate::builder::{Builder, form};
use crate::lanes::WARP;
use crate::operand::Source;
use crate::state::State;
use oriole_ptx::ast::{Instruction, Operand, ScalarType, Word};
use smallvec::SmallVec;

/// Elements of 4 bits beside each other whose products are added exactly before they are scaled.
const GROUP: usize = 16;

/// The operands of the scales: of A, then of B.
pub(super) struct Scales {
    registers: [Source; 2],
    /// First byte of the register, and thread of the group.
    selectors: [SmallVec<[Source; 4]>; 2],
    ty: ScalarType,
    /// Scales of a row.
    blocks: usize,
}

/// Where a lane says that the scales are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Selectors {
    bytes: [usize; 2],
    threads: [usize; 2],
}

/// The scales as they were before the instruction.
pub(super) struct Read {
    words: [[u32; WARP]; 2],
    ty: ScalarType,
    blocks: usize,
}

impl Scales {
    /// Those of `operands`: scales of A, `{byte, thread}`, scales of B, `{byte, thread}`.
    pub(super) fn of(
        inst: &Instruction,
        operands: &[Operand],
        ty: ScalarType,
        builder: &mut Builder<'_, '_>,
    ) -> Result<Scales, Unsupported> {
        let [a, select_a, b, select_b] = operands else { return Err(form("mma.sp with block scales")) };
        let mut sources = |operand, ty| builder.sources(operand, ty);
        let selectors = [sources(select_a, ScalarType::B16)?, sources(select_b, ScalarType::B16)?];
        if selectors.iter().any(|pair| pair.len() != 2) {
            return Err(form("mma"));
        }
        let registers = [builder.source(a.single(), ScalarType::B32)?, builder.source(b.single(), ScalarType::B32)?];
        let blocks = match () {
            () if inst.has(Word::ScaleVec4X) => 4,
            () if inst.has(Word::ScaleVec2X) || inst.has(Word::KindMxf4) => 2,
            () => 1,
        };
        Ok(Scales { registers, selectors, ty, blocks })
    }

    /// The scales that all lanes have.
    pub(super) fn read(&self, state: &State) -> Read {
        let word = |source| std::array::from_fn(|lane| state.get(source, lane) as u32);
        Read { words: [word(&self.registers[0]), word(&self.registers[1])], ty: self.ty, blocks: self.blocks }
    }

    /// What a lane's selectors mean. Bits that the number of blocks leaves no choice for do not count.
    pub(super) fn selectors(&self, state: &State, lane: usize) -> Selectors {
        let get = |of: usize, which: usize| state.get(&self.selectors[of][which], lane) as usize;
        let choices = 4 / self.blocks;
        let byte = |of| get(of, 0) % 4 / self.blocks % choices * self.blocks;
        Selectors { bytes: [byte(0), byte(1)], threads: [get(0, 1) % 2, get(1, 1) % 4] }
    }
}

impl Read {
    /// The scale of A's row times that of B's column in a block; `None` if one is a NaN.
    fn product(&self, at: Selectors, row: usize, column: usize, block: usize) -> Option<Term> {
        let lanes = [4 * (row % 8) + 2 * at.threads[0] + row / 8, 4 * column + at.threads[1]];
        let [a, b] = [0, 1].map(|of| self.value(self.words[of][lanes[of]] >> (8 * (at.bytes[of] + block)) & 0xff));
        let (a, b) = (a?, b?);
        Some(Term { integer: a.integer * b.integer, unit: a.unit + b.unit, exponent: a.exponent + b.exponent })
    }

    fn value(&self, bits: u32) -> Option<Term> {
        if self.ty != ScalarType::Ue4m3 {
            let exponent = bits as i32 - 127;
            return (bits != 0xff).then_some(Term { integer: 1, unit: exponent, exponent });
        }
        let format = Format::of(ScalarType::E4m3, 8)?;
        match format.value((bits & 0x7f).into()) {
            Value::Finite { integer: 0, unit } => Some(Term { integer: 0, unit, exponent: product::ZERO_EXPONENT }),
            Value::Finite { integer, unit } => Some(Term { integer, unit, exponent: unit + format.fraction as i32 }),
            _ => None,
        }
    }

    /// The products of row and column, scaled, and `c`, as bits of a single. Elements of 4 bits are `packed`.
    pub(super) fn sum(
        &self,
        at: Selectors,
        (row, column): (usize, usize),
        pairs: &[(Value, Value)],
        fractions: [i32; 2],
        (c, packed, rule): (u32, bool, Rule),
    ) -> u32 {
        if !packed {
            return match self.product(at, row, column, 0) {
                Some(scale) => product::scaled(pairs, fractions, scale.unit, c, rule),
                None => product::NAN,
            };
        }
        let groups = pairs.chunks(GROUP).enumerate().map(|(number, group)| {
            let scale = self.product(at, row, column, number * GROUP * self.blocks / pairs.len().max(1))?;
            let exact = group.iter().map(|pair| exact_product(*pair)).sum::<i64>();
            Some(Term { integer: exact * scale.integer, unit: scale.unit - 2, exponent: scale.exponent })
        });
        match groups.collect::<Option<Vec<Term>>>() {
            Some(groups) => product::terms(groups, c, rule),
            None => product::NAN,
        }
    }
}

/// The product of two values of `e2m1`, which are multiples of a half, as a multiple of 2^-2.
fn exact_product(pair: (Value, Value)) -> i64 {
    let halves = |value| match value {
        Value::Finite { integer, unit } => integer << (unit + 1).max(0),
        Value::Nan | Value::Infinity(_) => 0,
    };
    halves(pair.0) * halves(pair.1)
}
