//! Whole programs, as a person or another compiler would write them: registers with many purposes, jumps out of
//! loops, functions of all kinds, exchanges between the threads that are there.

mod control;
mod emit;
mod exchange;
mod frame;
mod function;
mod generate;
mod memory;
mod print;
mod reduce;
mod tree;

pub(super) use generate::tree;
pub(super) use reduce::reduce;
pub(super) use tree::{Judged, Tree};
