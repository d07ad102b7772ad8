//! Control flow: `bra`, `brx`, `ret`, `exit`, `trap`, `brkpt`.

use crate::error::{Lowered, invalid};
use crate::function::scope::Binding;
use crate::function::{FnLower, bindings, finish, operands, ops, sources};
use crate::handler::{Chapter, unknown};
use oriole_isa::{Cmp, Opcode as Sass};
use oriole_ori::{Block, Inst, Operand};
use oriole_ptx::ast::{Instruction, Opcode, Word};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[(Opcode::Bra, bra), (Opcode::Brx, brx), (Opcode::Ret, ret), (Opcode::Exit, exit)];

/// `bra target;`
fn bra(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let Some(name) = operands::operand(instruction, 0)?.name() else { return Err(unknown(cx, instruction)) };
    let target = bindings::label(cx, name)?;
    match cx.guard {
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
    let index = operands::operand(instruction, 0)?;
    let index = sources::src(cx, index)?;
    let Some(list) = operands::operand(instruction, 1)?.name() else { return Err(unknown(cx, instruction)) };
    let targets = match bindings::binding(cx, list)? {
        Some(Binding::Targets(targets)) => targets.clone(),
        _ => return Err(invalid(list.span, "a list of branch targets is needed here")),
    };
    let mut runs: Vec<Run> = Vec::new();
    for (first, name) in (0..).zip(targets) {
        let target = bindings::label(cx, name)?;
        if runs.last().is_none_or(|run| run.target != target) {
            runs.push(Run { first, target });
        }
    }
    if runs.is_empty() {
        return Err(invalid(list.span, "the list of branch targets is empty"));
    }
    let index = ops::in_reg(cx, index)?;
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
    ops::isetp(cx, pred, Cmp::LT, false, index, crate::function::operands::word(middle.first))?;
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
