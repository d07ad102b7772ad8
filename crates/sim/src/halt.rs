//! Why a warp stops in the middle of an instruction.

use crate::threads::Wait;
use oriole_device::FaultKind;

/// Why a warp stops in the middle of an instruction.
#[derive(Clone, Debug)]
pub(crate) enum Halt {
    /// The kernel is at fault.
    Fault {
        /// The lane whose access or state it was.
        lane: usize,
        /// What.
        kind: FaultKind,
    },
    /// The result depends on the order of blocks, and it is not this block's turn. Nothing has been
    /// changed: the instruction is executed again later.
    NeedsTurn,
    /// What the group waits for has not come. The instruction is executed again when others have run.
    NotYet(Wait),
}

impl Halt {
    /// A fault of `lane`.
    pub(crate) fn fault(lane: usize, kind: FaultKind) -> Halt {
        Halt::Fault { lane, kind }
    }
}
