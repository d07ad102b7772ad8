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

pub(crate) mod expand;
pub(crate) mod fragment;
pub(crate) mod mma;
pub(crate) mod moves;
pub(crate) mod product;
pub(crate) mod quads;
pub(crate) mod scaled;
pub(crate) mod sparse;
pub(crate) mod tcgen05;
pub(crate) mod tile;
pub(crate) mod warpgroup;
pub(crate) mod wmma;

use crate::handler::Chapter;

use oriole_ptx::ast::Opcode;

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[
    (Opcode::Ldmatrix, moves::load),
    (Opcode::Stmatrix, moves::store),
    (Opcode::Movmatrix, moves::transpose),
    (Opcode::Mma, mma::lower),
    (Opcode::Wmma, wmma::lower),
    (Opcode::Wgmma, warpgroup::lower),
    (Opcode::Setmaxnreg, warpgroup::change_registers),
    (Opcode::Tcgen05, tcgen05::lower),
];
