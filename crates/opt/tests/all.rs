//! All tests of the optimiser from outside, in one program: one is linked sooner than many, and takes less room.

mod knobs;
mod numbers;
mod rewrites;
mod slots;
