//! Slots 15 and 136: branch clean-up, ahead of SSA form and behind it.
//!
//! Edges through blocks that only jump on go straight to the target, a branch both of whose ways lead to one block
//! goes, a block with one successor swallows that successor where nobody else goes there, and what becomes unreachable goes away.

use crate::{Changed, Context, PhaseError};
use oriole_ori::analysis::{Analyses, Cfg};
use oriole_ori::terminator::{Exit, exit_of, is_terminator};
use oriole_ori::{EntitySet, Function, layout};

/// Thread jumps, merge blocks, remove what is unreachable.
pub(crate) fn run(func: &mut Function, _: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let mut changed = layout::thread_jumps(func, |_| false);
    changed |= drop_idle_branches(func);
    changed |= layout::remove_unreachable(func, &analyses.cfg(func));
    changed |= merge_chains(func, &analyses.cfg(func));
    changed |= layout::remove_redundant_branches(func);
    Ok(Changed::when(changed))
}

/// Branches that lead to one block whether they are taken or not.
fn drop_idle_branches(func: &mut Function) -> bool {
    let mut changed = false;
    for block in func.layout().to_vec() {
        let &[first, second] = func.succs(block) else { continue };
        let only_branches =
            func.block_insts(block).iter().all(|i| matches!(exit_of(&func[*i]), Exit::No | Exit::Branch));
        if first == second && only_branches && func.phis(first).is_empty() {
            func.edit().retain_insts(block, |func, inst| !is_terminator(&func[inst]));
            func.edit().set_succs(block, &[first]);
            changed = true;
        }
    }
    changed
}

fn merge_chains(func: &mut Function, cfg: &Cfg) -> bool {
    let taken = layout::address_taken(func);
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
