//! All tests of the PTX interpreter from outside, in one program: one is linked sooner than many, and takes less room.

mod common;
mod kernels;
mod matrix;
mod narrow;
mod robust;
mod threads;
