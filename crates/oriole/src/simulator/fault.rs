//! Why a launch gave no result.

use crate::compiled::Cubin;
use oriole_device::FaultKind as Inner;
use oriole_sim::RunError;
use std::fmt;

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access outside of everything allocated.
    IllegalAddress,
    /// An address that is no multiple of the access size.
    MisalignedAddress,
    /// A trap or breakpoint.
    Trap,
    /// A device-side assertion.
    Assertion,
    /// No thread of a block can go on.
    Deadlock,
    /// A block executed more instructions than it may.
    InstructionLimit,
    /// The launch took longer than it may.
    TimeLimit,
    /// The kernel printed more than is kept.
    OutputLimit,
    /// The host has no room for what the blocks need, or they need more than
    /// [`SimulatorBuilder::memory`](crate::SimulatorBuilder::memory) allows.
    OutOfMemory,
    /// A [`CancelToken`](crate::CancelToken) ended it.
    Cancelled,
    /// A register used before its time, or one that the kernel does not declare (strict simulation).
    Hazard,
    /// A jump to where there is no code.
    BadJump,
    /// An instruction that is not simulated, or none at all.
    Unsupported,
    /// A barrier or other resource used against its rules.
    Misuse,
}

impl FaultKind {
    fn of(kind: &Inner) -> FaultKind {
        match kind {
            Inner::IllegalAddress { .. } => FaultKind::IllegalAddress,
            Inner::Misaligned { .. } => FaultKind::MisalignedAddress,
            Inner::Trap => FaultKind::Trap,
            Inner::Assertion(_) => FaultKind::Assertion,
            Inner::Deadlock(_) => FaultKind::Deadlock,
            Inner::InstructionLimit(_) => FaultKind::InstructionLimit,
            Inner::TimeLimit(_) => FaultKind::TimeLimit,
            Inner::Cancelled => FaultKind::Cancelled,
            Inner::OutputLimit(_) => FaultKind::OutputLimit,
            Inner::OutOfMemory(_) => FaultKind::OutOfMemory,
            Inner::Hazard(_) | Inner::UndeclaredRegister { .. } => FaultKind::Hazard,
            Inner::BadJump(_) => FaultKind::BadJump,
            Inner::Unsupported(_) => FaultKind::Unsupported,
            Inner::Misuse(_) => FaultKind::Misuse,
        }
    }
}

/// A kernel that stopped, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// What kind of fault it is.
    pub kind: FaultKind,
    /// What went wrong, with addresses, registers and the like.
    pub message: String,
    /// The kernel that was launched.
    pub kernel: String,
    /// The address that was accessed, in its own space, where the fault is one of an access.
    pub address: Option<u64>,
    /// Coordinates of the block.
    pub block: [u32; 3],
    /// Coordinates of the (first) thread concerned.
    pub thread: [u32; 3],
    /// Byte offset of the instruction in its function's section.
    pub offset: u64,
    /// The instruction as text; empty where none is to blame.
    pub instruction: String,
    /// File and line of the PTX that the instruction comes from, where Oriole compiled it from PTX; else those of the
    /// cubin's line table, if it has one.
    pub source: Option<(String, u32)>,
    /// What the kernel had printed so far.
    pub printed: Vec<u8>,
    text: String,
}

impl Fault {
    fn new(mut fault: oriole_device::Fault, cubin: &Cubin) -> Fault {
        let place = &mut fault.place;
        if place.source.is_none() && !place.instruction.is_empty() {
            place.source = cubin.line(place.function.as_ref().unwrap_or(&place.kernel), place.pc);
        }
        let text = fault.to_string();
        let oriole_device::Fault { kind, place, printed } = fault;
        Fault {
            kind: FaultKind::of(&kind),
            message: kind.to_string(),
            kernel: place.kernel,
            address: address(&kind),
            block: place.block,
            thread: place.thread,
            offset: place.pc,
            instruction: place.instruction,
            source: place.source.map(|source| (source.file, source.line)),
            printed,
            text,
        }
    }
}

/// The address that an access went to.
fn address(kind: &Inner) -> Option<u64> {
    match kind {
        Inner::IllegalAddress { address, .. } | Inner::Misaligned { address, .. } => Some(*address),
        _ => None,
    }
}

impl fmt::Display for Fault {
    /// All of it, in several lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Fault {}

/// Why a launch gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// There is no kernel of that name.
    #[error("no kernel '{name}'; the module has: {}", known.join(", "))]
    NoKernel {
        /// The name.
        name: String,
        /// The kernels that there are.
        known: Vec<String>,
    },
    /// There are too many or too few arguments.
    #[error("the kernel takes {expected} arguments, {given} were given")]
    ArgumentCount {
        /// Parameters of the kernel.
        expected: usize,
        /// Arguments.
        given: usize,
    },
    /// An argument is of another kind than its parameter.
    #[error("argument {index}: the kernel's parameter is .{expected}, given was {given}")]
    ArgumentType {
        /// Position from 0.
        index: usize,
        /// Type of the parameter as PTX spells it, such as `f32`.
        expected: String,
        /// What was given.
        given: String,
    },
    /// An argument is larger or smaller than its parameter.
    #[error("argument {index} has {given} bytes, the kernel's parameter {expected}")]
    ArgumentSize {
        /// Position from 0.
        index: usize,
        /// Bytes of the parameter.
        expected: usize,
        /// Bytes of the argument.
        given: usize,
    },
    /// [`KernelLaunch::again`](crate::KernelLaunch::again) names an argument that is no buffer, or no earlier one.
    #[error("argument {index}: argument {earlier} is no earlier buffer")]
    NoBuffer {
        /// Position from 0.
        index: usize,
        /// The position named.
        earlier: usize,
    },
    /// [`KernelLaunch::pointer`](crate::KernelLaunch::pointer) names a memory that there is not.
    #[error("argument {index} points into memory {memory}, which there is not")]
    NoMemory {
        /// Position of the argument, from 0.
        index: usize,
        /// The number that was named.
        memory: usize,
    },
    /// No device could run a launch of this shape, or not this kernel's.
    #[error("{0}")]
    Shape(
        /// Why.
        String,
    ),
    /// The kernel needs a texture, surface or sampler of this name; only the command line can bind them.
    #[error("nothing is bound to the texture, surface or sampler '{0}'")]
    Unbound(
        /// Name of the module's variable.
        String,
    ),
    /// The host has no room for the buffers, or they are more than
    /// [`SimulatorBuilder::memory`](crate::SimulatorBuilder::memory) allows.
    #[error("{0}")]
    OutOfMemory(
        /// What there is no room for.
        String,
    ),
    /// The kernel stopped.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

impl LaunchError {
    pub(super) fn new(error: RunError, cubin: &Cubin) -> LaunchError {
        match error {
            RunError::NoKernel { name, known } => LaunchError::NoKernel { name, known },
            RunError::Launch(error) => LaunchError::Shape(error.to_string()),
            RunError::Unbound(name) => LaunchError::Unbound(name),
            RunError::Memory(shortage) => LaunchError::OutOfMemory(shortage.to_string()),
            RunError::Fault(fault) => LaunchError::Fault(Box::new(Fault::new(*fault, cubin))),
        }
    }

    /// The fault, if the kernel began to run.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            LaunchError::Fault(fault) => Some(fault),
            _ => None,
        }
    }
}
