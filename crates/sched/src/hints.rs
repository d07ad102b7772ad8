//! Hints: the operand cache (`.reuse`) and the stay bit. They change speed, never results.

use crate::code::{Code, Op};
use oriole_isa::{OperandFlags, RegFile, Value, legal};

/// From this stall count on the warp always gives way (digest, "Facts about the control bits").
const ALWAYS_LEAVE: u8 = 12;
/// An arithmetic instruction that waits this long for a dependence lets other warps go first.
const LEAVE_FOR_DEPENDENCE: u8 = 3;

/// Set the hints of all instructions.
pub(crate) fn assign(code: &mut Code) {
    let arch = code.arch;
    for ops in &mut code.ops {
        for op in ops.iter_mut() {
            let stall = op.inst.control.stall;
            let waits = !op.variable && stall >= LEAVE_FOR_DEPENDENCE;
            op.inst.control.stay = stall < ALWAYS_LEAVE && !waits;
        }
        for at in 0..ops.len().saturating_sub(1) {
            let (head, tail) = ops.split_at_mut(at + 1);
            reuse(&mut head[at], &tail[0], arch);
        }
    }
}

/// Keep those operands of `op` that `next` reads in the same place.
fn reuse(op: &mut Op, next: &Op, arch: oriole_isa::Arch) {
    if !op.inst.control.stay || op.variable || next.variable || op.is_guarded() {
        return;
    }
    for i in 0..op.inst.operands.len().min(next.inst.operands.len()) {
        let Value::Reg(RegFile::R, number) = op.inst.operands[i].value else { continue };
        let specs = (op.inst.opcode.signature()[i], next.inst.opcode.signature()[i]);
        let same_place = specs.0.role == specs.1.role && !specs.0.is_def && op.inst.width(i) == 1;
        let written = op.defs.iter().any(|d| d.reg == number);
        if number == 255 || !same_place || written || next.inst.operands[i].value != op.inst.operands[i].value {
            continue;
        }
        let plain = op.inst.operands[i];
        op.inst.operands[i] = plain.with(OperandFlags::REUSE);
        if legal(&op.inst, arch).is_err() {
            op.inst.operands[i] = plain;
        }
    }
}
