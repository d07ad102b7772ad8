//! Branches, calls and the end of threads; instructions without an effect that can be seen.

use crate::arith::Unsupported;
use crate::builder::{Builder, form};
use crate::code::Action;
use crate::pc::NOWHERE;
use oriole_ptx::ast::{Instruction, Opcode, Operand, ScalarType, Word};

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::Bra => Action::Branch { target: branch_target(inst.operands.first(), builder)?, meet: NOWHERE },
        Opcode::Brx => {
            let [index, list] = &inst.operands[..] else { return Err(form("brx.idx")) };
            Action::BranchTable {
                index: builder.source(index, ScalarType::U32)?,
                targets: builder.branch_table(list)?,
                meet: NOWHERE,
            }
        }
        Opcode::Call => Action::Call(Box::new(builder.call(inst)?)),
        Opcode::Ret => Action::Return,
        Opcode::Exit => Action::Exit,
        Opcode::Trap | Opcode::Brkpt => Action::Trap,
        Opcode::Nanosleep => Action::Yield,
        // Hints, order that is there anyway, other launches, registers that nobody counts.
        Opcode::Membar
        | Opcode::Prefetch
        | Opcode::Prefetchu
        | Opcode::Pmevent
        | Opcode::Applypriority
        | Opcode::Griddepcontrol
        | Opcode::Setmaxnreg => Action::Nothing,
        // Orders accesses that happen in order here anyway; a tensor map is another thing.
        Opcode::Fence if !inst.has(Word::Tensormap) && !inst.has(Word::TensormapGeneric) => Action::Nothing,
        Opcode::Createpolicy => policy(inst, builder)?,
        _ => return Ok(None),
    }))
}

/// A cache policy is a hint that nothing looks at: zero.
fn policy(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let to = inst.operands.first().ok_or_else(|| form("createpolicy"))?;
    Ok(Action::Copy(crate::operand::Source::Constant(0), builder.destination(to, ScalarType::B64)?))
}

fn branch_target(operand: Option<&Operand>, builder: &mut Builder<'_, '_>) -> Result<u32, Unsupported> {
    let name = operand.and_then(Operand::name).ok_or_else(|| form("bra"))?;
    builder.label(name)
}
