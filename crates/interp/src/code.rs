//! Compiled code: what the statements of a function become.

use crate::arith::{Arithmetic, Bits, Sources};
use crate::barrier::BarrierOp;
use crate::collective::Collective;
use crate::env::{Env, Halt};
use crate::lane::Lane;
use crate::lanes::lanes_of;
use crate::operand::{Destination, Source};
use crate::pc::Pc;
use crate::runtime::System;
use crate::state::State;
use oriole_ptx::ast::{self, Instruction};
use smallvec::SmallVec;

/// A function made ready to run.
pub(crate) struct Function<'m> {
    /// Its name.
    pub(crate) name: &'m str,
    /// Its declaration.
    pub(crate) declaration: &'m ast::Function,
    /// Its operations; the last is a return.
    pub(crate) ops: Vec<Op<'m>>,
    /// Register slots of a frame.
    pub(crate) slots: u32,
    /// Bytes of a frame in local memory: `.local` variables and `.param` places.
    pub(crate) frame: u32,
    /// Of a kernel: where dynamic shared memory begins, behind the `.shared` variables that it reaches.
    pub(crate) shared: u32,
    /// Where arguments go.
    pub(crate) params: Vec<Parameter>,
    /// Where results come from.
    pub(crate) rets: Vec<Parameter>,
}

/// Where a parameter of a function lives.
#[derive(Clone, Debug)]
pub(crate) enum Parameter {
    /// In a register, or in the elements of a vector register.
    Register(SmallVec<[Element; 1]>),
    /// In the frame.
    Frame {
        /// Place in the frame.
        offset: u32,
        /// Size in bytes; 0 for an unsized array.
        size: u32,
    },
}

/// A register that is a parameter, or an element of one.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    /// To read it.
    pub(crate) source: Source,
    /// To write it.
    pub(crate) destination: Destination,
}

/// One operation.
pub(crate) struct Op<'m> {
    /// The instruction it comes from; `None` for the return at the end of a body.
    pub(crate) inst: Option<&'m Instruction>,
    /// The guard: slot of the predicate, and the value that lets a thread through.
    pub(crate) guard: Option<(u32, bool)>,
    /// What it does.
    pub(crate) action: Action,
    /// How much it takes from the patience of those who wait: more for what a spinning thread does.
    pub(crate) cost: u32,
}

/// What one thread does by itself.
pub(crate) type LaneAction = Box<dyn Fn(&mut Lane<'_, '_>) -> Result<(), oriole_device::FaultKind> + Send + Sync>;

/// What the threads of a warp that are there do together; the mask holds those that take part.
pub(crate) type WarpAction = Box<dyn Fn(&mut State, &mut Env<'_>, u32) -> Result<(), Halt> + Send + Sync>;

/// What an operation does.
pub(crate) enum Action {
    /// Nothing that can be seen.
    Nothing,
    /// One register to another.
    Copy(Source, Destination),
    /// A function of the sources.
    Arithmetic(Box<ArithmeticOp>),
    /// Each thread by itself, the lowest first.
    Lanes(LaneAction),
    /// All threads that execute it together.
    Warp(WarpAction),
    /// The threads named by a member mask, wherever each executes it.
    Collective(Box<Collective>),
    /// A barrier of the block.
    Barrier(Box<BarrierOp>),
    /// `barrier.cluster.arrive`.
    ClusterArrive,
    /// `barrier.cluster.wait`.
    ClusterWait,
    /// A branch.
    Branch {
        /// Where to.
        target: Pc,
        /// Where threads that part here meet again.
        meet: Pc,
    },
    /// `brx.idx`.
    BranchTable {
        /// Which target.
        index: Source,
        /// The targets.
        targets: Vec<Pc>,
        /// Where the threads meet again.
        meet: Pc,
    },
    /// `call`.
    Call(Box<Call>),
    /// `ret`.
    Return,
    /// `exit`.
    Exit,
    /// `trap`, `brkpt`.
    Trap,
    /// Lets other threads of the warp have a turn.
    Yield,
    /// Cannot be interpreted, and why.
    Unsupported(String),
}

/// Arithmetic with its operands.
pub(crate) struct ArithmeticOp {
    /// What is computed.
    pub(crate) arithmetic: Arithmetic,
    /// Where the sources come from.
    pub(crate) sources: SmallVec<[Source; 4]>,
    /// Where the results go.
    pub(crate) destinations: SmallVec<[Destination; 2]>,
}

impl ArithmeticOp {
    /// Computes the results of the threads of `mask`.
    #[inline]
    pub(crate) fn run(&self, state: &mut State, mask: u32) {
        let mut values: SmallVec<[Bits; 8]> = SmallVec::from_elem(0, self.sources.len());
        for lane in lanes_of(mask) {
            for (value, source) in values.iter_mut().zip(&self.sources) {
                *value = state.get(source, lane);
            }
            let carry = state.carry >> lane & 1 != 0;
            let results = (self.arithmetic.run)(&Sources { values: &values, carry });
            for (destination, &value) in self.destinations.iter().zip(&results.values) {
                state.set(destination, lane, value);
            }
            if let Some(carry) = results.carry {
                state.carry = state.carry & !(1 << lane) | u32::from(carry) << lane;
            }
        }
    }
}

/// A call.
pub(crate) struct Call {
    /// What is called.
    pub(crate) callee: Callee,
    /// The arguments.
    pub(crate) args: Vec<Argument>,
    /// Where the results go.
    pub(crate) rets: Vec<Outcome>,
}

/// What a call calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Callee {
    /// A function of the module, by number.
    Function(u32),
    /// A function of the system.
    System(System),
    /// A function by its address.
    Address(Source),
}

/// One argument of a call.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// A register or constant, or the elements of a vector register, and the bytes of each.
    Value(SmallVec<[Source; 4]>, u32),
    /// Bytes of the caller's frame.
    Frame {
        /// Place in the frame.
        offset: u32,
        /// Size in bytes.
        size: u32,
    },
}

/// Where one result of a call goes.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// To a register, or to the elements of a vector register; with the bytes of each.
    Register(SmallVec<[Destination; 4]>, u32),
    /// Into the caller's frame.
    Frame {
        /// Place in the frame.
        offset: u32,
        /// Size in bytes.
        size: u32,
    },
}
