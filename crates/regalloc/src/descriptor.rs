//! The descriptor of global memory: UR36 and UR37, from the start of a kernel on, where anybody needs it.

use crate::graph::PhysicalSet;
use crate::stack::makes_calls;
use oriole_isa::RegFile;
use oriole_ori::{Function, FunctionKind, InstId, OperandKind, RegMask};

/// The first of the two registers.
const FIRST: u16 = 36;
/// Both.
const DESCRIPTOR: u64 = 3 << FIRST;

/// Registers that stay the descriptor's. Where nobody needs it, it is not loaded.
pub(crate) fn settle(func: &mut Function) -> PhysicalSet {
    // A kernel loads it before anything else, and what is called expects it there.
    let is_kernel = func.kind() == FunctionKind::Entry;
    let reads_it = || func.iter_insts().any(|(_, inst)| names_it(func, inst, false));
    if !is_kernel || reads_it() || makes_calls(func) {
        return [DESCRIPTOR, 0, 0, 0];
    }
    if let Some(entry) = func.entry()
        && func.block_insts(entry).iter().any(|inst| names_it(func, *inst, true))
    {
        func.edit().retain_insts(entry, |func, inst| !names_it(func, inst, true));
    }
    [0; 4]
}

/// Whether an instruction writes it, or reads it.
fn names_it(func: &Function, inst: InstId, writes: bool) -> bool {
    let data = &func[inst];
    let is_of_it = |kind| matches!(kind, OperandKind::Phys { file: RegFile::UR, number: FIRST, .. });
    data.operands.iter().enumerate().any(|(at, operand)| is_of_it(operand.kind()) && data.is_use(at) != writes)
}

/// ptxas's words where uniform registers are needed though nobody wanted any. The descriptor does not count: each access of
/// global memory names it.
pub(crate) fn required_uniform(used: &RegMask) -> Option<String> {
    let count = (used.ur & !u128::from(DESCRIPTOR)).count_ones();
    (count > 0).then(|| {
        format!(
            "Uniform registers were disallowed, but the compiler required ({count}) uniform registers for correct code \
             generation."
        )
    })
}
