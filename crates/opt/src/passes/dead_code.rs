//! Slots 10, 16, 33, 61, 84: removal of instructions whose results nobody reads.

use crate::{Changed, Context, PhaseError};
use oriole_isa::Effects;
use oriole_ori::analysis::{Analyses, LiveSet, Liveness};
use oriole_ori::{EntitySet, Function, InstFlags, InstId, OperandKind, PackedOption, SecondaryMap, VReg};

/// What is counted.
pub(crate) const RULES: &[&str] = &["instructions removed"];

/// Remove dead instructions.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    if !context.tally.is_open() {
        return Ok(Changed::No);
    }
    let removed = if func.first_value.is_some() { sweep(func).len() as u32 } else { remove(func, analyses) };
    context.tally.add(0, removed);
    Ok(Changed::when(removed > 0))
}

/// Remove what liveness says is dead. Gives how many instructions.
fn remove(func: &mut Function, analyses: &mut Analyses) -> u32 {
    let dead = dead_instructions(func, &analyses.live(func));
    let mut removed = 0;
    if !dead.is_empty() {
        for block in func.layout.clone() {
            let before = func.block_insts(block).len();
            func.retain_insts(block, |_, inst| !dead.contains(inst));
            removed += (before - func.block_insts(block).len()) as u32;
        }
    }
    removed
}

/// One backward walk per block from what is live out of it: an instruction that is dead does not
/// make its sources live.
fn dead_instructions(func: &Function, liveness: &Liveness) -> EntitySet<InstId> {
    let mut dead = EntitySet::new();
    let mut live = liveness.empty_set();
    for block in &func.layout {
        live.clear();
        for component in liveness.live_out(*block) {
            live.insert(component);
        }
        for inst in func.block_insts(*block).iter().rev() {
            if removable(func, *inst) && !writes_live(func, *inst, &live) {
                dead.insert(*inst);
            } else {
                live.step_back(func, *inst);
            }
        }
    }
    dead
}

/// Whether the instruction does nothing but write virtual registers.
pub(crate) fn removable(func: &Function, inst: InstId) -> bool {
    let data = &func.insts[inst];
    let effects = data.opcode.info().effects;
    let pure = [Effects::WRITES_MEMORY, Effects::CONVERGENT, Effects::BRANCH, Effects::SIDE_EFFECT]
        .iter()
        .all(|effect| !effects.contains(*effect));
    let writes_only_virtual = data.defs().all(|(_, operand)| !matches!(operand.kind(), OperandKind::Phys { .. }));
    pure && writes_only_virtual && data.call.is_none() && !data.flags.contains(InstFlags::VOLATILE)
}

fn writes_live(func: &Function, inst: InstId, live: &LiveSet) -> bool {
    let mut found = false;
    func.for_each_def(inst, |mention| {
        let fixed = func.vregs[mention.reg].is_fixed();
        found |= fixed || mention.range.clone().any(|k| live.contains((mention.reg, k)));
    });
    found
}

/// On SSA form: remove what no instruction with an effect needs, MovPhis that only need each other included. Gives what was
/// removed.
pub(crate) fn sweep(func: &mut Function) -> Vec<InstId> {
    let mut definition: SecondaryMap<VReg, PackedOption<InstId>> = SecondaryMap::with_capacity(func.vregs.len());
    let mut needed: SecondaryMap<InstId, bool> = SecondaryMap::with_capacity(func.insts.len());
    let mut work: Vec<InstId> = Vec::new();
    for (_, inst) in func.iter_insts() {
        let mut writes_others = false;
        func.for_each_def(inst, |mention| {
            definition[mention.reg] = inst.into();
            writes_others |= !func.is_value(mention.reg);
        });
        if writes_others || !removable(func, inst) {
            needed[inst] = true;
            work.push(inst);
        }
    }
    while let Some(inst) = work.pop() {
        func.for_each_use(inst, |mention| {
            if let Some(source) = definition[mention.reg].expand().filter(|_| func.is_value(mention.reg))
                && !std::mem::replace(&mut needed[source], true)
            {
                work.push(source);
            }
        });
    }
    let mut removed = Vec::new();
    for at in 0..func.layout.len() {
        func.blocks[func.layout[at]].insts.retain(|inst| {
            removed.extend((!needed[*inst]).then_some(*inst));
            needed[*inst]
        });
    }
    removed
}
