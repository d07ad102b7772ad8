//! Slot 107: instructions that do nothing.

use crate::{Changed, Context, PhaseError};
use oriole_isa::Opcode;
use oriole_ori::analysis::Analyses;
use oriole_ori::{Function, InstFlags};

/// Remove NOPs that are not marked volatile.
pub(crate) fn run(func: &mut Function, _: &Context, _: &mut Analyses) -> Result<Changed, PhaseError> {
    let before = func.inst_count();
    for block in func.layout().to_vec() {
        func.edit().retain_insts(block, |func, inst| {
            let data = &func[inst];
            data.opcode != Opcode::NOP || !data.is_machine() || data.flags.contains(InstFlags::VOLATILE)
        });
    }
    Ok(Changed::when(func.inst_count() != before))
}
