//! All tests of the crate, in one program.

mod coverage;
mod early;
mod object_forms;
mod regenerate;
mod tables;
mod waiting;
