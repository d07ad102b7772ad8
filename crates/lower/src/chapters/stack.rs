//! Local memory that grows at run time: `alloca`, `stacksave`, `stackrestore`.
//!
//! They move R1, and so make the frame dynamic: its places are addressed from a copy of R1's first value
//! ([`oriole_ori::Frame::base`]), which a call's callee may overwrite and which calls therefore keep on the stack.

use crate::error::{Lowered, invalid};
use crate::function::operands::word;
use crate::function::{FnLower, destinations, frame, operands, ops, sources};
use crate::handler::{Chapter, unknown};
use oriole_isa::Role::{A, B, Base, D, Data, Offset};
use oriole_isa::{Opcode as Sass, RegFile};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Instruction, Opcode};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter =
    &[(Opcode::Alloca, alloca), (Opcode::Stacksave, save), (Opcode::Stackrestore, restore)];

/// Alignment in bytes that the stack pointer always has, and `alloca` gives without being told.
const ALIGNMENT: u32 = 8;

/// Whether the instruction moves the stack pointer.
pub(crate) fn moves_stack(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Alloca | Opcode::Stackrestore)
}

fn stack_pointer() -> Operand {
    Operand::phys(RegFile::R, 1)
}

/// `alloca.type d, size{, alignment};`
fn alloca(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let size = operands::operand(instruction, 1)?;
    let alignment = match instruction.operands.get(2) {
        None => ALIGNMENT,
        Some(operand) => {
            let bytes = operand.imm().and_then(|imm| imm.int_bits()).and_then(|bits| u32::try_from(bits).ok());
            let bytes = bytes.filter(|bytes| bytes.is_power_of_two());
            bytes.ok_or_else(|| invalid(operand.span(), "an alignment is a power of two"))?.max(ALIGNMENT)
        }
    };
    let constant = size.imm().and_then(|imm| imm.int_bits()).map(|bits| bits as u32);
    let less = match constant {
        Some(bytes) => word(bytes.wrapping_neg()),
        None if is_wide(instruction) => sources::src64(cx, size)?.lo.neg(),
        None => sources::src(cx, size)?.neg(),
    };
    cx.emit(Sass::IADD3, &[], &[(D, stack_pointer()), (A, stack_pointer()), (B, less)])?;
    if alignment > ALIGNMENT || constant.is_none_or(|bytes| !bytes.is_multiple_of(ALIGNMENT)) {
        let mask = word(alignment.wrapping_neg());
        ops::lop3(cx, stack_pointer(), stack_pointer(), mask, Operand::rz(), crate::function::ops::lut::AND)?;
    }
    read(cx, instruction)
}

/// `stacksave.type d;`
fn save(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    read(cx, instruction)
}

/// `stackrestore.type a;`
fn restore(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let from = operands::operand(instruction, 0)?;
    let from = if is_wide(instruction) { sources::src64(cx, from)?.lo } else { sources::src(cx, from)? };
    ops::mov(cx, stack_pointer(), from)
}

fn is_wide(instruction: &Instruction) -> bool {
    instruction.last_type().is_some_and(|ty| ty.bits() == 64)
}

/// The stack pointer as the result: local addresses have 32 bits.
fn read(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let to: &ast::Operand = operands::operand(instruction, 0)?;
    match instruction.last_type().map(|ty| ty.bits()) {
        Some(64) => {
            let to = destinations::dst64_direct(cx, to)?;
            ops::mov(cx, to.lo, stack_pointer())?;
            ops::mov(cx, to.hi, Operand::rz())
        }
        Some(32) => {
            let to = destinations::dst(cx, to)?;
            ops::mov(cx, to, stack_pointer())
        }
        _ => Err(unknown(cx, instruction)),
    }
}

/// Keeps the base of a dynamic frame on the stack during a call.
pub(crate) fn push_base(cx: &mut FnLower<'_, '_>) -> Lowered {
    if cx.func.frame().dynamic {
        let base = frame::base(cx);
        ops::add(cx, stack_pointer(), stack_pointer(), word(ALIGNMENT.wrapping_neg()))?;
        cx.emit(Sass::STL, &[], &[(Base, stack_pointer()), (Offset, Operand::imm(0)), (Data, base)])?;
    }
    Ok(())
}

/// Takes it back after the call.
pub(crate) fn pop_base(cx: &mut FnLower<'_, '_>) -> Lowered {
    if cx.func.frame().dynamic {
        let base = frame::base(cx);
        cx.emit(Sass::LDL, &[], &[(D, base), (Base, stack_pointer()), (Offset, Operand::imm(0))])?;
        ops::add(cx, stack_pointer(), stack_pointer(), word(ALIGNMENT))?;
    }
    Ok(())
}
