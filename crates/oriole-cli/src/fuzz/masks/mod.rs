//! Programs of warp operations whose member masks differ between lanes.
//!
//! Masks come as tiles, as labels (`match.any`), as two parts of a ballot, from memory, as constants, and the operations stand
//! in divergent code, in loops, in functions, under guards, and in both arms of a branch at once.
//!
//! What such a program writes is worked out here, by arithmetic on the host from the PTX manual ("Parallel Synchronization and
//! Communication Instructions"): a side that shares nothing with the interpreter or the simulator.
//!
//! | file | |
//! |---|---|
//! | `tree.rs` | the programs |
//! | `generate.rs` | random ones |
//! | `print.rs`, `exchange.rs` | as PTX |
//! | `evaluate.rs` | what they write |
//! | `reduce.rs` | smaller ones |

mod evaluate;
mod exchange;
mod generate;
mod print;
mod reduce;
mod tree;

pub(super) use generate::tree;
pub(super) use reduce::reduce;
pub(super) use tree::Tree;
