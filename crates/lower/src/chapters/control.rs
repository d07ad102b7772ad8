//! Control flow: `bra`, `brx`, `ret`, `exit`, `trap`, `brkpt`.

use crate::error::{Lowered, invalid};
use crate::function::FnLower;
use crate::function::scope::Binding;
use crate::handler::{Chapter, unknown};
use oriole_isa::{Opcode as Sass, cmp};
use oriole_ori::{Block, Inst, Operand};
use oriole_ptx::ast::{Instruction, Opcode, Word};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[(Opcode::Bra, bra), (Opcode::Brx, brx), (Opcode::Ret, ret), (Opcode::Exit, exit)];

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

/// `brx.idx index, targets;`: a search by halves among the runs of equal targets. An index beyond the list, which
/// PTX leaves open, goes to the last.
fn brx(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let index = cx.operand(instruction, 0)?;
    let index = cx.src(index)?;
    let Some(list) = cx.operand(instruction, 1)?.name() else { return Err(unknown(cx, instruction)) };
    let targets = match cx.binding(list)? {
        Some(Binding::Targets(targets)) => targets.clone(),
        _ => return Err(invalid(list.span, "a list of branch targets is needed here")),
    };
    let mut runs: Vec<Run> = Vec::new();
    for (first, name) in (0..).zip(targets) {
        let target = cx.label(name)?;
        if runs.last().is_none_or(|run| run.target != target) {
            runs.push(Run { first, target });
        }
    }
    if runs.is_empty() {
        return Err(invalid(list.span, "the list of branch targets is empty"));
    }
    let index = cx.in_reg(index)?;
    choose(cx, index, &runs, instruction.has(Word::Uni))
}

/// Indices from this one to the next run's, which all go to one block.
struct Run {
    first: u32,
    target: Block,
}

/// Goes to the target of the run that `index` is in.
fn choose(cx: &mut FnLower<'_, '_>, index: Operand, runs: &[Run], uniform: bool) -> Lowered {
    let (low, high) = runs.split_at(runs.len() / 2);
    let Some(middle) = high.first() else { return Ok(()) };
    let below = match low {
        [] => {
            cx.jump(middle.target);
            return Ok(());
        }
        [only] => only.target,
        _ => cx.new_block()?,
    };
    let above = cx.new_block()?;
    let pred = cx.temp_pred()?;
    cx.isetp(pred, cmp::LT, false, index, crate::function::place::word(middle.first))?;
    cx.branch_with(pred, below, above, uniform)?;
    cx.switch_to(above);
    choose(cx, index, high, uniform)?;
    if low.len() > 1 {
        cx.switch_to(below);
        choose(cx, index, low, uniform)?;
    }
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
