//! All tests of PTX from outside, in one program: one is linked sooner than many, and takes less room.

mod changes;
mod corpus;
mod errors;
mod former;
mod lexical;
mod newer;
mod operand_types;
mod robust;
mod round_trip;
mod scopes;
mod source_sections;
mod spec;
mod statements;
mod syntax;
mod tile;
mod verdicts;
mod versions;
#[path = "wrong/main.rs"]
mod wrong;
