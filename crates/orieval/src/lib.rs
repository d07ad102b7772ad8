//! Plain evaluation of Ori functions, and random functions to evaluate.
//!
//! The judge of what is done to Ori: a phase, an allocation or an order of instructions must leave the memory that the
//! function left before. Written from the meanings in `crates/isa/spec`; it shares no code with what it judges, nor with
//! the simulator. One thread; integers, predicates, comparisons of floats, memory of all spaces.

mod arithmetic;
mod build;
mod memory;
mod random;
mod registers;
mod seed;
mod shapes;
mod thread;

pub use build::{Head, PARAMETERS, Source, bank, blank, head};
pub use memory::{Memory, SHARED_WINDOW, Space};
pub use random::{EDGES, crowded_function, random_function, short_function, twin_function};
pub use seed::{from_environment, how_many};
pub use shapes::{Shape, shapes};
pub use thread::{run, run_from};
