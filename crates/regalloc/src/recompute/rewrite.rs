//! The code that makes values again, and the end of what nobody reads any more.

use super::recipes::{Recipes, Step, Walk};
use super::{Chosen, general};
use crate::AllocError;
use oriole_isa::Arch;
use oriole_ori::{Block, Function, InstId, SecondaryMap, VReg};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::hash_map::Entry;

/// What is put into a block, in order.
pub(super) type Again = Vec<Change>;

/// What changes at an instruction.
pub(super) struct Change {
    inst: InstId,
    /// What is repeated ahead of it.
    steps: Vec<Step>,
    /// What it reads of that which is made in the block.
    made: SmallVec<[VReg; 4]>,
}

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
        let (mut wanted, mut made) = (Vec::new(), SmallVec::new());
        func.for_each_use(*inst, |read| {
            if chosen.gone[read.reg] {
                made.push(read.reg);
                if recipes.home(read.reg) != Some(block) && done.insert(read.reg) {
                    wanted.push(read.reg);
                }
            }
        });
        for reg in wanted {
            // Whether it can be made was asked before it was chosen.
            walk.make(reg, &mut Vec::new());
        }
        let steps = std::mem::take(&mut walk.steps);
        made.retain(|reg| walk.is_made(*reg));
        if !steps.is_empty() || !made.is_empty() {
            again.push(Change { inst: *inst, steps, made });
        }
    }
    again
}

/// Put that into the code, and take out what is not read any more.
pub(super) fn carry_out(func: &mut Function, arch: Arch, plan: &[(Block, Again)]) -> Result<(), AllocError> {
    for (block, again) in plan {
        rewrite(func, arch, *block, again)?;
    }
    let repeated = plan.iter().flat_map(|(_, again)| again).flat_map(|change| &change.steps).map(|step| step.inst);
    remove_unread(func, repeated.collect());
    Ok(())
}

fn rewrite(func: &mut Function, arch: Arch, block: Block, again: &Again) -> Result<(), AllocError> {
    // What is made here has a name of its own from there on.
    let mut names: FxHashMap<VReg, VReg> = FxHashMap::default();
    let mut again = again.iter().peekable();
    let insts = func.edit().take_insts(block);
    let mut edited = Vec::with_capacity(insts.len());
    for inst in insts {
        if let Some(change) = again.next_if(|change| change.inst == inst) {
            for step in &change.steps {
                edited.push(repeat(func, arch, step, &mut names)?);
            }
            func.edit().rename_regs(inst, |reg, is_def| match names.get(&reg) {
                Some(name) if !is_def && change.made.contains(&reg) => *name,
                _ => reg,
            });
        }
        edited.push(inst);
    }
    func.edit().set_insts(block, edited);
    Ok(())
}

/// The instruction once more, with new names for what it writes.
fn repeat(
    func: &mut Function,
    arch: Arch,
    step: &Step,
    names: &mut FxHashMap<VReg, VReg>,
) -> Result<InstId, AllocError> {
    let mut written = Vec::new();
    func.for_each_def(step.inst, |write| written.push(write.reg));
    for reg in written {
        if let Entry::Vacant(name) = names.entry(reg) {
            name.insert(match general::general_type(func, reg) {
                Some(general) => func.new_vreg(general)?,
                None => func.new_vreg_like(reg)?,
            });
        }
    }
    let copy = general::twin(&func[step.inst], arch).unwrap_or_else(|| func[step.inst].clone());
    let copy = func.edit().add(copy);
    func.edit().rename_regs(copy, |reg, is_def| match names.get(&reg) {
        Some(name) if is_def || step.made.contains(&reg) => *name,
        _ => reg,
    });
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
