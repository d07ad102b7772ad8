//! Flow of control: what each instruction of the branch and synchronisation families does to the
//! threads of a warp.

use crate::barrier::Reduction;
use crate::exec::Unsupported;
use crate::operand::{Dst, PredSrc, Src};
use crate::program::Action;
use oriole_isa::Inst;

/// When a branch is taken, besides its guard.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Condition {
    /// In the lanes where the predicate is true.
    Lanes(PredSrc),
    /// By all lanes, if the guard lets any through (`BRA.U.ANY`).
    Any,
    /// By all lanes, if some threads of the mask are not with them (`BRA.DIV`).
    Divergent(Src),
    /// By all lanes, if all threads of the mask are with them (`BRA.CONV`).
    Convergent(Src),
}

/// A source of one mask per thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MaskSrc {
    /// All threads.
    All,
    /// An operand.
    Operand(Src),
}

/// An instruction of the flow families.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flow {
    /// Jump to a fixed address.
    Branch {
        /// Code address.
        target: u64,
        /// Which lanes go.
        condition: Condition,
    },
    /// Jump to `base` plus a register pair (`BRX`, `CALL`, `RET`).
    Jump {
        /// Added to the register.
        base: u64,
        /// A register pair.
        offset: Src,
    },
    /// The address of an instruction into a register pair (`LEPC`).
    Address {
        /// The pair.
        to: Dst,
        /// The address; `None`: of the next instruction.
        address: Option<u64>,
    },
    /// End of the thread.
    Exit,
    /// `BSSY`.
    SetConvergence(u8),
    /// `BSYNC`.
    Converge(u8),
    /// `BREAK`.
    Break(u8, PredSrc),
    /// `BMOV` of a convergence barrier to a register.
    ReadConvergence {
        /// The register.
        to: Dst,
        /// The barrier.
        barrier: u8,
        /// Forget it afterwards.
        clear: bool,
    },
    /// `BMOV` of a register to a convergence barrier.
    WriteConvergence(u8, Src),
    /// `BMOV` of the active threads to a convergence barrier.
    SaveActive(u8),
    /// `WARPSYNC`.
    WarpSync(MaskSrc),
    /// Let other threads of the warp run.
    Yield,
    /// `BAR`.
    Barrier {
        /// Its number.
        id: Src,
        /// Threads to wait for.
        count: Option<Src>,
        /// The threads wait (all but `BAR.ARV`).
        wait: bool,
        /// `BAR.RED`.
        reduction: Option<(Reduction, PredSrc)>,
    },
    /// `BPT.TRAP`.
    Trap,
}

/// The action of `inst` if it is of the flow families; `base` is the address of its section.
pub(crate) fn compile(inst: &Inst, base: u64) -> Result<Option<Action>, Unsupported> {
    let _ = (inst, base);
    Ok(None)
}
