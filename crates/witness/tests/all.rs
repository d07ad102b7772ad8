//! All tests of the crate, in one program.

mod coverage;
mod engineless;
mod regenerate;
mod tables;
mod waiting;
