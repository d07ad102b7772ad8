//! Matrix instructions.
//!
//! Every instruction works on small matrices that are spread over the registers of a warp
//! ([`fragment`]) or lie in shared memory ([`descriptor`]). It takes them apart, multiplies them with
//! the arithmetic of its family, and puts the result back:
//!
//! | file | instructions |
//! |---|---|
//! | [`float`] | `HMMA`, `QMMA` |
//! | [`scaled`] | `QMMA.SF`, `OMMA`: narrow floats with a scale per block |
//! | [`quad_pair`] | `HMMA.884` of Volta and Turing |
//! | [`integer`] | `IMMA`, `BMMA` |
//! | [`double`] | `DMMA` |
//! | [`warpgroup`] | `HGMMA`, `QGMMA`, `IGMMA`, `BGMMA` |
//! | [`matrix_move`] | `LDSM`, `STSM`, `MOVM` |
//! | [`tcgen05`] | `UTCHMMA` and its like, `LDTM`, `STTM` |
//!
//! [`number`] takes elements apart, [`dot`] adds their products as the tensor cores of each generation
//! do, [`sparse`] finds the columns of a sparse A.
//!
//! `WARPGROUP.ARRIVE` and `WARPGROUP.DEPBAR` do nothing: the asynchronous instructions of a warpgroup
//! are done when they issue, each warp computing its own sixteen rows.

mod descriptor;
mod dot;
mod double;
mod float;
mod fragment;
mod integer;
mod matrix_move;
mod number;
mod quad_pair;
mod scaled;
mod sparse;
mod tcgen05;
#[cfg(test)]
mod tests;
mod warpgroup;

use crate::effect::{Compute, Effect, Found};
use oriole_isa::{Inst, Opcode};

/// The computation of `inst` if it is a matrix instruction on registers alone.
pub(super) fn compute(inst: &Inst, opcode: Opcode) -> Found<Compute> {
    Ok(Some(match opcode {
        Opcode::HMMA | Opcode::QMMA => float::compile(inst)?,
        Opcode::QMMA_SF | Opcode::OMMA => scaled::compile(inst)?,
        Opcode::HMMA_884 => quad_pair::compile(inst)?,
        Opcode::IMMA => integer::compile(inst)?,
        Opcode::BMMA => integer::compile_bits(inst)?,
        Opcode::DMMA => double::compile(inst)?,
        Opcode::MOVM => matrix_move::compile_move(inst)?,
        Opcode::WARPGROUP => Box::new(|_| {}),
        _ => return Ok(None),
    }))
}

/// The effect of `inst` if it is a matrix instruction that goes to shared memory.
pub(super) fn effect(inst: &Inst) -> Found<Effect> {
    Ok(Some(match inst.opcode {
        Opcode::LDSM => matrix_move::compile_load(inst)?,
        Opcode::STSM => matrix_move::compile_store(inst)?,
        Opcode::HGMMA | Opcode::QGMMA | Opcode::IGMMA | Opcode::BGMMA => warpgroup::compile(inst)?,
        _ => return tcgen05::compile(inst),
    }))
}
