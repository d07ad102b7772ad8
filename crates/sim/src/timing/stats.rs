//! What a multiprocessor counts while it replays warps.

use std::ops::AddAssign;

/// Declares the reasons with their names in reports, so that neither list can miss one.
macro_rules! stall_reasons {
    ($($(#[$doc:meta])* $reason:ident = $name:literal,)*) => {
        /// Why a warp does not issue in a cycle; the names are those of NVIDIA's profiler where it has the same.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum StallReason {
            $($(#[$doc])* $reason,)*
        }

        impl StallReason {
            /// All of them.
            pub const ALL: &[StallReason] = &[$(StallReason::$reason),*];

            /// Name in reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(StallReason::$reason => $name,)*
                }
            }
        }
    };
}

stall_reasons! {
    /// The instruction is not in the caches of the quarter.
    NoInstruction = "no_instruction",
    /// A constant operand is not in the first level for constants.
    ImcMiss = "imc_miss",
    /// The stall count of the instruction before.
    Wait = "wait",
    /// A scoreboard of global or local memory, or textures.
    LongScoreboard = "long_scoreboard",
    /// A scoreboard of shared memory, the transcendental unit, special registers and the like.
    ShortScoreboard = "short_scoreboard",
    /// A barrier of the block.
    Barrier = "barrier",
    /// The arithmetic unit is busy.
    MathPipeThrottle = "math_pipe_throttle",
    /// The queue of the memory pipeline is full, for shared memory, shuffles and constants.
    MioThrottle = "mio_throttle",
    /// The same for global and local memory.
    LgThrottle = "lg_throttle",
    /// The texture unit is busy.
    TexThrottle = "tex_throttle",
    /// A jump.
    Branch = "branch",
    /// Register banks: the instruction before reads too many registers of one bank.
    Dispatch = "dispatch_stall",
    /// Asynchronous matrix products.
    Gmma = "gmma",
    /// `NANOSLEEP`.
    Sleeping = "sleeping",
    /// Another warp was chosen.
    NotSelected = "not_selected",
}

/// Cycles by reason, in the order of [`StallReason::ALL`].
pub(crate) type Stalls = [u64; StallReason::ALL.len()];

/// Counts of one instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InstCounts {
    /// Times that a warp issued it.
    pub(crate) issued: u64,
    /// Cycles that warps waited before they issued it.
    pub(crate) stalls: Stalls,
    /// Executions that went to global or local memory.
    pub(crate) requests: u64,
    /// Their sectors.
    pub(crate) sectors: u64,
    /// Cycles of shared memory.
    pub(crate) wavefronts: u64,
    /// Those of them that bank conflicts added.
    pub(crate) conflicts: u64,
}

impl AddAssign<&InstCounts> for InstCounts {
    fn add_assign(&mut self, other: &InstCounts) {
        self.issued += other.issued;
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.wavefronts += other.wavefronts;
        self.conflicts += other.conflicts;
        for (sum, cycles) in self.stalls.iter_mut().zip(other.stalls) {
            *sum += cycles;
        }
    }
}

/// Counts of a multiprocessor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SmCounts {
    /// By instruction, as [`crate::timing::code::Code`] counts them.
    pub(crate) instructions: Vec<InstCounts>,
    /// Cycles with at least one warp.
    pub(crate) busy_cycles: u64,
    /// Cycles of all warps that were there.
    pub(crate) warp_cycles: u64,
    /// Cycles that instructions lost to register banks.
    pub(crate) bank_bubbles: u64,
    /// Sectors that loads asked of the first-level cache.
    pub(crate) l1_sectors: u64,
    /// Of those, sectors that it had.
    pub(crate) l1_hits: u64,
    /// The cycle in which its last block ended.
    pub(crate) end: u64,
    /// Warps that never came to the end of their traces.
    pub(crate) unfinished: u64,
}
