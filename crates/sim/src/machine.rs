//! What all warps of a launch share.

use crate::constant::ConstantBanks;
use crate::memcheck::Checker;
use crate::program::Program;
use oriole_device::texture::Objects;
use oriole_device::{FaultKind, Heap, Memory};
use std::sync::{Arc, Mutex};

/// Memory, code and constants of a running launch.
pub(crate) struct Machine<'a> {
    /// Global memory.
    pub(crate) memory: &'a Memory,
    /// The heap of `malloc`, if the module calls it.
    pub(crate) heap: Option<Mutex<Heap>>,
    /// Textures, surfaces and samplers.
    pub(crate) objects: &'a Objects,
    /// Constant banks.
    pub(crate) constants: Arc<ConstantBanks>,
    /// The code.
    pub(crate) program: &'a Program,
    /// Bytes of local memory that a thread may use.
    pub(crate) max_local: u32,
    /// Warp instructions that one block may execute.
    pub(crate) max_instructions: u64,
    /// Blocks record what they do, for the cycle model.
    pub(crate) records: bool,
    /// Checks what each instruction does to memory, if that is asked for.
    pub(crate) checker: Option<Checker<'a>>,
}

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
    /// The phase of an mbarrier is not over. The instruction is executed again when others have run.
    NotYet {
        /// Shared address of the mbarrier; byte 3 names the block in the cluster.
        mbarrier: u32,
    },
}

impl Halt {
    /// A fault of `lane`.
    pub(crate) fn fault(lane: usize, kind: FaultKind) -> Halt {
        Halt::Fault { lane, kind }
    }
}
