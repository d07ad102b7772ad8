//! Code of a section that has its addresses: its instructions and its branches.

use oriole_isa::{Arch, Inst, Value, decode};
use oriole_ori::INST_BYTES;

/// Bytes of an instruction.
pub(super) const BYTES: usize = INST_BYTES as usize;

/// Code that has its addresses.
pub(super) struct Code<'a> {
    pub(super) arch: Arch,
    pub(super) bytes: &'a [u8],
}

impl Code<'_> {
    /// The instruction at an offset.
    pub(super) fn at(&self, offset: u32) -> Option<Inst> {
        let word = self.bytes.get(offset as usize..)?.first_chunk::<BYTES>()?;
        decode(u128::from_le_bytes(*word), self.arch, u64::from(offset)).ok()
    }
}

/// A branch and where it goes, as offsets.
pub(super) struct Jump {
    pub(super) from: u32,
    pub(super) to: u32,
}

/// The branches of a function, and the other instructions that name places in it.
pub(super) fn jumps(code: &Code<'_>, whole: std::ops::Range<u32>) -> Vec<Jump> {
    let jump = |from: u32| Some(Jump { from, to: label(&code.at(from)?)? });
    whole.step_by(BYTES).filter_map(jump).collect()
}

/// The place that an instruction names.
pub(super) fn label(inst: &Inst) -> Option<u32> {
    inst.operands.iter().find_map(|operand| match operand.value {
        Value::Label(to) => u32::try_from(to).ok(),
        _ => None,
    })
}
