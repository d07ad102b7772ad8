//! The PTX interpreter: runs kernels from the syntax tree of `oriole_ptx`, one PTX instruction after
//! the other, and shares nothing with the compiler or the SASS simulator. Where the three agree, they
//! agree for different reasons.
//!
//! [`arith`] holds the instructions whose results are a function of their sources alone.

mod arith;

pub use arith::{Bound, approximation};
