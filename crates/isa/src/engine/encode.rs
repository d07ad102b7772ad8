//! Instructions to 128-bit words, and which instructions have an encoding.

use super::fit::{Illegal, find_form};
use super::unscheduled::{EncodeError, Unscheduled};
use crate::{Arch, ControlFault, Inst};

/// The word of an instruction at byte address `pc` of its function.
pub fn encode(inst: &Inst, arch: Arch, pc: u64) -> Result<u128, EncodeError> {
    Unscheduled::at(inst, arch, pc)
        .map_err(|reason| EncodeError::Illegal { mnemonic: inst.opcode.name(), reason })?
        .finish(inst.control, arch)
}

/// Whether the instruction has an encoding on the target, whatever its address; branch distances are
/// not judged.
pub fn legal(inst: &Inst, arch: Arch) -> Result<(), Illegal> {
    find_form(inst, arch, None).map(|_| ())
}

/// The first thing in the control word of `inst` that must not be there.
pub fn control_fault(inst: &Inst, arch: Arch) -> Option<ControlFault> {
    Unscheduled::new(inst, arch).ok()?.fault(inst.control, arch)
}
