//! Lanes of different member masks part at a `WARPSYNC.EXCLUSIVE`, so that those of one mask exchange alone, and meet again behind
//! the exchange: `BSSY Bn`, `WARPSYNC.EXCLUSIVE`, the exchange, `BSYNC Bn`, as in ptxas's code.
//!
//! `BSSY` stands before the wait. Behind it each mask's lanes would set the barrier for themselves, one after the other.

use super::insert::{bar, barriers_of};
use crate::PhaseError;
use crate::passes::member_masks::{exchanges_by_mask, waits_by_mask};
use oriole_isa::{Opcode, Role};
use oriole_ori::{Block, Function, InstId, Operand};

/// Convergence barriers of a warp, `B0`-`B15`.
const BARRIERS: u8 = 16;

/// A barrier that nothing in the function names.
pub(super) fn free_barrier(func: &Function) -> Option<u8> {
    let named = barriers_of(func);
    (0..BARRIERS).find(|barrier| named >> barrier & 1 == 0)
}

/// Puts the barrier around each such wait and its exchange, none of which stands in another. Gives it as a bit, or 0 where there are none.
pub(super) fn meet_behind(func: &mut Function, barrier: u8) -> Result<u16, PhaseError> {
    let waits = func.iter_insts().filter(|(_, inst)| waits_by_mask(&func[*inst]));
    let waits: Vec<(Block, InstId)> = waits.collect();
    // From the last one on: what is split off behind a wait keeps those that have been done.
    for (block, wait) in waits.iter().rev() {
        surround(func, *block, *wait, barrier)?;
    }
    Ok(if waits.is_empty() { 0 } else { 1 << barrier })
}

/// Puts the barrier around one of them.
fn surround(func: &mut Function, block: Block, wait: InstId, barrier: u8) -> Result<(), PhaseError> {
    let last = exchanges_by_mask(func, block, wait).last().copied().unwrap_or(wait);
    let position = |func: &Function, inst| func.block_insts(block).iter().position(|other| *other == inst);
    let Some((start, end)) = position(func, wait).zip(position(func, last)) else { return Ok(()) };
    let after = func.edit().split_block(block, end + 1)?;
    // Threads that wait stand at the start of a block of their own.
    let join = func.edit().split_block(block, end + 1)?;
    func.edit().append(join, bar(Opcode::BSYNC, barrier));
    let mut begin = bar(Opcode::BSSY, barrier);
    begin.set_role(Role::Target, Operand::block(after));
    let begin = func.edit().add(begin);
    func.edit().place(block, start, &[begin]);
    Ok(())
}
