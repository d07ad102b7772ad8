//! What those who look at each instruction after its execution are shown.

use crate::access::AccessLog;
use crate::barrier::Barriers;
use crate::flow::Flow;
use crate::instruction::{Action, Issued};
use crate::lanes::{Mask, WARP};
use crate::state::State;
use crate::threads::{Threads, Wait};
use oriole_isa::{Inst, RegFile};

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

    /// No thread of a cluster can run; these wait.
    fn stuck(&self, _waiting: &[Waiting]) {}
}

/// Threads that wait where none can run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    /// Number of their block in the grid.
    pub(crate) block: u64,
    /// Their warp in the block.
    pub(crate) warp: usize,
    /// The threads.
    pub(crate) lanes: Mask,
    /// Code address of the instruction that they wait at.
    pub(crate) pc: u64,
    /// For what.
    pub(crate) wait: Wait,
    /// The living threads of the warp that they wait for, themselves included.
    pub(crate) members: Mask,
}

/// Someone outside who is shown each instruction of a kernel once it has been executed.
pub trait Spectator: Sync {
    /// A warp has executed an instruction; blocks come one after the other.
    fn executed(&self, step: &Step<'_>);
}

/// An instruction that a warp has executed, and what it left in registers.
pub struct Step<'m> {
    moment: &'m Moment<'m>,
    offset: u64,
}

impl Step<'_> {
    /// Its place in the code, in bytes from the kernel's first instruction; other functions may be behind the kernel.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What it is; nothing where the word is no instruction.
    pub fn inst(&self) -> Option<&Inst> {
        self.moment.issued.op.inst.as_deref()
    }

    /// Number of the block in the grid, x fastest.
    pub fn block(&self) -> u64 {
        self.moment.state.identity.block
    }

    /// Number of the warp in its block.
    pub fn warp(&self) -> u32 {
        self.moment.state.identity.warp
    }

    /// The lanes that executed it, lane 0 in the lowest bit.
    pub fn active(&self) -> u32 {
        self.moment.issued.active
    }

    /// What a register holds in a lane behind the instruction, a predicate as 0 or 1; `None` for files that threads do not compute in.
    pub fn value(&self, file: RegFile, number: u16, lane: usize) -> Option<u32> {
        if lane >= WARP {
            return None;
        }
        let (state, number) = (self.moment.state, usize::from(number));
        Some(match file {
            RegFile::R => state.lane(number, lane),
            RegFile::P => state.p(number) >> lane & 1,
            RegFile::UR => state.ur(number),
            RegFile::UP => state.up(number).into(),
            _ => return None,
        })
    }
}

/// A kernel that starts at a code address, watched.
pub(crate) struct Watched<'a> {
    pub(crate) spectator: &'a dyn Spectator,
    pub(crate) start: u64,
}

impl Observer for Watched<'_> {
    fn executed(&self, moment: &Moment<'_>) {
        if let Some(offset) = moment.issued.pc.checked_sub(self.start) {
            self.spectator.executed(&Step { moment, offset });
        }
    }
}
