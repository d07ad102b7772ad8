//! The third witness: tables of PTX instructions whose results were computed outside of this project.
//!
//! Interpreter and simulator come from the same hands and can share a belief. The tables under `tests/witness` are made by
//! the scripts of `tools/witness`, which are written from the PTX manual. This crate reads them ([`Table`]), makes PTX
//! of them ([`Kernel`]), has an engine run it ([`Engine`]) and says what is not as the table has it. It decides nothing about
//! what is right.

mod engine;
mod field;
mod kernel;
mod modules;
mod object;
mod parse;
mod table;
mod value;

pub use engine::{Engine, Outputs, cubin, header, newest_version, run, version_for};
pub use field::{Field, Type};
pub use kernel::{Check, Kernel, Operands, Recorded};
pub use modules::{Job, Module, modules, runs};
pub use object::{Buffer, Object, Place};
pub use table::{Case, Except, Form, Needs, Program, Rows, Table, VERSION, read, tables};
pub use value::Value;
