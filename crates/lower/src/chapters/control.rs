//! Control flow: `bra`, `brx`, `ret`, `exit`, `trap`, `brkpt`.

use super::{Chapter, unknown};
use crate::error::{Lowered, invalid};
use crate::function::{Binding, FnLower};
use oriole_isa::{Opcode as Sass, cmp};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{Instruction, Opcode, Word};

/// The opcodes of this chapter.
pub(super) const CHAPTER: Chapter = &[(Opcode::Bra, bra), (Opcode::Brx, brx), (Opcode::Ret, ret), (Opcode::Exit, exit)];

/// `bra target;`
fn bra(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let Some(name) = cx.operand(instruction, 0)?.name() else { return Err(unknown(cx, instruction)) };
    let target = cx.label(name)?;
    match cx.guard() {
        None => cx.jump(target),
        Some(guard) => {
            let next = cx.new_block()?;
            let pred = Operand::reg(guard.pred).with_not(guard.negated);
            cx.branch_with(pred, target, next, instruction.has(Word::Uni))?;
            cx.switch_to(next);
        }
    }
    Ok(())
}

/// `brx.idx index, targets;`: a comparison and a branch per target; the last one needs none.
fn brx(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let index = cx.operand(instruction, 0)?;
    let index = cx.src(index)?;
    let Some(list) = cx.operand(instruction, 1)?.name() else { return Err(unknown(cx, instruction)) };
    let targets = match cx.binding(list)? {
        Some(Binding::Targets(targets)) => targets.clone(),
        _ => return Err(invalid(list.span, "a list of branch targets is needed here")),
    };
    let Some((last, first)) = targets.split_last() else {
        return Err(invalid(list.span, "the list of branch targets is empty"));
    };
    let index = cx.in_reg(index)?;
    for (number, name) in first.iter().enumerate() {
        let target = cx.label(*name)?;
        let next = cx.new_block()?;
        let pred = cx.temp_pred()?;
        cx.isetp(pred, cmp::EQ, false, index, crate::function::word(number as u32))?;
        cx.branch_with(pred, target, next, instruction.has(Word::Uni))?;
        cx.switch_to(next);
    }
    let target = cx.label(*last)?;
    cx.jump(target);
    Ok(())
}

/// `ret;`
fn ret(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if cx.is_entry() {
        return exit(cx, instruction);
    }
    cx.guard_by_branch()?;
    cx.emit_return()
}

/// `exit;`
fn exit(cx: &mut FnLower<'_, '_>, _: &Instruction) -> Lowered {
    let Some(guard) = cx.guard() else { return cx.emit_exit() };
    let next = cx.new_block()?;
    cx.append(Inst::neutral(Sass::EXIT, Default::default()).guarded(Some(guard)))?;
    cx.end(&[next]);
    cx.switch_to(next);
    Ok(())
}
