//! CUDA fatbinaries: the same device code for several targets, alone in a file or in the executables, shared libraries, objects and
//! archives that people hold in their hands.
//!
//! [`Container::read`] reads any of these files, [`select()`] picks an image as a driver does, [`write()`] makes a fatbinary, and
//! [`replace`] puts one in the place of another in any of these files. The form is described in `docs/fatbin.md`.
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod compression;
mod container;
mod entry;
mod error;
mod extent;
mod module;
mod names;
mod replace;
mod select;
mod write;

pub use compression::{Compression, MOST_BYTES};
pub use container::{Container, Form};
pub use entry::{Entry, Flags, Kind};
pub use error::{FatbinError, Reason};
pub use module::{Linkage, Module};
pub use names::Image;
pub use replace::{NoRoom, replace};
pub use select::{compiled_for, runs, select};
pub use write::{NewImage, write};
