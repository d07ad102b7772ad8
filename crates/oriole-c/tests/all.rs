//! All tests of the C library from outside, in one program: one is linked sooner than many, and takes less room.

mod common;
mod compiler;
mod examples;
mod simulator;
