//! An instruction, decoded and compiled, as the warp executes it.

use crate::effect::{Compute, Effect, Unsupported};
use crate::flow::Flow;
use crate::lanes::Mask;
use crate::state::{PT, State};
use crate::strict::Watch;
use oriole_isa::{Inst, Opcode};

/// Bytes of one instruction.
pub(crate) const INSTRUCTION: u64 = 16;

/// What an instruction does when its guard lets any lane through.
pub(crate) enum Action {
    /// Nothing that a program can observe.
    Nothing,
    /// Arithmetic on the warp's registers.
    Compute(Compute),
    /// Memory, other lanes' registers, the barrier's result.
    Effect(Effect),
    /// Flow of control, barriers, calls.
    Flow(Box<Flow>),
    /// Cannot be executed; reaching it is a fault.
    Impossible(Unsupported),
    /// Reads so many bytes past the end of a constant bank, from this offset on; reaching it is a fault.
    PastBank(u64, u32),
}

/// The guard of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Every lane executes.
    Always,
    /// Lanes where `P<number>` differs from `negated`.
    Predicate { number: u8, negated: bool },
    /// All lanes or none, by `UP<number>`.
    Uniform { number: u8, negated: bool },
}

/// One instruction, ready to run. What execution does not look at is apart, so that as much code as
/// possible fits into the host's cache.
pub(crate) struct Op {
    /// Its guard.
    pub(crate) guard: Guard,
    /// What it does.
    pub(crate) action: Action,
    /// The opcode; `None` where the word is no instruction.
    pub(crate) opcode: Option<Opcode>,
    /// The instruction; `None` where the word is none.
    pub(crate) inst: Option<Box<Inst>>,
    /// Registers that it reads and writes, for strict simulation.
    pub(crate) watch: Option<Box<Watch>>,
}

impl Guard {
    pub(crate) fn of(inst: &Inst) -> Guard {
        let (number, negated) = (inst.guard.predicate, inst.guard.negated);
        match inst.opcode.info().guard_uniform {
            _ if usize::from(number) == PT && !negated => Guard::Always,
            true => Guard::Uniform { number, negated },
            false => Guard::Predicate { number, negated },
        }
    }

    /// The lanes of `mask` that it lets through.
    #[inline(always)]
    pub(crate) fn active(self, state: &State, mask: Mask) -> Mask {
        match self {
            Guard::Always => mask,
            Guard::Predicate { number, negated } => {
                let value = state.p(usize::from(number));
                mask & if negated { !value } else { value }
            }
            Guard::Uniform { number, negated } => match state.up(usize::from(number)) != negated {
                true => mask,
                false => 0,
            },
        }
    }
}

/// An instruction that a warp issues.
#[derive(Clone, Copy)]
pub(crate) struct Issued<'p> {
    /// Its code address.
    pub(crate) pc: u64,
    /// What it is; its touches are there under `--strict` only.
    pub(crate) op: &'p Op,
    /// The threads of the group that issues it.
    pub(crate) group: Mask,
    /// Those that the guard lets through.
    pub(crate) active: Mask,
}
