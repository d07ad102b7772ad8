//! Lanes of different member masks part at a `WARPSYNC.EXCLUSIVE`, so that those of one mask exchange alone, and meet again behind
//! the exchange: `BSSY Bn`, `WARPSYNC.EXCLUSIVE`, the exchange, `BSYNC Bn`, as in ptxas's code.
//!
//! `BSSY` stands before the wait. Behind it each mask's lanes would set the barrier for themselves, one after the other.

use super::insert::bar;
use crate::PhaseError;
use crate::passes::member_masks::{Exchange, exchanges, waits_by_mask};
use oriole_isa::{Opcode, Role};
use oriole_ori::{Block, Function, Operand};

/// Puts the barrier around each such wait and its exchange, none of which stands in another. Gives it as a bit, or 0 where there are none.
pub(super) fn meet_behind(func: &mut Function, barrier: u8) -> Result<u16, PhaseError> {
    let mut used = 0;
    for block in func.layout().to_vec() {
        // From the last one on: what is split off behind a wait keeps those that have been done.
        let alone = |exchange: &Exchange| waits_by_mask(&func[exchange.wait]);
        let found: Vec<Exchange> = exchanges(func, block).into_iter().filter(alone).collect();
        for exchange in found.iter().rev() {
            surround(func, block, exchange, barrier)?;
            used = 1 << barrier;
        }
    }
    Ok(used)
}

/// Puts the barrier around one of them.
fn surround(func: &mut Function, block: Block, exchange: &Exchange, barrier: u8) -> Result<(), PhaseError> {
    let after = func.edit().split_block(block, exchange.last + 1)?;
    // Threads that wait stand at the start of a block of their own.
    let join = func.edit().split_block(block, exchange.last + 1)?;
    func.edit().append(join, bar(Opcode::BSYNC, barrier));
    let mut begin = bar(Opcode::BSSY, barrier);
    begin.set_role(Role::Target, Operand::block(after));
    let begin = func.edit().add(begin);
    func.edit().place(block, exchange.at, &[begin]);
    Ok(())
}
