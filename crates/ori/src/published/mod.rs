//! The published encodings, for printing only: what the public documents about ptxas say of its operand words, register
//! fields, predicates, register types and classes, pair modes, memory spaces and opcode table.
//!
//! Nothing of the compiler depends on it, the IR least of all: dumps and `oriole isa published` print from here. Each
//! table names its source, a document of docs/sources.md, and the tests compare cell by cell.

pub mod memory_spaces;
pub mod opcodes;
pub mod operand_kinds;
pub mod operand_words;
pub mod pair_modes;
pub mod predicates;
pub mod register_fields;
pub mod register_types;

/// All tables as text.
pub fn page() -> String {
    let sections = [
        operand_words::section(),
        operand_kinds::section(),
        register_types::section(),
        pair_modes::section(),
        register_fields::section(),
        predicates::section(),
        memory_spaces::section(),
        opcodes::section(),
    ];
    sections.join("\n")
}

/// A heading and its lines.
fn titled(title: &str, lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().fold(format!("{title}\n"), |text, line| text + "  " + line.trim_end() + "\n")
}
