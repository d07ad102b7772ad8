//! Loads of shared memory are done before asynchronous copies write there.
//!
//! A load that was issued may still wait for its turn when a barrier lets other warps go on, and a copy to shared memory (`LDGSTS`)
//! does not stand in the same queue: on an H200 it overtook loads of the tile that it replaces. ptxas 13.0.88 puts
//! three loads that no thread executes before the first copy of a block, and before the first behind each load or barrier (sm_80 to
//! sm_120, 83 places in 23 kernels); so does this.

use crate::code::{Code, Op};
use oriole_isa::Opcode;
use oriole_ori::MachineFunction;

/// Loads that let those before them be done: as many as ptxas has.
const EMPTY_LOADS: usize = 3;

/// Puts empty loads before copies that could overtake loads. The order of the instructions is final.
pub(crate) fn insert(code: &mut Code, machine: &mut MachineFunction) {
    for ops in code.ops.iter_mut().filter(|ops| ops.iter().any(|op| op.opcode == Opcode::LDGSTS)) {
        // What the blocks before have left is not known.
        let mut is_pending = true;
        let mut drained = Vec::with_capacity(ops.len() + EMPTY_LOADS);
        for op in ops.drain(..) {
            if op.opcode == Opcode::LDGSTS && std::mem::take(&mut is_pending) {
                drained.extend((0..EMPTY_LOADS).filter_map(|_| Op::empty_load(machine)));
            }
            is_pending |= may_leave_loads(&op);
            drained.push(op);
        }
        *ops = drained;
    }
}

/// Whether loads of shared memory may be on their way behind it: its own, or those of others that it lets go on.
fn may_leave_loads(op: &Op) -> bool {
    op.leaves
        || matches!(
            op.opcode,
            Opcode::LDS | Opcode::LDSM | Opcode::LD | Opcode::ATOMS | Opcode::ATOM | Opcode::BAR | Opcode::WARPSYNC
        )
}
