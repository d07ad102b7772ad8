//! From edges to branches: what the layout of the blocks demands.

use crate::entity::{Block, InstId};
use crate::function::Function;
use crate::inst::Inst;
use crate::terminator::{Exit, exit_of, may_fall_through};

/// The block that control goes on to when no branch of `block` is taken: its last successor, unless its
/// last instruction always leaves.
pub fn fallthrough(func: &Function, block: Block) -> Option<Block> {
    let last = func.block_insts(block).last();
    match last.map(|id| &func.insts[*id]) {
        Some(inst) if exit_of(inst) != Exit::No && !may_fall_through(inst) => None,
        _ => func.succs(block).last().copied(),
    }
}

/// End every block whose fall-through is not the next block of the layout with a BRA to it.
pub fn make_fallthroughs_explicit(func: &mut Function) {
    for at in 0..func.layout.len() {
        let block = func.layout[at];
        if let Some(target) = fallthrough(func, block)
            && func.layout.get(at + 1) != Some(&target)
        {
            let loc = func.block_insts(block).last().map(|id| func.insts[*id].loc);
            let id = func.append(block, Inst::bra(target));
            func.insts[id].loc = loc.unwrap_or_default();
        }
    }
}

/// Take out unguarded BRAs to the next block of the layout; the edge stays as the fall-through.
pub fn remove_redundant_branches(func: &mut Function) -> bool {
    let mut changed = false;
    for at in 0..func.layout.len() {
        let (block, next) = (func.layout[at], func.layout.get(at + 1).copied());
        while let Some(&last) = func.block_insts(block).last() {
            if !goes_straight_to(func, last, next) {
                break;
            }
            func.blocks[block].insts.pop();
            changed = true;
        }
    }
    changed
}

fn goes_straight_to(func: &Function, inst: InstId, next: Option<Block>) -> bool {
    let inst = &func.insts[inst];
    let target = inst.operands.iter().find_map(|o| o.as_block());
    exit_of(inst) == Exit::Branch && !may_fall_through(inst) && target.is_some() && target == next
}

/// Take blocks that the entry does not reach out of the layout.
pub fn remove_unreachable(func: &mut Function) -> bool {
    let cfg = crate::analysis::Cfg::new(func);
    let dead: Vec<Block> = func.layout.iter().copied().filter(|b| !cfg.is_reachable(*b)).collect();
    let referenced = block_references(func, &cfg);
    let mut changed = false;
    for block in dead {
        for succ in func.succs(block).to_vec() {
            remove_phi_inputs(func, succ, block);
        }
        if referenced.contains(block) {
            // A BSSY still names it as the place where threads meet; it stays, empty of effects.
            continue;
        }
        changed = true;
        func.blocks[block] = crate::function::BlockData::default();
    }
    func.layout.retain(|b| cfg.is_reachable(*b) || referenced.contains(*b));
    changed
}

/// Blocks that reachable instructions name without an edge.
fn block_references(func: &Function, cfg: &crate::analysis::Cfg) -> cranelift_entity::EntitySet<Block> {
    let mut named = cranelift_entity::EntitySet::new();
    for (block, id) in func.iter_insts() {
        if cfg.is_reachable(block) && !func.insts[id].is_phi() {
            for target in func.insts[id].operands.iter().filter_map(|o| o.as_block()) {
                named.insert(target);
            }
        }
    }
    named
}

/// Take the inputs from `pred` out of the MovPhis of `block`.
pub fn remove_phi_inputs(func: &mut Function, block: Block, pred: Block) {
    for id in func.blocks[block].insts.clone() {
        let inst = &mut func.insts[id];
        if !inst.is_phi() {
            break;
        }
        let inputs: Vec<_> = inst.operands[1..].chunks(2).map(|c| (c[0], c[1])).collect();
        inst.operands.truncate(1);
        for (source, from) in inputs {
            if from.as_block() != Some(pred) {
                inst.operands.push(source);
                inst.operands.push(from);
            }
        }
    }
}
