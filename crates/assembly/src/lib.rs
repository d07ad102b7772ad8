//! A cubin as text from which the same cubin is made again: `oriole disasm --all` and `oriole asm`.
//!
//! The text has every byte of the file: code as instructions with labels and scheduling control,
//! strings, symbols and relocations as directives, the rest as hexadecimal. It can be patched by hand.
//! Where instructions are added or taken away, the file is laid out anew and what points into the code
//! (branches, symbols, relocations, records of `.nv.info`, program headers) follows. `docs/assembly.md`
//! describes the format.
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod bytes;
mod code;
mod elf;
mod functions;
mod layout;
mod listing;
mod moved;
mod reader;

pub use code::{control_text, parse_control};
pub use functions::{ListedFunction, ListedInstruction, ListingError, list_functions, read_functions};
pub use reader::AssemblyError;

use oriole_cubin::CubinError;

/// The text of a cubin. Damage that its tables show is an error.
pub fn disassemble(bytes: &[u8]) -> Result<String, CubinError> {
    let file = elf::File::parse(bytes)?;
    Ok(listing::text(&file))
}

/// The cubin of a text that [`disassemble`] made, patched or not.
pub fn assemble(text: &str) -> Result<Vec<u8>, AssemblyError> {
    let (mut file, moves) = reader::read(text)?;
    moved::follow(&mut file, &moves);
    Ok(layout::bytes(file))
}
