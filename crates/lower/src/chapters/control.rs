//! Control flow: `bra`, `ret`, `exit`, `trap`, `brkpt`.

use super::switch;
use crate::error::Lowered;
use crate::function::{FnLower, bindings, finish, operands};
use crate::handler::{Chapter, unknown};
use oriole_isa::Opcode as Sass;
use oriole_ori::Inst;
use oriole_ptx::ast::{Instruction, Opcode, Word};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter =
    &[(Opcode::Bra, bra), (Opcode::Brx, switch::brx), (Opcode::Ret, ret), (Opcode::Exit, exit)];

/// `bra target;`
fn bra(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let Some(name) = operands::operand(instruction, 0)?.name() else { return Err(unknown(cx, instruction)) };
    let target = bindings::label(cx, name)?;
    match cx.guard {
        None => {
            if cx.module.keeps_jumps {
                cx.append(Inst::bra(target))?;
            }
            cx.jump(target);
        }
        Some(guard) => {
            let next = cx.new_block()?;
            let pred = guard.operand();
            cx.branch_with(pred, target, next, instruction.has(Word::Uni))?;
            cx.switch_to(next);
        }
    }
    Ok(())
}

/// `ret;`
fn ret(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if cx.is_kernel_code() {
        return exit(cx, instruction);
    }
    cx.guard_by_branch()?;
    finish::emit_return(cx)
}

/// `exit;`
fn exit(cx: &mut FnLower<'_, '_>, _: &Instruction) -> Lowered {
    let Some(guard) = cx.guard else { return finish::emit_exit(cx) };
    let next = cx.new_block()?;
    cx.append(Inst::neutral(Sass::EXIT, Default::default()).guarded(Some(guard)))?;
    cx.end(&[next]);
    cx.switch_to(next);
    Ok(())
}
