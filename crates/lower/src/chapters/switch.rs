//! `brx.idx`: a jump by an index.
//!
//! An index beyond the list, which PTX leaves open, goes anywhere. Few runs of equal targets are searched by halves; two targets in some order
//! are told by a bit of a word; everything else goes through a table in bank 2, as with ptxas.

use crate::error::{Lowered, invalid};
use crate::function::operands::word;
use crate::function::ops::lut;
use crate::function::scope::Binding;
use crate::function::{FnLower, bindings, operands, ops, sources, word_ops};
use crate::handler::unknown;
use oriole_isa::{Cmp, Opcode as Sass, Role};
use oriole_ori::{Block, Inst, InstFlags, JumpTable, Literals, Operand};
use oriole_ptx::ast::{Instruction, Word};
use rustc_hash::FxHashMap;

/// So many runs are searched, by three comparisons at most: threads of a warp part there as they do at a jump, and a table is a load
/// more. By the model, of 8 targets, as fast as ptxas with threads together and 0.77 of its cycles with threads apart; of 16, 1.34 and 0.85.
const MOST_RUNS: usize = 8;
/// Entries of a table that is told by bits of a word.
const BITS: usize = 32;
/// The last bit of a word.
const LAST_BIT: u32 = 31;

/// `brx.idx index, targets;`
pub(crate) fn brx(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let index = operands::operand(instruction, 0)?;
    let index = sources::src(cx, index)?;
    let Some(list) = operands::operand(instruction, 1)?.name() else { return Err(unknown(cx, instruction)) };
    let names = match bindings::binding(cx, list)? {
        Some(Binding::Targets(targets)) => targets.clone(),
        _ => return Err(invalid(list.span, "a list of branch targets is needed here")),
    };
    let mut targets = Vec::with_capacity(names.len());
    for name in names {
        targets.push(bindings::label(cx, name)?);
    }
    let runs = runs(&targets);
    if runs.is_empty() {
        return Err(invalid(list.span, "the list of branch targets is empty"));
    }
    let (index, uniform) = (ops::in_reg(cx, index)?, instruction.has(Word::Uni));
    let (succs, entries) = numbered(&targets);
    match succs[..] {
        _ if runs.len() <= MOST_RUNS => choose(cx, index, &runs, uniform),
        [first, second] if entries.len() <= BITS => by_bits(cx, index, &entries, [first, second], uniform),
        _ if cx.reserve_table(entries.len()) => by_table(cx, index, entries, &succs, uniform),
        _ => choose(cx, index, &runs, uniform),
    }
}

/// Indices from this one to the next run's, which all go to one block.
struct Run {
    first: u32,
    target: Block,
}

fn runs(targets: &[Block]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (first, &target) in (0..).zip(targets) {
        if runs.last().is_none_or(|run| run.target != target) {
            runs.push(Run { first, target });
        }
    }
    runs
}

/// The targets, each once, and by index which of them it is.
fn numbered(targets: &[Block]) -> (Vec<Block>, Vec<u32>) {
    let mut numbers: FxHashMap<Block, u32> = FxHashMap::default();
    let mut succs = Vec::new();
    let mut number = |target: &Block| {
        *numbers.entry(*target).or_insert_with(|| {
            succs.push(*target);
            succs.len() as u32 - 1
        })
    };
    let entries = targets.iter().map(&mut number).collect();
    (succs, entries)
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
    ops::isetp(cx, pred, Cmp::LT, false, index, word(middle.first))?;
    cx.branch_with(pred, below, above, uniform)?;
    cx.switch_to(above);
    choose(cx, index, high, uniform)?;
    if low.len() > 1 {
        cx.switch_to(below);
        choose(cx, index, low, uniform)?;
    }
    Ok(())
}

/// Goes to the second target where the bit of the index is set in the word that says so.
fn by_bits(cx: &mut FnLower<'_, '_>, index: Operand, entries: &[u32], targets: [Block; 2], uniform: bool) -> Lowered {
    let bits = entries.iter().rev().fold(0, |bits, entry| bits << 1 | entry);
    let (shifted, pred) = (cx.temp()?, cx.temp_pred()?);
    let bits = ops::in_reg(cx, word(bits))?;
    word_ops::shift_right(cx, false, shifted, bits, index)?;
    let bit = word_ops::logic(cx, lut::AND, shifted, word(1))?;
    ops::isetp(cx, pred, Cmp::NE, false, bit, Operand::rz())?;
    cx.branch_with(pred, targets[1], targets[0], uniform)
}

/// Goes where the word of the index says: the target's offset in the function, which `BRX` makes one from itself.
fn by_table(cx: &mut FnLower<'_, '_>, index: Operand, entries: Vec<u32>, succs: &[Block], uniform: bool) -> Lowered {
    let (offset, target) = (cx.temp()?, cx.temp64()?);
    word_ops::shift_left(cx, offset, index, word(JumpTable::WORD.trailing_zeros()))?;
    // Where the table stands is known when all functions are.
    let table = Operand::cbank(Literals::BANK, 0);
    cx.emit(Sass::LDC, &[], &[(Role::D, Operand::lo(target)), (Role::Base, offset), (Role::Bank, table)])?;
    word_ops::shift_right(cx, true, Operand::hi(target), Operand::lo(target), word(LAST_BIT))?;
    let mut branch = Inst::neutral(Sass::BRX, Default::default());
    branch.set_role(Role::Base, Operand::reg(target));
    branch.set_role(Role::Offset, Operand::imm(cx.func.jump_tables().len() as u32));
    branch.flags.set(InstFlags::UNIFORM, uniform);
    cx.func.jump_tables_mut().push(JumpTable { offset: 0, targets: entries });
    cx.append(branch)?;
    cx.end(succs);
    Ok(())
}
