//! Slots 10, 16, 33, 61, 84: removal of instructions whose results nobody reads.

use crate::{Changed, Context, PhaseError};
use oriole_isa::Effects;
use oriole_ori::analysis::{Cfg, LiveSet, Liveness};
use oriole_ori::{EntitySet, Function, InstFlags, InstId, OperandKind};

/// Remove dead instructions.
pub(crate) fn run(func: &mut Function, _: &Context) -> Result<Changed, PhaseError> {
    let dead = dead_instructions(func);
    if dead.is_empty() {
        return Ok(Changed::No);
    }
    for block in func.layout.clone() {
        func.retain_insts(block, |_, inst| !dead.contains(inst));
    }
    Ok(Changed::Yes)
}

/// One backward walk per block from what is live out of it: an instruction that is dead does not
/// make its sources live.
fn dead_instructions(func: &Function) -> EntitySet<InstId> {
    let cfg = Cfg::new(func);
    let liveness = Liveness::new(func, &cfg);
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

/// Remove instructions whose results no instruction reads, and then those that only they needed: cheaper
/// than [`run`], as it asks only whether a register is read anywhere.
pub(crate) fn sweep(func: &mut Function) -> Changed {
    let mut reads: Vec<u32> = vec![0; func.vregs.len()];
    for (_, inst) in func.iter_insts() {
        func.for_each_use(inst, |mention| reads[mention.reg.as_u32() as usize] += 1);
    }
    let before = func.inst_count();
    for block in func.layout.clone().into_iter().rev() {
        let mut kept = std::mem::take(&mut func.blocks[block].insts);
        kept.reverse();
        kept.retain(|inst| {
            let mut read = false;
            func.for_each_def(*inst, |m| read |= func.vregs[m.reg].is_fixed() || reads[m.reg.as_u32() as usize] > 0);
            let dead = !read && removable(func, *inst);
            if dead {
                func.for_each_use(*inst, |mention| reads[mention.reg.as_u32() as usize] -= 1);
            }
            !dead
        });
        kept.reverse();
        func.blocks[block].insts = kept;
    }
    Changed::when(func.inst_count() != before)
}
