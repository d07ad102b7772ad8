//! Matrices that a warp holds in its registers: `movmatrix`.

use crate::arith::Unsupported;
use crate::builder::{Builder, form};
use crate::code::Action;
use crate::env::{Env, Halt};
use crate::lanes::{WARP, lanes_of};
use crate::state::State;
use oriole_ptx::ast::{Instruction, Opcode, ScalarType};

/// Rows and columns of the matrix, whose elements have 16 bits.
const SIZE: usize = 8;

pub(super) fn movmatrix(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    let (Opcode::Movmatrix, [to, from]) = (inst.opcode, &inst.operands[..]) else { return Ok(None) };
    if inst.last_type() != Some(ScalarType::B16) {
        return Err(form("movmatrix"));
    }
    let (to, from) = (builder.destination(to, ScalarType::B32)?, builder.source(from, ScalarType::B32)?);
    Ok(Some(Action::Warp(Box::new(move |state: &mut State, _: &mut Env<'_>, mask: u32| -> Result<(), Halt> {
        // Lane 4 r + c holds columns 2c and 2c + 1 of row r.
        let mut matrix = [[0u32; SIZE]; SIZE];
        for lane in 0..WARP {
            let pair = state.get(&from, lane) as u32;
            let (row, column) = (lane / 4, 2 * (lane % 4));
            matrix[row][column] = pair & 0xffff;
            matrix[row][column + 1] = pair >> 16;
        }
        for lane in lanes_of(mask) {
            let (row, column) = (lane / 4, 2 * (lane % 4));
            let pair = matrix[column][row] | matrix[column + 1][row] << 16;
            state.set(&to, lane, pair.into());
        }
        Ok(())
    }))))
}
