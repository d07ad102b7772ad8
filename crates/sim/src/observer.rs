//! What those who look at each instruction after its execution are shown.

use crate::access::AccessLog;
use crate::barrier::Barriers;
use crate::flow::Flow;
use crate::instruction::{Action, Issued};
use crate::state::State;
use crate::threads::Threads;

/// An instruction that has just been executed, and the warp and the block as it left them.
pub(crate) struct Moment<'m> {
    /// The instruction.
    pub(crate) issued: &'m Issued<'m>,
    /// Registers of the warp.
    pub(crate) state: &'m State,
    /// Its threads.
    pub(crate) threads: &'m Threads,
    /// Shared memory of the block, in words.
    pub(crate) shared: &'m [u32],
    /// Barriers of the block.
    pub(crate) barriers: &'m Barriers,
    /// What memory the instruction touched.
    pub(crate) log: &'m AccessLog,
}

impl Moment<'_> {
    /// The instruction, if it is of the flow families.
    pub(crate) fn flow(&self) -> Option<&Flow> {
        match &self.issued.op.action {
            Action::Flow(flow) => Some(flow),
            _ => None,
        }
    }
}

/// Someone who is shown each instruction once it has been executed.
pub(crate) trait Observer: Sync {
    /// A warp has executed an instruction.
    fn executed(&self, moment: &Moment<'_>);
}
