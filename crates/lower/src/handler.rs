//! What a chapter is to the table of opcodes: handlers by opcode, and the error of a form that has none.

use crate::error::{LowerError, Lowered, unsupported};
use crate::function::FnLower;
use oriole_ptx::ast::{Instruction, Opcode};

/// Lowers one instruction.
pub(crate) type Handler = fn(&mut FnLower<'_, '_>, &Instruction) -> Lowered;

/// The opcodes of one chapter.
pub(crate) type Chapter = &'static [(Opcode, Handler)];

/// The error of a form that a chapter does not lower: names the opcode with its modifiers.
pub(crate) fn unknown(cx: &FnLower<'_, '_>, instruction: &Instruction) -> LowerError {
    unsupported(instruction.opcode_span, format!("the instruction '{}'", spelled(cx, instruction)))
}

/// The opcode with its modifiers, as written.
fn spelled(cx: &FnLower<'_, '_>, instruction: &Instruction) -> String {
    let mut text = instruction.opcode.as_str().to_owned();
    for modifier in &instruction.modifiers {
        // Writing to a String cannot fail.
        let _ = modifier.write(&cx.ast.symbols, &mut text);
    }
    text
}
