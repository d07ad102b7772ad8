//! Slot 24, on SSA form: modulo scheduling of loops of one block in two stages. Loads, with what computes their addresses, are the first
//! stage: they are executed a round ahead, while the round before is in its second one.
//!
//! ```text
//! before:  entrance → [ load i; use i; next i ] ⟲
//! after:   entrance, load 0 → [ x = MovPhi(load 0, load i+1); use x; next i; @again load i+1 ] ⟲
//! ```
//!
//! The loads go right behind the last instruction that reads what they loaded the round before: no register more is needed for that, and between
//! them and who reads it there is nearly a whole round. They happen where there is another round, by a guard, so that nothing is loaded
//! that was not loaded before.

mod cost;
mod rotate;
mod slices;
mod stage;

use super::one_block::OneBlock;
use crate::{Changed, Context, PhaseError};
use oriole_ori::Function;
use oriole_ori::analysis::Analyses;

/// What is counted.
pub(crate) const RULES: &[&str] = &["loops pipelined"];

/// Pipeline what pays.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let loops = analyses.loops(func);
    if loops.is_empty() || context.knobs.int("pipelining") <= 0 {
        return Ok(Changed::No);
    }
    func.edit().keep_def_use();
    let cfg = analyses.cfg(func);
    let alone = loops.iter().filter(|(_, data)| data.blocks.len() == 1).map(|(_, data)| data.header);
    let bodies: Vec<OneBlock> = alone.filter_map(|block| OneBlock::of(func, &cfg, block)).collect();
    let mut changed = false;
    for body in bodies {
        if !context.tally.is_open() {
            break;
        }
        if let Some(stage) = stage::Stage::of(func, context, body) {
            rotate::rotate(func, &stage)?;
            context.tally.count(0);
            changed = true;
        }
    }
    Ok(Changed::when(changed))
}
