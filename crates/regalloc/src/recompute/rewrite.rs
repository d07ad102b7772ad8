//! The code that makes values again, and the end of what nobody reads any more.

use super::Chosen;
use super::recipes::{Recipes, Walk};
use crate::AllocError;
use oriole_ori::{Block, Function, InstId, SecondaryMap, VReg};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;

/// What is put into a block: ahead of which instruction, and what is repeated there.
pub(super) type Again = Vec<(InstId, Vec<InstId>)>;

/// What is to be put into each of the blocks that need a value.
pub(super) fn plan(func: &Function, recipes: &Recipes<'_>, chosen: &Chosen) -> Vec<(Block, Again)> {
    let mut wanted: SecondaryMap<Block, bool> = SecondaryMap::new();
    chosen.values.iter().flat_map(|(_, blocks)| blocks).for_each(|block| wanted[*block] = true);
    func.layout()
        .iter()
        .copied()
        .filter(|block| wanted[*block])
        .map(|block| (block, plan_block(func, recipes, chosen, block)))
        .collect()
}

fn plan_block(func: &Function, recipes: &Recipes<'_>, chosen: &Chosen, block: Block) -> Again {
    let mut walk = Walk::new(recipes, block, chosen);
    let mut done: FxHashSet<VReg> = FxHashSet::default();
    let mut again = Again::new();
    for inst in func.block_insts(block) {
        let mut wanted = Vec::new();
        func.for_each_use(*inst, |read| {
            if chosen.gone[read.reg] && recipes.home(read.reg) != Some(block) && done.insert(read.reg) {
                wanted.push(read.reg);
            }
        });
        for reg in wanted {
            // Whether it can be made was asked before it was chosen.
            walk.make(reg, &mut Vec::new());
        }
        let steps = std::mem::take(&mut walk.steps);
        if !steps.is_empty() {
            again.push((*inst, steps));
        }
    }
    again
}

/// Put that into the code, and take out what is not read any more.
pub(super) fn carry_out(func: &mut Function, plan: &[(Block, Again)], chosen: &Chosen) -> Result<(), AllocError> {
    for (block, again) in plan {
        rewrite(func, *block, again, chosen)?;
    }
    let repeated = plan.iter().flat_map(|(_, again)| again).flat_map(|(_, steps)| steps).copied();
    remove_unread(func, repeated.collect());
    Ok(())
}

fn rewrite(func: &mut Function, block: Block, again: &Again, chosen: &Chosen) -> Result<(), AllocError> {
    // What is made here has a name of its own from there on.
    let mut names: FxHashMap<VReg, VReg> = FxHashMap::default();
    let mut again = again.iter().peekable();
    let insts = func.edit().take_insts(block);
    let mut edited = Vec::with_capacity(insts.len());
    for inst in insts {
        if let Some((_, steps)) = again.next_if(|(ahead_of, _)| *ahead_of == inst) {
            for step in steps {
                edited.push(repeat(func, *step, &mut names)?);
            }
        }
        func.edit().rename_regs(inst, |reg, is_def| match names.get(&reg) {
            Some(name) if !is_def && chosen.gone[reg] => *name,
            _ => reg,
        });
        edited.push(inst);
    }
    func.edit().set_insts(block, edited);
    Ok(())
}

/// The instruction once more, with new names for what it writes.
fn repeat(func: &mut Function, inst: InstId, names: &mut FxHashMap<VReg, VReg>) -> Result<InstId, AllocError> {
    let mut written = Vec::new();
    func.for_each_def(inst, |write| written.push(write.reg));
    for reg in written {
        if let Entry::Vacant(name) = names.entry(reg) {
            name.insert(func.new_vreg_like(reg)?);
        }
    }
    let copy = func[inst].clone();
    let copy = func.edit().add(copy);
    func.edit().rename_regs(copy, |reg, _| *names.get(&reg).unwrap_or(&reg));
    Ok(copy)
}

/// Take out those of the instructions whose results nobody reads, and then those that only these have read.
fn remove_unread(func: &mut Function, repeated: FxHashSet<InstId>) {
    let mut reads: SecondaryMap<VReg, u32> = SecondaryMap::new();
    for (_, inst) in func.iter_insts() {
        func.for_each_use(inst, |read| reads[read.reg] += 1);
    }
    let mut gone: FxHashSet<InstId> = FxHashSet::default();
    let mut rest: Vec<InstId> = repeated.into_iter().collect();
    loop {
        let before = rest.len();
        rest.retain(|inst| {
            let mut is_read = false;
            func.for_each_def(*inst, |write| is_read |= reads[write.reg] > 0);
            if !is_read {
                gone.insert(*inst);
                func.for_each_use(*inst, |read| reads[read.reg] -= 1);
            }
            is_read
        });
        if rest.len() == before {
            break;
        }
    }
    for block in func.layout().to_vec() {
        if func.block_insts(block).iter().any(|inst| gone.contains(inst)) {
            func.edit().retain_insts(block, |_, inst| !gone.contains(&inst));
        }
    }
}
