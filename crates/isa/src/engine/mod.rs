//! The engine: encoder, decoder, printer and text parser, all walking the tables that `build.rs`
//! makes from `spec/*.isa`.

mod control_word;
mod decode;
mod describe;
mod encode;
mod float_text;
mod offer;
mod parse;
mod print;
mod scan;
mod table;

pub use control_word::{Carries, ControlFault, carries, control_fault};
pub use decode::{DecodeError, decode};
pub(crate) use describe::{all_encodings, encodings};
pub use encode::{EncodeError, Illegal, encode, legal};
pub use parse::{ParseError, parse};
pub use print::Display;
