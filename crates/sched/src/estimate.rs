//! How long scheduled code takes: when a single warp issues each instruction, by stall counts and scoreboards.

use crate::code::{Code, Op, succs};
use oriole_isa::Control;
use oriole_ori::MachineFunction;

/// Cycles until an instruction of variable latency has read its registers.
const READ: u32 = 12;
const SCOREBOARDS: usize = Control::NO_SCOREBOARD as usize;

/// By scoreboard: in how many cycles it is free.
type Pending = [u32; SCOREBOARDS];

/// Cycles of all blocks, each as often as it is executed.
pub(crate) fn cycles(code: &Code, machine: &MachineFunction, weights: &[f32]) -> f32 {
    let mut entry: Vec<Pending> = vec![Default::default(); code.ops.len()];
    let mut sum = 0.0;
    for _ in 0..2 {
        sum = 0.0;
        for block in 0..code.ops.len() {
            let (cycles, pending) = walk(&code.ops[block], entry[block]);
            for next in succs(machine, block) {
                entry[next].iter_mut().zip(pending).for_each(|(known, pending)| *known = (*known).max(pending));
            }
            sum += weights.get(block).copied().unwrap_or(1.0) * cycles as f32;
        }
    }
    sum
}

fn walk(ops: &[Op], mut free: Pending) -> (u32, Pending) {
    let mut now = 0u32;
    for op in ops {
        let control = op.control;
        let waits = (0..SCOREBOARDS).filter(|at| control.wait_mask >> at & 1 == 1).map(|at| free[at]);
        now = waits.fold(now, u32::max);
        if let Some(free) = free.get_mut(usize::from(control.write_scoreboard)) {
            *free = (*free).max(now + op.opcode.estimate());
        }
        if let Some(free) = free.get_mut(usize::from(control.read_scoreboard)) {
            *free = (*free).max(now + READ);
        }
        now += u32::from(control.stall).max(1);
    }
    (now, free.map(|free| free.saturating_sub(now)))
}
