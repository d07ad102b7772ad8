//! The form that regions rely on, and what the code of a block means to them.

use crate::{Changed, PhaseError};
use oriole_isa::{Effects, Opcode};
use oriole_ori::analysis::Cfg;
use oriole_ori::{Block, Callee, EntitySet, Function, Inst, InstId, layout};

/// Let nothing lead to the entry: where it is a loop's header, a fresh block comes before it.
pub(super) fn free_entry(func: &mut Function) -> Result<Changed, PhaseError> {
    let Some(entry) = func.entry() else { return Ok(Changed::No) };
    if Cfg::new(func).preds(entry).is_empty() {
        return Ok(Changed::No);
    }
    let first = func.edit().new_detached_block()?;
    func.edit().set_succs(first, &[entry]);
    func.edit().place_block_first(first);
    Ok(Changed::Yes)
}

/// Let calls alone lead to the places where they come back: edges of others cannot pass through a block that is put
/// before such a place, for the call names the place itself.
pub(super) fn free_return_points(func: &mut Function) -> Result<Changed, PhaseError> {
    let points = return_points(func);
    if points.iter().next().is_none() {
        return Ok(Changed::No);
    }
    let cfg = Cfg::new(func);
    let mut changed = Changed::No;
    for point in func.layout().to_vec() {
        if !points.contains(point) || cfg.preds(point).len() < 2 {
            continue;
        }
        let rest = func.edit().split_block(point, 0)?;
        for &pred in cfg.preds(point) {
            // The point itself has no branch any more.
            let pred = if pred == point { rest } else { pred };
            if !calls(func, pred) {
                func.edit().redirect(pred, point, rest);
            }
        }
        changed = Changed::Yes;
    }
    Ok(changed)
}

/// Blocks whose address is taken: where calls come back.
fn return_points(func: &Function) -> EntitySet<Block> {
    layout::address_taken(func)
}

/// The block has a call.
pub(super) fn calls(func: &Function, block: Block) -> bool {
    func.block_insts(block).iter().any(|inst| is_call(func, *inst))
}

fn is_call(func: &Function, inst: InstId) -> bool {
    func[inst].call.expand().is_some_and(|call| func[call].callee != Callee::Return)
}

/// Threads that get to the block end in it, without a word to the others of their warp.
pub(super) fn ends_at_once(func: &Function, block: Block) -> bool {
    let is_silent = |inst: &InstId| {
        let data = &func[*inst];
        !data.opcode.info().effects.contains(Effects::CONVERGENT) && data.call.is_none()
    };
    func.succs(block).is_empty() && func.block_insts(block).iter().all(is_silent)
}

/// Threads that get to the block do nothing but end.
pub(super) fn only_ends(func: &Function, block: Block) -> bool {
    func.block_insts(block).iter().all(|inst| func[*inst].opcode == Opcode::EXIT) && func.succs(block).is_empty()
}

/// The block where the function returns, and no thread does anything else; `None` where all threads that return come
/// through one block that does more, or none returns. Where there are several RETs they become one.
pub(super) fn join_returns(func: &mut Function) -> Result<Option<Block>, PhaseError> {
    let last = |block: &Block| func.block_insts(*block).last().copied().filter(|inst| is_return(&func[*inst]));
    let returns: Vec<(Block, InstId)> =
        func.layout().iter().filter_map(|block| last(block).map(|inst| (*block, inst))).collect();
    let Some(&(first, model)) = returns.first() else { return Ok(None) };
    if returns.len() == 1 {
        let is_plain = func.block_insts(first).len() == 1 && func.entry() != Some(first);
        return Ok((is_plain && !return_points(func).contains(first)).then_some(first));
    }
    if !returns.iter().all(|(_, inst)| is_same_return(func, model, *inst)) {
        return Ok(None);
    }
    let join = func.edit().new_block()?;
    for (block, _) in returns {
        func.edit().pop(block);
        func.edit().set_succs(block, &[join]);
    }
    func.edit().place_last(join, model);
    Ok(Some(join))
}

fn is_return(inst: &Inst) -> bool {
    inst.opcode == Opcode::RET && inst.guard().is_none()
}

fn is_same_return(func: &Function, a: InstId, b: InstId) -> bool {
    let args = |inst: InstId| func[inst].call.expand().map(|call| &func[call].args);
    func[a].operands == func[b].operands && args(a) == args(b)
}

/// Blocks that stand outside of all regions: that which returns, and those that only end the thread.
pub(super) fn outside(func: &Function, returns: Option<Block>) -> EntitySet<Block> {
    let mut outside = EntitySet::new();
    for &block in func.layout().iter().skip(1) {
        let only_ends = match func.block_insts(block) {
            [inst] => func[*inst].opcode == Opcode::EXIT && func[*inst].guard().is_none(),
            _ => false,
        };
        if only_ends && func.succs(block).is_empty() || Some(block) == returns {
            outside.insert(block);
        }
    }
    outside
}
