//! What all warps of a launch share.

use crate::observer::Observer;
use crate::program::Program;
use crate::resources::Resources;
use oriole_device::Deadline;

/// Code of a running launch, what it reaches, and its limits.
pub(crate) struct Machine<'a> {
    /// Memory and constants.
    pub(crate) resources: Resources<'a>,
    /// The code.
    pub(crate) program: &'a Program,
    /// Warp instructions that one block may execute.
    pub(crate) max_instructions: u64,
    /// When the launch has taken too long, if it has a limit.
    pub(crate) deadline: Option<Deadline>,
    /// Blocks record what they do, for the cycle model.
    pub(crate) records: bool,
    /// Looks at what each instruction does to memory, if that is asked for.
    pub(crate) observer: Option<&'a dyn Observer>,
    /// Where no thread can run, those at a warp synchronisation go on without the threads that wait elsewhere.
    pub(crate) skips_absent: bool,
}
