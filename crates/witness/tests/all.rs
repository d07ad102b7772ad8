//! All tests of the crate, in one program.

mod coverage;
mod object_forms;
mod regenerate;
mod tables;
mod waiting;
