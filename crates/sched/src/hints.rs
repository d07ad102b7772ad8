//! Hints: the operand cache (`.reuse`) and the stay bit. They change speed, never results.

use crate::code::{Code, Op};
use oriole_isa::{Arch, RegFile};
use oriole_ori::{Function, InstId, Operand};

/// From this stall count on the warp always gives way (digest, "Facts about the control bits").
const ALWAYS_LEAVE: u8 = 12;
/// An arithmetic instruction that waits this long for a dependence lets other warps go first.
const LEAVE_FOR_DEPENDENCE: u8 = 3;

/// Set the hints of all instructions.
pub(crate) fn assign(code: &mut Code, func: &mut Function) {
    for ops in &mut code.ops {
        for op in ops.iter_mut() {
            let waits = !op.variable && op.control.stall >= LEAVE_FOR_DEPENDENCE;
            op.control.stay = op.control.stall < ALWAYS_LEAVE && !waits;
        }
        for pair in ops.windows(2) {
            reuse(func, &pair[0], &pair[1], code.arch);
        }
    }
}

/// Keep those operands of `op` that `next` reads in the same place.
fn reuse(func: &mut Function, op: &Op, next: &Op, arch: Arch) {
    let may_meet = op.use_mask & next.use_mask != 0;
    if !may_meet || !op.control.stay || op.variable || next.variable || op.guarded {
        return;
    }
    let count = func.insts[op.id].operands.len().min(func.insts[next.id].operands.len());
    for at in 0..count {
        if !is_read_again(func, op, next, at) {
            continue;
        }
        let plain = func.insts[op.id].operands[at];
        func.insts[op.id].operands[at] = plain.with_reuse(true);
        if !func.is_legal(&func.insts[op.id], arch) {
            func.insts[op.id].operands[at] = plain;
        }
    }
}

/// Whether both instructions read the same general register at a place, and the first does not write it.
fn is_read_again(func: &Function, op: &Op, next: &Op, at: usize) -> bool {
    let general = |id: InstId| func.physical(func.insts[id].operands[at]).filter(|(file, ..)| *file == RegFile::R);
    let (Some((_, number, _)), Some((_, again, _))) = (general(op.id), general(next.id)) else { return false };
    let (Some(spec), Some(other)) = (op.opcode.signature().get(at), next.opcode.signature().get(at)) else {
        return false;
    };
    let same_place = spec.role == other.role && !spec.is_def && func.insts[op.id].width(at) == 1;
    let data = &func.insts[op.id];
    let written = || data.defs().any(|(_, def)| writes(func, def, number));
    number == again && same_place && !written()
}

/// Whether an operand that is written covers a general register.
fn writes(func: &Function, def: Operand, number: u16) -> bool {
    let covers = |(file, first, count): (RegFile, u16, u8)| {
        file == RegFile::R && (first..first + u16::from(count)).contains(&number)
    };
    func.physical(def).is_some_and(covers)
}
