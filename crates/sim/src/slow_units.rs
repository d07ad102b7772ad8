//! Strict simulation: instructions that come too early for a slow unit. That is a matter of the code alone, so it is worked out once for a
//! section.

use crate::instruction::{INSTRUCTION, Op};
use oriole_device::Hazard;
use oriole_isa::latency::{Release, SlowUnits};
use oriole_isa::{Arch, Effects, Exit, Inst, Value};

/// Notes in each instruction of a section what it does too early, in code that a tool of this release made.
pub(crate) fn note(ops: &mut [Op], arch: Arch, maker: Option<Release>) {
    let targets = targets(ops);
    let mut units = SlowUnits::new(maker);
    for at in 0..ops.len() {
        if targets[at] {
            units = SlowUnits::new(maker);
        }
        let (Some(inst), Some(watch)) = (ops[at].inst.as_deref(), ops[at].watch.as_deref()) else { continue };
        let early = units.issue(at, inst, watch.touches(), arch);
        if ends_block(inst) {
            units = SlowUnits::new(maker);
        }
        let Some(early) = early else { continue };
        let earlier = ops[early.behind].inst.as_deref().map(|inst| inst.display(arch).to_string());
        let hazard = Hazard {
            kind: "slow unit",
            register: early.unit.name().to_owned(),
            earlier: earlier.unwrap_or_default(),
            missing_cycles: early.cycles,
            remedy: "a slow unit takes an instruction only once in so many cycles".to_owned(),
        };
        if let Some(watch) = &mut ops[at].watch {
            watch.put_early(hazard);
        }
    }
}

fn ends_block(inst: &Inst) -> bool {
    inst.opcode.exit() != Exit::No || inst.opcode.info().effects.contains(Effects::BRANCH)
}

/// By instruction of the section: whether another one names it.
fn targets(ops: &[Op]) -> Vec<bool> {
    let mut targets = vec![false; ops.len()];
    for operand in ops.iter().filter_map(|op| op.inst.as_deref()).flat_map(|inst| &inst.operands) {
        if let Value::Label(offset) = operand.value
            && let Ok(offset) = usize::try_from(offset)
            && let Some(target) = targets.get_mut(offset / INSTRUCTION as usize)
        {
            *target = true;
        }
    }
    targets
}
