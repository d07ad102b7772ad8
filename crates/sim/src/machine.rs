//! What all warps of a launch share.

use crate::constant::ConstantBanks;
use crate::memcheck::Checker;
use crate::program::Program;
use crate::threads::Wait;
use oriole_device::texture::Objects;
use oriole_device::{Deadline, FaultKind, Heap, Memory};
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
    /// When the launch has taken too long, if it has a limit.
    pub(crate) deadline: Option<Deadline>,
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
    /// What the group waits for has not come. The instruction is executed again when others have run.
    NotYet(Wait),
}

impl Halt {
    /// A fault of `lane`.
    pub(crate) fn fault(lane: usize, kind: FaultKind) -> Halt {
        Halt::Fault { lane, kind }
    }
}
