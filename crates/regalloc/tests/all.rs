//! All tests of the allocator from outside, in one program: one is linked sooner than many, and takes less room.

mod allocation;
mod checker;
mod random;
mod recompute;
mod retest;
