//! Hints: the operand cache (`.reuse`) and the stay bit. They change speed, never results.

use crate::code::{Accesses, Code, Op, Reg, Use, is_general};
use oriole_ori::MachineFunction;

/// From this stall count on the warp always gives way (ptxas's code: docs/sources.md, Latencies).
const ALWAYS_LEAVE: u8 = 12;
/// An arithmetic instruction that waits this long for a dependence lets other warps go first.
const LEAVE_FOR_DEPENDENCE: u8 = 3;

/// Set the hints of all instructions.
pub(crate) fn assign(code: &mut Code, machine: &mut MachineFunction) {
    for ops in &mut code.ops {
        for op in ops.iter_mut() {
            let waits = !op.variable && op.control.stall >= LEAVE_FOR_DEPENDENCE;
            op.control.stay = op.control.stall < ALWAYS_LEAVE && !waits;
        }
        for pair in ops.windows(2) {
            reuse(machine, &code.accesses, &pair[0], &pair[1]);
        }
    }
}

/// Keep those operands of `op` that `next` reads in the same place.
fn reuse(machine: &mut MachineFunction, accesses: &Accesses, op: &Op, next: &Op) {
    let may_meet = op.use_mask & next.use_mask != 0 && op.opcode.operand_cache() == next.opcode.operand_cache();
    if !may_meet || !op.control.stay || op.variable || next.variable || op.guarded {
        return;
    }
    for read in accesses.uses(op) {
        if let Some(at) = read.operand.filter(|_| is_general(read.reg) && read.scalar)
            && is_read_again(machine, accesses, [op, next], read.reg, at)
        {
            machine.keep(op.id, usize::from(at));
        }
    }
}

/// Whether the second instruction reads a register in the place of the operand cache where the first one's operand `at` stays, and the first one
/// does not write it: one that is waited for does not stay as it is, but a stale operand would be a wrong result.
fn is_read_again(machine: &MachineFunction, accesses: &Accesses, [op, next]: [&Op; 2], reg: Reg, at: u8) -> bool {
    let place = |op: &Op, at: u8| machine.kept_place(op.id, usize::from(at));
    let first = place(op, at);
    let meets = |read: &Use| read.reg == reg && read.operand.is_some_and(|other| place(next, other) == first);
    first.is_some() && accesses.uses(next).iter().any(meets) && accesses.defs(op).iter().all(|write| write.reg != reg)
}
