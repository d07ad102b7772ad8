//! Opcodes: the first word of an instruction.

use super::vocabulary::{IS_VIDEO, OPCODE_INDEX, Opcode};

impl Opcode {
    /// The opcode spelled `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Opcode> {
        let opcode = Opcode::ALL[OPCODE_INDEX.place(name)];
        (opcode.as_str() == name).then_some(opcode)
    }

    /// A video instruction, whose operands may be bytes and half-words of registers (`%r1.b0`).
    #[must_use]
    pub fn is_video(self) -> bool {
        IS_VIDEO[self as usize]
    }
}
