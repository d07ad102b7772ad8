//! The engine: encoder, decoder, printer and text parser, all walking the tables that `build.rs`
//! makes from `spec/*.isa`.

mod capability;
mod control_word;
mod decode;
mod describe;
mod encode;
mod fit;
mod float_text;

mod lexeme;
mod operand_cache;
mod parse;
mod print;
mod scan;
mod table;
mod unscheduled;

pub use capability::number_widths;
pub use control_word::{Carries, ControlFault};
pub use decode::{DecodeError, decode};
pub(crate) use describe::{all_encodings, encodings};
pub use encode::{control_fault, encode, legal};
pub use fit::Illegal;
pub(crate) use operand_cache::{Cached, cached};
pub use parse::{ParseError, parse};
pub use print::Display;
pub use unscheduled::{EncodeError, Encoder, Unscheduled};
