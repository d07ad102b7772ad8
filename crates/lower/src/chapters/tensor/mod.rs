//! Matrices spread over the registers of a warp: `ldmatrix`, `stmatrix`, `movmatrix`, `mma`, `mma.sp`,
//! `wmma`, `wgmma`, `setmaxnreg`.
//!
//! | module | subject |
//! |---|---|
//! | `fragment` | registers side by side |
//! | `product` | what a matrix product is, and which ones the target has as one instruction |
//! | `expand` | products that the target lacks, made of those it has |
//! | `sparse` | sparse products of 8-bit floats as products of halves |
//! | `quads` | the 8x8x4 product of sm_70 |
//! | `mma` | `mma.sync` and `mma.sp` |
//! | `wmma` | `wmma.load`, `wmma.store`, `wmma.mma` |
//! | `tile` | how the elements of a `wmma` matrix are spread over the warp |
//! | `warpgroup` | `wgmma` |
//! | `scaled` | `mma` with scales for blocks of A and B |
//! | `tcgen05` | tensor memory and its products |
//! | `moves` | matrices between shared memory and registers, transposition |

mod expand;
pub(super) mod fragment;
mod mma;
mod moves;
mod product;
mod quads;
mod scaled;
mod sparse;
mod tcgen05;
mod tile;
mod warpgroup;
mod wmma;

pub(super) use wmma::narrowed;

use super::Chapter;
use oriole_ptx::ast::Opcode;

/// The opcodes of this chapter.
pub(super) const CHAPTER: Chapter = &[
    (Opcode::Ldmatrix, moves::load),
    (Opcode::Stmatrix, moves::store),
    (Opcode::Movmatrix, moves::transpose),
    (Opcode::Mma, mma::lower),
    (Opcode::Wmma, wmma::lower),
    (Opcode::Wgmma, warpgroup::lower),
    (Opcode::Setmaxnreg, warpgroup::change_registers),
    (Opcode::Tcgen05, tcgen05::lower),
];
