//! `alloca`, `stacksave`, `stackrestore`: the part of local memory that grows at run time.

use crate::arith::Unsupported;
use crate::builder::{Builder, form};
use crate::code::Action;
use crate::lane::Lane;
use oriole_device::FaultKind;
use oriole_ptx::ast::{Instruction, Opcode, Operand, ScalarType};

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    let ty = inst.last_type().unwrap_or(ScalarType::U64);
    let operand = |n: usize| inst.operands.get(n).ok_or_else(|| form(inst.opcode.as_str()));
    Ok(Some(match inst.opcode {
        Opcode::Alloca => {
            /// Bytes that `alloca` aligns to without being told.
            const ALIGNMENT: u64 = 16;
            let (to, size) = (builder.destination(operand(0)?, ty)?, builder.source(operand(1)?, ty)?);
            let alignment = inst.operands.get(2).and_then(Operand::imm).and_then(|imm| imm.int_bits());
            let alignment = alignment.unwrap_or(ALIGNMENT);
            let alignment = u32::try_from(alignment).ok().filter(|n| n.is_power_of_two());
            let alignment = alignment.ok_or_else(|| form("alloca"))?;
            Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
                let size = u32::try_from(lane.get(&size));
                let size = size.map_err(|_| FaultKind::Misuse("alloca of more than 4 GiB".to_owned()))?;
                let address = lane.local().allocate(size, alignment)?;
                lane.set(&to, u128::from(address));
                Ok(())
            }))
        }
        Opcode::Stacksave => {
            let to = builder.destination(operand(0)?, ty)?;
            Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
                let top = lane.local().top();
                lane.set(&to, u128::from(top));
                Ok(())
            }))
        }
        Opcode::Stackrestore => {
            let from = builder.source(operand(0)?, ty)?;
            Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
                let top = u32::try_from(lane.get(&from)).unwrap_or(u32::MAX);
                lane.local().restore(top)
            }))
        }
        _ => return Ok(None),
    }))
}
