//! From edges to branches: what the layout of the blocks demands.

use crate::analysis::Cfg;
use crate::entity::{Block, InstId};
use crate::function::Function;
use crate::inst::Inst;
use crate::terminator::{Exit, exit_of, is_terminator, may_fall_through};
use cranelift_entity::EntitySet;

/// The block that control goes on to when no branch of `block` is taken: its last successor, unless its
/// last instruction always leaves.
pub fn fallthrough(func: &Function, block: Block) -> Option<Block> {
    let last = func.block_insts(block).last();
    match last.map(|id| &func[*id]) {
        Some(inst) if exit_of(inst) != Exit::No && !may_fall_through(inst) => None,
        _ => func.succs(block).last().copied(),
    }
}

/// End every block whose fall-through is not the next block of the layout with a BRA to it.
pub fn make_fallthroughs_explicit(func: &mut Function) {
    for at in 0..func.layout().len() {
        let block = func.layout()[at];
        if let Some(target) = fallthrough(func, block)
            && func.layout().get(at + 1) != Some(&target)
        {
            let loc = func.block_insts(block).last().map(|id| func[*id].loc);
            let mut branch = Inst::bra(target);
            branch.loc = loc.unwrap_or_default();
            func.edit().append(block, branch);
        }
    }
}

/// Take out unguarded BRAs to the next block of the layout; the edge stays as the fall-through.
pub fn remove_redundant_branches(func: &mut Function) -> bool {
    let mut changed = false;
    for at in 0..func.layout().len() {
        let (block, next) = (func.layout()[at], func.layout().get(at + 1).copied());
        while let Some(&last) = func.block_insts(block).last() {
            if !goes_straight_to(func, last, next) {
                break;
            }
            func.edit().pop(block);
            changed = true;
        }
    }
    changed
}

fn goes_straight_to(func: &Function, inst: InstId, next: Option<Block>) -> bool {
    let inst = &func[inst];
    let target = inst.operands.iter().find_map(|o| o.as_block());
    exit_of(inst) == Exit::Branch && !may_fall_through(inst) && target.is_some() && target == next
}

/// Edges to blocks that only jump on go straight to where these lead; whether there were any. Instructions that `is_nothing` are
/// none.
pub fn thread_jumps(func: &mut Function, is_nothing: impl Fn(&Inst) -> bool) -> bool {
    let mut changed = false;
    let taken = address_taken(func);
    for at in 0..func.layout().len() {
        let block = func.layout()[at];
        for succ in func.succs(block).to_vec() {
            // A call comes back to the block whose address it was given, however empty that is.
            if taken.contains(succ) {
                continue;
            }
            let mut target = succ;
            // A chain of empty blocks is no longer than the function; a ring of them stays as it is.
            for _ in 0..func.layout().len() {
                match forwards_to(func, target, &is_nothing) {
                    Some(next) if next != succ => target = next,
                    _ => break,
                }
            }
            if target != succ && forwards_to(func, target, &is_nothing).is_none() {
                func.edit().redirect(block, succ, target);
                changed = true;
            }
        }
    }
    changed
}

/// Where a block that does nothing but go on leads to.
fn forwards_to(func: &Function, block: Block, is_nothing: impl Fn(&Inst) -> bool) -> Option<Block> {
    let &[next] = func.succs(block) else { return None };
    let only_jumps =
        func.block_insts(block).iter().all(|i| exit_of(&func[*i]) == Exit::Branch || is_nothing(&func[*i]));
    (only_jumps && next != block && func.phis(next).is_empty()).then_some(next)
}

/// Blocks whose address is taken by something that is no branch: the return points of calls.
pub fn address_taken(func: &Function) -> EntitySet<Block> {
    // Where no block leads to another, no call comes back to one.
    if func.layout().iter().all(|block| func.succs(*block).is_empty()) {
        return EntitySet::new();
    }
    let plain = func.iter_insts().filter(|(_, inst)| func[*inst].is_machine() && !is_terminator(&func[*inst]));
    let blocks = plain.flat_map(|(_, inst)| func[inst].operands.iter().filter_map(|o| o.as_block()));
    let mut taken = EntitySet::new();
    blocks.for_each(|block| {
        taken.insert(block);
    });
    taken
}

/// Take blocks that the entry does not reach out of the layout; `cfg` is the function's graph.
pub fn remove_unreachable(func: &mut Function, cfg: &Cfg) -> bool {
    let dead: Vec<Block> = func.layout().iter().copied().filter(|b| !cfg.is_reachable(*b)).collect();
    if dead.is_empty() {
        return false;
    }
    let referenced = block_references(func, cfg);
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
        func.edit().clear_block(block);
    }
    if changed {
        func.edit().retain_blocks(|b| cfg.is_reachable(b) || referenced.contains(b));
    }
    changed
}

/// Blocks that reachable instructions name without an edge.
fn block_references(func: &Function, cfg: &Cfg) -> EntitySet<Block> {
    let mut named = EntitySet::new();
    for (block, id) in func.iter_insts() {
        if cfg.is_reachable(block) && !func[id].is_phi() {
            for target in func[id].operands.iter().filter_map(|o| o.as_block()) {
                named.insert(target);
            }
        }
    }
    named
}

/// Take the inputs from `pred` out of the MovPhis of `block`.
pub fn remove_phi_inputs(func: &mut Function, block: Block, pred: Block) {
    for id in func.phis(block).to_vec() {
        func.edit().update(id, |inst| {
            let inputs: Vec<_> = inst.operands[1..].chunks(2).map(|c| (c[0], c[1])).collect();
            inst.operands.truncate(1);
            for (source, from) in inputs {
                if from.as_block() != Some(pred) {
                    inst.operands.extend([source, from]);
                }
            }
        });
    }
}
