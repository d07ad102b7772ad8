//! Differential testing: random well-typed PTX programs, executed by sides that share no code.
//!
//! A campaign is a seed and a number of programs; program `n` of a seed is always the same. Each runs on
//! the PTX interpreter, as our code on the strict simulator and, with ptxas at hand, as ptxas's code on
//! the simulator. What they write must be equal bit for bit. A program on which they differ is cut down
//! and given back as a [`Finding`].

mod buffers;
mod campaign;
mod case;
mod generate;
mod lines;
mod masks;
mod print;
mod program;
mod shrink;
mod sides;
mod templates;
mod whole;

pub use buffers::{Argument, Buffer, Element, Fill};
pub use campaign::{Campaign, Finding, Kinds, every_time, in_turn, without_phases};
pub use case::Case;
pub use sides::{Build, Outcome, Plan, Side, Tools};
