//! What acts on the execution of a thread or grid: `trap`, `brkpt`, `nanosleep`, `pmevent`, `griddepcontrol`.

use crate::error::{Lowered, invalid};
use crate::function::{FnLower, finish, operands, sources};
use crate::handler::{Chapter, unknown};
use oriole_isa::Opcode as Sass;
use oriole_isa::Role::A;
use oriole_ori::Operand;
use oriole_ptx::ast::{Instruction, Opcode, Word};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[
    (Opcode::Trap, trap),
    (Opcode::Brkpt, breakpoint),
    (Opcode::Nanosleep, nanosleep),
    (Opcode::Pmevent, pmevent),
    (Opcode::Griddepcontrol, dependency),
];

/// `trap;`: the fault ends the grid; the thread goes no further.
fn trap(cx: &mut FnLower<'_, '_>, _: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    cx.emit(Sass::BPT, &[], &[(A, Operand::imm(1))])?;
    finish::emit_exit(cx)
}

/// `brkpt;`
fn breakpoint(cx: &mut FnLower<'_, '_>, _: &Instruction) -> Lowered {
    cx.emit(Sass::BPT, &[], &[(A, Operand::imm(1))])?;
    Ok(())
}

/// `nanosleep.u32 t;`
fn nanosleep(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let time = sources::src(cx, operands::operand(instruction, 0)?)?;
    cx.emit(Sass::NANOSLEEP, &[], &[(A, time)])?;
    Ok(())
}

/// `pmevent a;` and `pmevent.mask a;`
fn pmevent(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let operand = operands::operand(instruction, 0)?;
    let number = operand.imm().and_then(|imm| imm.int_bits()).ok_or_else(|| unknown(cx, instruction))?;
    let mask = if instruction.has(Word::Mask) { number } else { 1u64.checked_shl(number as u32).unwrap_or(0) };
    let mask = u16::try_from(mask).ok();
    let mask = mask.ok_or_else(|| invalid(operand.span(), "events have numbers 0 to 15"))?;
    cx.emit(Sass::PMTRIG, &[], &[(A, Operand::imm(u32::from(mask)))])?;
    Ok(())
}

/// `griddepcontrol.wait`, `griddepcontrol.launch_dependents`
fn dependency(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if !cx.has(Sass::ACQBULK) {
        return Err(unknown(cx, instruction));
    }
    let opcode = if instruction.has(Word::Wait) { Sass::ACQBULK } else { Sass::PREEXIT };
    cx.emit(opcode, &[], &[])?;
    Ok(())
}
