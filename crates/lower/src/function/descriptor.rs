//! The descriptor of global memory, on targets that have one.

use crate::error::Lowered;
use crate::function::FnLower;
use oriole_isa::Role::{Bank, D, Desc};
use oriole_isa::{Field, MemSize, Opcode, RegFile};
use oriole_ori::{Inst, Operand};

/// The descriptor of global memory: UR36:UR37, never allocated.
pub(crate) fn descriptor() -> Operand {
    Operand::phys_group(RegFile::UR, 36, 2)
}

/// UR36:UR37 = the descriptor of global memory, for the whole kernel.
pub(crate) fn load(cx: &mut FnLower<'_, '_>) -> Lowered {
    let Some(offset) = cx.sm().bank0.global_descriptor else { return Ok(()) };
    let operands = [(D, descriptor()), (Bank, Operand::cbank(0, u32::from(offset)))];
    let opcode = if cx.has(Opcode::LDCU) { Opcode::LDCU } else { Opcode::ULDC };
    cx.emit(opcode, &[Field::MEM_SIZE.is(MemSize::B64)], &operands)?;
    Ok(())
}

/// Has an access of global memory name the descriptor, on targets that have one.
pub(crate) fn describe(cx: &FnLower<'_, '_>, inst: &mut Inst) {
    if cx.sm().bank0.global_descriptor.is_some() {
        inst.set_role(Desc, descriptor());
    }
}
