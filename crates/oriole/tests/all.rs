//! All tests of the library from outside, in one program: one is linked sooner than many, and takes less room.

mod attributes;
mod compiler;
mod divisions;
mod notes;
mod simulator;
