//! All tests of the crate, in one program.

mod coverage;
mod regenerate;
mod tables;
mod waiting;
