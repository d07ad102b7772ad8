//! Matrices that a warp holds in its registers, one module for each subject:
//!
//! | module | subject |
//! |---|---|
//! | `element` | the types of elements as exact values |
//! | `fragment` | which lane and register holds which element |
//! | `product` | what a product of matrices is, exactly or rounded |
//! | `emulated` | the products that ptxas makes of other instructions |
//! | `mma` | `mma.sync`, dense and sparse |
//! | `scaled` | `mma` with `.block_scale` |
//! | `rows` | `ldmatrix`, `stmatrix` |
//! | `transpose` | `movmatrix` |
//! | `wmma` | `wmma.load`, `.store`, `.mma` |

mod element;
mod emulated;
mod fragment;
mod mma;
mod product;
mod rows;
mod scaled;
mod transpose;
mod wmma;

use crate::arith::Unsupported;
use crate::builder::Builder;
use crate::code::Action;
use oriole_ptx::ast::{Instruction, Opcode};

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    match inst.opcode {
        Opcode::Movmatrix => transpose::movmatrix(inst, builder),
        Opcode::Ldmatrix => rows::load(inst, builder).map(Some),
        Opcode::Stmatrix => rows::store(inst, builder).map(Some),
        Opcode::Mma => mma::compile(inst, builder).map(Some),
        Opcode::Wmma => wmma::compile(inst, builder).map(Some),
        _ => Ok(None),
    }
}
