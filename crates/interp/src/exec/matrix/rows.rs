//! `ldmatrix` and `stmatrix`: 8 by 8 matrices of 16-bit elements between rows in memory and registers.

use crate::arith::Unsupported;
use crate::code::{Action, Destination, Source};
use crate::compile::{Builder, Location};
use crate::exec::control::form;
use crate::machine::{Env, Halt};
use crate::space::Data;
use crate::state::{Lane, State, WARP, lanes_of};
use oriole_ptx::ast::{Instruction, ScalarType, Shape, Word};
use smallvec::SmallVec;

/// Rows and columns of a matrix.
const SIZE: usize = 8;
/// Bytes of a row.
const ROW: u32 = 16;

/// Rows of 16-bit elements.
type Matrix = [[u32; SIZE]; SIZE];

/// The number of matrices, if they are of the one shape that is interpreted.
fn count(inst: &Instruction) -> Result<usize, Unsupported> {
    if inst.shape() != Some(Shape { m: 8, n: 8, k: 0 }) || inst.last_type() != Some(ScalarType::B16) {
        return Err(form(inst.opcode.as_str()));
    }
    let counts = [(Word::X1, 1), (Word::X2, 2), (Word::X4, 4)];
    let found = counts.iter().find(|(word, _)| inst.has(*word));
    found.map(|&(_, count)| count).ok_or_else(|| form(inst.opcode.as_str()))
}

/// The rows and columns of the two elements that a lane's register holds, the low one first.
fn pair(lane: usize, transposed: bool) -> [(usize, usize); 2] {
    let (row, column) = (lane / 4, 2 * (lane % 4));
    if transposed { [(column, row), (column + 1, row)] } else { [(row, column), (row, column + 1)] }
}

/// `ldmatrix`: lane 8 i + r gives the address of row r of matrix i.
pub(super) fn load(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, from] = &inst.operands[..] else { return Err(form("ldmatrix")) };
    let (count, transposed) = (count(inst)?, inst.has(Word::Trans));
    let location: Location = builder.location(from, inst.space())?;
    let to: SmallVec<[Destination; 4]> = builder.destinations(to, ScalarType::B32)?;
    if to.len() != count {
        return Err(form("ldmatrix"));
    }
    Ok(Action::Warp(Box::new(move |state: &mut State, env: &mut Env<'_>, mask: u32| -> Result<(), Halt> {
        let mut matrices = [Matrix::default(); 4];
        for lane in lanes_of(mask).filter(|lane| lane / SIZE < count) {
            let thread = Lane { lane, state, env };
            let data = thread.load(location.place(&thread), ROW).map_err(|kind| Halt { lane, kind })?;
            matrices[lane / SIZE][lane % SIZE] = std::array::from_fn(|column| data.element(column, 2) as u32);
        }
        // No address changes before all rows are read.
        for (matrix, to) in matrices.iter().zip(&to) {
            for lane in lanes_of(mask) {
                let [low, high] = pair(lane, transposed).map(|(row, column)| matrix[row][column]);
                state.set(to, lane, (low | high << 16).into());
            }
        }
        Ok(())
    })))
}

/// `stmatrix`: the way back.
pub(super) fn store(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, from] = &inst.operands[..] else { return Err(form("stmatrix")) };
    let (count, transposed) = (count(inst)?, inst.has(Word::Trans));
    let location: Location = builder.location(to, inst.space())?;
    let from: SmallVec<[Source; 4]> = builder.sources(from, ScalarType::B32)?;
    if from.len() != count {
        return Err(form("stmatrix"));
    }
    Ok(Action::Warp(Box::new(move |state: &mut State, env: &mut Env<'_>, mask: u32| -> Result<(), Halt> {
        let mut matrices = [Matrix::default(); 4];
        for (matrix, from) in matrices.iter_mut().zip(&from) {
            for lane in 0..WARP {
                let both = state.get(from, lane) as u32;
                for ((row, column), element) in pair(lane, transposed).into_iter().zip([both & 0xffff, both >> 16]) {
                    matrix[row][column] = element;
                }
            }
        }
        for lane in lanes_of(mask).filter(|lane| lane / SIZE < count) {
            let mut data = Data::default();
            for (column, &element) in matrices[lane / SIZE][lane % SIZE].iter().enumerate() {
                data.set(column, 2, element.into());
            }
            let mut thread = Lane { lane, state, env };
            let place = location.place(&thread);
            thread.store(place, ROW, data).map_err(|kind| Halt { lane, kind })?;
        }
        Ok(())
    })))
}
