//! Slot 15: branch clean-up.
//!
//! Edges through blocks that only jump on go straight to the target, a block with one successor
//! swallows that successor where nobody else goes there, and what becomes unreachable goes away.

use crate::{Changed, Context, PhaseError};
use oriole_ori::analysis::{Analyses, Cfg};
use oriole_ori::terminator::{Exit, exit_of, is_terminator};
use oriole_ori::{Block, EntitySet, Function, layout};

/// Thread jumps, merge blocks, remove what is unreachable.
pub(crate) fn run(func: &mut Function, _: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let mut changed = thread_jumps(func);
    changed |= layout::remove_unreachable(func, &analyses.cfg(func));
    changed |= merge_chains(func, &analyses.cfg(func));
    changed |= layout::remove_redundant_branches(func);
    Ok(Changed::when(changed))
}

/// Where a block that does nothing but go on leads to.
fn forwards_to(func: &Function, block: Block) -> Option<Block> {
    let data = &func.blocks()[block];
    let [next] = data.succs[..] else { return None };
    let only_jumps = data.insts.iter().all(|i| exit_of(&func[*i]) == Exit::Branch);
    let is_target_of_phi = func.block_insts(next).first().is_some_and(|i| func[*i].is_phi());
    (only_jumps && next != block && !is_target_of_phi).then_some(next)
}

fn thread_jumps(func: &mut Function) -> bool {
    let mut changed = false;
    let taken = address_taken(func);
    for block in func.layout().to_vec() {
        for succ in func.succs(block).to_vec() {
            // A call comes back to the block whose address it was given, however empty that is.
            if taken.contains(succ) {
                continue;
            }
            let mut target = succ;
            // A chain of empty blocks is no longer than the function; a ring of them stays as it is.
            for _ in 0..func.layout().len() {
                match forwards_to(func, target) {
                    Some(next) if next != succ => target = next,
                    _ => break,
                }
            }
            if target != succ && forwards_to(func, target).is_none() {
                func.edit().redirect(block, succ, target);
                changed = true;
            }
        }
    }
    changed
}

/// Blocks whose address is taken by something that is no branch: the return points of calls.
pub(super) fn address_taken(func: &Function) -> EntitySet<Block> {
    let plain = func.iter_insts().filter(|(_, inst)| func[*inst].is_machine() && !is_terminator(&func[*inst]));
    let blocks = plain.flat_map(|(_, inst)| func[inst].operands.iter().filter_map(|o| o.as_block()));
    let mut taken = EntitySet::new();
    blocks.for_each(|block| {
        taken.insert(block);
    });
    taken
}

fn merge_chains(func: &mut Function, cfg: &Cfg) -> bool {
    let taken = address_taken(func);
    let mut merged = EntitySet::new();
    for block in func.layout().to_vec() {
        if merged.contains(block) {
            continue;
        }
        while let [next] = func.succs(block)[..] {
            // `@P0 EXIT` has one successor too, and is no jump.
            if func.block_insts(block).iter().any(|i| matches!(exit_of(&func[*i]), Exit::Leave | Exit::Indirect)) {
                break;
            }
            let alone =
                cfg.preds(next).len() == 1 && next != block && func.entry() != Some(next) && !taken.contains(next);
            let has_phi = func.block_insts(next).first().is_some_and(|i| func[*i].is_phi());
            if !alone || has_phi || merged.contains(next) {
                break;
            }
            func.edit().retain_insts(block, |func, inst| !is_terminator(&func[inst]));
            let tail = func.edit().take_block(next);
            for succ in &tail.succs {
                func.edit().rename_phi_pred(*succ, next, block);
            }
            let end = func.block_insts(block).len();
            func.edit().place(block, end, &tail.insts);
            func.edit().set_succs(block, &tail.succs);
            merged.insert(next);
        }
    }
    func.edit().retain_blocks(|b| !merged.contains(b));
    !merged.is_empty()
}
