//! LLVM/NVVM IR to PTX: the front half of Oriole.
//!
//! | room | what it does |
//! |---|---|
//! | [`ir`] | the IR: types, constants, instructions, functions, modules, metadata |
//! | [`text`] | reads and prints LLVM assembly (`.ll`) |
//! | [`bitcode`] | reads LLVM bitcode (`.bc`) |
//! | [`link`] | puts modules together: libdevice's functions where they are used |
//! | [`analysis`] | dominators, loops and what else passes ask of a function |
//! | [`opt`] | the SSA clean-up on the IR |
//! | [`machine`] | PTX instructions on virtual registers of nine classes, and the passes on them |
//! | [`select`] | IR to machine instructions: legalisation, addressing, intrinsics, calls |
//! | [`runtime`] | what LLVM IR has and PTX has not, as functions of a small library |
//! | [`emit`] | machine instructions to a PTX module |
//! | [`driver`] | the stages in order |
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

pub mod analysis;
pub mod bitcode;
mod control;
pub mod driver;
pub mod emit;
pub mod ir;
pub mod link;
pub mod machine;
pub mod opt;
pub mod runtime;
pub mod select;
pub mod text;
mod wide;
