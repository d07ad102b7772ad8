//! Flow of control: what the instructions of the branch and synchronisation families do to the threads of a warp.

use crate::barrier::Reduction;
use crate::operand::{Dst, PredSrc, Src};

/// When a branch is taken, besides its guard.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Condition {
    /// In the lanes where the predicate is true.
    Lanes(PredSrc),
    /// By all lanes, if the guard lets any through (`BRA.U.ANY`).
    Any,
    /// By all lanes, if the guard and the predicate let all of them through (`BRA.U`): ptxas jumps so over
    /// a region with its own `BSSY`, `BRA` and `BSYNC` on the same predicate, which differs between lanes.
    All(PredSrc),
    /// By all lanes, those without guard too, if some threads of the mask are not among those that the guard lets through
    /// (`BRA.DIV`): ptxas asks so whether all lanes have one mask (`R2UR P1, URZ, R0`, `@!P1 BRA.DIV UR6`).
    Divergent(MaskSrc),
    /// By all lanes, if all threads of the mask are among those that the guard lets through (`BRA.CONV`).
    Convergent(MaskSrc),
}

/// A source of one mask per thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MaskSrc {
    /// All threads.
    All,
    /// An operand.
    Operand(Src),
}

/// Where `BAR` has the number of threads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Count {
    /// An operand; 0 means the whole block.
    Operand(Src),
    /// Bits 16 to 27 of the operand that has the barrier's number in its low bits.
    WithId,
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
    /// A jump to a fixed address where there is no code: a fault when a lane takes it.
    Nowhere {
        /// Code address.
        target: u64,
        /// Which lanes go.
        condition: Condition,
    },
    /// Jump to `base` plus a register pair (`CALL`, `RET`), in the lanes where the predicate is true.
    Jump {
        /// Added to the register.
        base: u64,
        /// A register pair.
        offset: Src,
        /// Which lanes go.
        condition: PredSrc,
    },
    /// Jump to the next instruction's address plus a register pair plus an immediate (`BRX`, `BRXU`).
    Relative {
        /// A register pair.
        offset: Src,
        /// The immediate.
        plus: Src,
        /// Which lanes go.
        condition: PredSrc,
    },
    /// The address of an instruction into a register pair (`LEPC`).
    Address {
        /// The pair.
        to: Dst,
        /// The address; `None`: of this instruction.
        address: Option<u64>,
    },
    /// End of the thread.
    Exit(PredSrc),
    /// `BSSY`.
    SetConvergence(u8),
    /// `BSYNC`.
    Converge(u8, PredSrc),
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
    /// `BMOV` of a register or a constant to a convergence barrier.
    WriteConvergence(u8, Src),
    /// `BMOV` of a convergence barrier to another one.
    MoveConvergence {
        /// The one that is written.
        to: u8,
        /// The one that is read.
        from: u8,
        /// Forget that one afterwards.
        clear: bool,
    },
    /// `BMOV` of the active threads to a convergence barrier.
    SaveActive(u8),
    /// `BMOV.PQUAD MACTIVE`: the other lanes of the quads execute too, until `BMOV MACTIVE`.
    WholeQuads,
    /// `BMOV MACTIVE`: the threads themselves go on.
    OwnThreads,
    /// `WARPSYNC`.
    WarpSync {
        /// The threads that each thread waits for.
        mask: MaskSrc,
        /// Threads of different masks do not go on together (`.EXCLUSIVE`).
        exclusive: bool,
    },
    /// `WARPSYNC.COLLECTIVE`: threads of one mask meet, wherever in the program each stands, and execute what follows
    /// together.
    Collective {
        /// The threads that each thread waits for.
        mask: MaskSrc,
        /// Where the thread goes on after `ENDCOLLECTIVE`.
        target: u64,
    },
    /// `ENDCOLLECTIVE`.
    EndCollective,
    /// Let other threads of the warp run.
    Yield,
    /// `BAR`.
    Barrier {
        /// Its number.
        id: Src,
        /// Threads to wait for.
        count: Count,
        /// The threads wait (all but `BAR.ARV`).
        wait: bool,
        /// `BAR.RED`.
        reduction: Option<(Reduction, PredSrc)>,
    },
    /// `UCGABAR_ARV`.
    ClusterArrive,
    /// `UCGABAR_WAIT`.
    ClusterWait,
    /// `BPT.TRAP`.
    Trap,
}
