//! All tests of the crate, in one program.

mod coverage;
mod engineless;
mod object_forms;
mod regenerate;
mod tables;
mod waiting;
