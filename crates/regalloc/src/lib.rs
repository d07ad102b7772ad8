//! The fat-point register allocator.
//!
//! Per register file: an interference graph by 32-bit component (`interference`), an order
//! (`order`), and for each virtual register in that order a count of collisions over every
//! physical register (`fatpoint`). What finds no place is spilled and the file is coloured again.
//! Functions are allocated callees first, so that a call clobbers exactly what its callee uses.
//! Convergence barriers (`B`) are numbered by the phase that makes them, not here.

mod across;
mod arguments;
mod assign;
mod band;
mod belady;
mod calls;
mod checker;
mod code;
mod component_set;
mod constants;
mod convention;
mod counts;
mod descriptor;
mod fatpoint;
mod function;
mod graph;
mod heavy;
mod in_turn;
mod interference;
mod limits;
mod live_set;
mod meetings;
mod module;
mod node;
mod order;
mod pairing;
mod recompute;
mod relief;
mod repair;
mod retest;
mod scan;
mod shortage;
mod slots;
mod spill;
mod stack;
mod tail_calls;
mod transfer;
mod webs;
mod weights;

pub use checker::{CheckError, Problem, check};
pub use convention::{changed as changed_by_convention, kept as kept_by_convention};
pub use counts::RegisterCounts;
pub use function::{Allocation, allocate_function};
pub use limits::{MAXIMUM as MAXIMUM_REGISTERS, RegisterBudget, USUAL_LEVEL};
pub use module::{FunctionAllocation, ModuleAllocation, ModuleAllocator, allocate_module};
pub use recompute::{OWN_NEED, Recomputable, Recomputing, Wanted, recompute};
pub use retest::retest;
pub use shortage::{Shortage, Tightest};
pub use spill::SpillBytes;
pub use weights::{estimated_work, weighted, work_without_copies};

/// What the caller decides.
#[derive(Clone, Debug, Default)]
pub struct AllocOptions {
    /// `--maxrregcount`: upper bound of R registers per thread.
    pub maxrregcount: Option<u32>,
    /// `--device-function-maxrregcount`: the same for the functions of an object that are no kernels.
    pub device_maxrregcount: Option<u32>,
    /// `--register-usage-level`: 0 to 10, how readily registers are spent where they cost warps; [`USUAL_LEVEL`] if it
    /// is not given.
    pub usage_level: Option<u8>,
    /// Limits go down to the register model's minimum (16 before sm_90), not to ptxas's 24.
    pub published_minimum: bool,
    /// An object file is made: the code of others may be linked to it.
    pub object: bool,
    /// The code is to be debugged.
    pub debug: bool,
    /// Moves of the program stay where both sides got one register: a debugger stops on them.
    pub keeps_moves: bool,
    /// No more uniform registers than so many are given out, for tests; all that the target has if it is not given.
    pub uniform_registers: Option<u16>,
    /// The same of uniform predicates.
    pub uniform_predicates: Option<u16>,
    /// Nobody wants uniform registers: those that code needs all the same are told of.
    pub uniform_disallowed: bool,
    /// Check each allocation ([`check`]).
    pub verify: bool,
}

/// Allocation failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AllocError {
    /// More values live at once than the file has registers, and spilling cannot help.
    #[error("{0}")]
    OutOfRegisters(Box<Shortage>),
    /// A kernel gives registers back that it cannot have.
    #[error(
        "line {line}: (C7406) setmaxnreg.dec has register count ({count}) which is larger than the largest temporal \
         register count in the program ({largest})"
    )]
    Decrease {
        /// Line of the source.
        line: u32,
        /// How many it shall have then.
        count: u16,
        /// How many it has at most.
        largest: u16,
    },
    /// The checker found a wrong value: an internal fault.
    #[error(transparent)]
    Check(#[from] Box<CheckError>),
    /// A limit of the IR.
    #[error(transparent)]
    Limit(#[from] oriole_ori::BuildError),
}
