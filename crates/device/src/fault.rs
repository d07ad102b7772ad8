//! How a kernel stops that cannot go on.

use crate::quota::OutOfMemory;
use std::fmt;
use std::time::Duration;

/// A memory space, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Global memory.
    Global,
    /// Shared memory of the block.
    Shared,
    /// Local memory of the thread.
    Local,
    /// A constant bank.
    Constant,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Constant => "constant",
        })
    }
}

/// What was done to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic operation or reduction.
    Atomic,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Atomic => "atomic access",
        })
    }
}

/// The allocation nearest to a bad address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// Name given when it was made, such as `argument 2`.
    pub name: String,
    /// First address.
    pub base: u64,
    /// Bytes.
    pub size: u64,
}

/// A line of the source that an instruction comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// File name.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
}

/// A register used before its time (`--strict`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// `read after write`, `write after read` or `write after write`.
    pub kind: &'static str,
    /// The register, as printed.
    pub register: String,
    /// The earlier instruction, with its address.
    pub earlier: String,
    /// Cycles missing between the two; 0 where a scoreboard was not waited for.
    pub missing_cycles: u32,
    /// What would have made it right.
    pub remedy: String,
}

/// Threads that wait for something that will not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingThreads {
    /// What they wait for, such as `barrier 0 (BAR.SYNC)`.
    pub at: String,
    /// Linear numbers of the threads in their block.
    pub threads: Vec<u32>,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An access outside of everything allocated.
    IllegalAddress {
        /// Space of the access.
        space: Space,
        /// Read, write or atomic.
        access: Access,
        /// The address, in its space.
        address: u64,
        /// Bytes accessed.
        size: u32,
        /// The allocation nearest to it.
        nearest: Option<Nearest>,
    },
    /// An address that is no multiple of the access size.
    Misaligned {
        /// Space of the access.
        space: Space,
        /// Read, write or atomic.
        access: Access,
        /// The address, in its space.
        address: u64,
        /// Bytes accessed.
        size: u32,
    },
    /// A trap or breakpoint instruction.
    Trap,
    /// A device-side assertion.
    Assertion(
        /// Its text.
        String,
    ),
    /// No thread of the block can go on.
    Deadlock(
        /// Who waits where.
        Vec<WaitingThreads>,
    ),
    /// The instruction limit was reached.
    InstructionLimit(
        /// The limit, in warp instructions of one block.
        u64,
    ),
    /// The launch took longer than it was given.
    TimeLimit(
        /// The limit.
        Duration,
    ),
    /// The caller ended the launch.
    Cancelled,
    /// More text was printed than is kept.
    OutputLimit(
        /// The limit, in bytes of one launch.
        usize,
    ),
    /// The host has no room for what the kernel's blocks need.
    OutOfMemory(OutOfMemory),
    /// A hazard found by strict simulation.
    Hazard(Hazard),
    /// A register beyond those that the kernel declares (`--strict`).
    UndeclaredRegister {
        /// The register, as printed.
        register: String,
        /// Registers declared.
        declared: u32,
    },
    /// A jump to an address without code.
    BadJump(
        /// The address.
        u64,
    ),
    /// An instruction that is not simulated, or no instruction at all.
    Unsupported(
        /// Why.
        String,
    ),
    /// A barrier or other resource used against its rules.
    Misuse(
        /// The rule that was broken.
        String,
    ),
}

impl From<OutOfMemory> for FaultKind {
    fn from(shortage: OutOfMemory) -> FaultKind {
        FaultKind::OutOfMemory(shortage)
    }
}

impl FaultKind {
    /// Names of all kinds.
    pub const NAMES: [&'static str; 14] = [
        "illegal-address",
        "misaligned-address",
        "trap",
        "assertion",
        "deadlock",
        "instruction-limit",
        "time-limit",
        "output-limit",
        "out-of-memory",
        "cancelled",
        "hazard",
        "bad-jump",
        "unsupported",
        "misuse",
    ];

    /// The kind's name, one of [`NAMES`](Self::NAMES).
    pub fn name(&self) -> &'static str {
        match self {
            FaultKind::IllegalAddress { .. } => "illegal-address",
            FaultKind::Misaligned { .. } => "misaligned-address",
            FaultKind::Trap => "trap",
            FaultKind::Assertion(_) => "assertion",
            FaultKind::Deadlock(_) => "deadlock",
            FaultKind::InstructionLimit(_) => "instruction-limit",
            FaultKind::TimeLimit(_) => "time-limit",
            FaultKind::OutputLimit(_) => "output-limit",
            FaultKind::OutOfMemory(_) => "out-of-memory",
            FaultKind::Cancelled => "cancelled",
            FaultKind::Hazard(_) | FaultKind::UndeclaredRegister { .. } => "hazard",
            FaultKind::BadJump(_) => "bad-jump",
            FaultKind::Unsupported(_) => "unsupported",
            FaultKind::Misuse(_) => "misuse",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::IllegalAddress { space, access, address, size, nearest } => {
                write!(f, "illegal address: {space} {access} of {size} bytes at {address:#x}")?;
                nearest.as_ref().map_or(Ok(()), |nearest| write_nearest(f, nearest, *address))
            }
            FaultKind::Misaligned { space, access, address, size } => {
                write!(f, "misaligned address: {space} {access} of {size} bytes at {address:#x}")
            }
            FaultKind::Trap => f.write_str("trap"),
            FaultKind::Assertion(text) => write!(f, "assertion failed: {text}"),
            FaultKind::Deadlock(waiting) => write_deadlock(f, waiting),
            FaultKind::InstructionLimit(limit) => {
                write!(f, "instruction limit: a block executed {limit} warp instructions without coming to its end")
            }
            FaultKind::TimeLimit(limit) => {
                write!(f, "time limit: the launch takes longer than {} seconds", limit.as_secs_f64())
            }
            FaultKind::Cancelled => f.write_str("cancelled"),
            FaultKind::OutputLimit(limit) => {
                write!(f, "output limit: the kernel prints more than {limit} bytes")
            }
            FaultKind::OutOfMemory(shortage) => write!(f, "{shortage}"),
            FaultKind::Hazard(hazard) => {
                write!(f, "hazard: {} of {}, ", hazard.kind, hazard.register)?;
                if hazard.missing_cycles > 0 {
                    write!(f, "{} cycles too early ", hazard.missing_cycles)?;
                }
                write!(f, "after {}: {}", hazard.earlier, hazard.remedy)
            }
            FaultKind::UndeclaredRegister { register, declared } => {
                write!(
                    f,
                    "register {register} used, but the kernel declares {declared} registers, and the last two are the hardware's"
                )
            }
            FaultKind::BadJump(address) => write!(f, "jump to {address:#x}, where there is no code"),
            FaultKind::Unsupported(reason) => write!(f, "cannot execute: {reason}"),
            FaultKind::Misuse(rule) => f.write_str(rule),
        }
    }
}

fn write_nearest(f: &mut fmt::Formatter<'_>, nearest: &Nearest, address: u64) -> fmt::Result {
    let Nearest { name, base, size } = nearest;
    if address < *base {
        write!(f, ", {} bytes before {name} ({size} bytes at {base:#x})", base - address)
    } else if address >= base + size {
        write!(f, ", {} bytes past the end of {name} ({size} bytes at {base:#x})", address - (base + size))
    } else {
        write!(f, ", across the end of {name} ({size} bytes at {base:#x})")
    }
}

fn write_deadlock(f: &mut fmt::Formatter<'_>, waiting: &[WaitingThreads]) -> fmt::Result {
    f.write_str("deadlock: no thread of the block can go on")?;
    for group in waiting {
        write!(f, "\n  at {}: threads {}", group.at, ranges(&group.threads))?;
    }
    Ok(())
}

/// `0-31, 40`: sorted numbers with runs drawn together.
fn ranges(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, end)) if *end + 1 == number => *end = number,
            _ => parts.push((number, number)),
        }
    }
    let text = |&(from, to): &(u32, u32)| if from == to { from.to_string() } else { format!("{from}-{to}") };
    parts.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Where it went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Kernel that was launched.
    pub kernel: String,
    /// Block coordinates.
    pub block: [u32; 3],
    /// Coordinates of the (first) thread concerned.
    pub thread: [u32; 3],
    /// Byte offset of the instruction in its function's section.
    pub pc: u64,
    /// The function that the instruction is in, where that is not the kernel.
    pub function: Option<String>,
    /// The instruction as text.
    pub instruction: String,
    /// Its source line, where the file has line information.
    pub source: Option<SourceLine>,
}

/// A kernel that stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    /// What went wrong.
    pub kind: FaultKind,
    /// Where.
    pub place: Place,
    /// What the kernel had printed so far.
    pub printed: Vec<u8>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { kernel, block: [bx, by, bz], thread: [tx, ty, tz], .. } = &self.place;
        writeln!(f, "{}", self.kind)?;
        write!(f, "  in kernel {kernel}, block ({bx},{by},{bz}), thread ({tx},{ty},{tz})")?;
        if self.place.instruction.is_empty() {
            return Ok(());
        }
        write!(f, "\n  at {:#06x}", self.place.pc)?;
        if let Some(function) = &self.place.function {
            write!(f, " of {function}")?;
        }
        write!(f, ": {}", self.place.instruction)?;
        match &self.place.source {
            Some(SourceLine { file, line }) => write!(f, "\n  from {file}:{line}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_everything() {
        let fault = Fault {
            kind: FaultKind::IllegalAddress {
                space: Space::Global,
                access: Access::Read,
                address: 0x1010,
                size: 4,
                nearest: Some(Nearest { name: "argument 0".into(), base: 0x1000, size: 16 }),
            },
            place: Place {
                kernel: "k".into(),
                block: [1, 0, 0],
                thread: [5, 0, 0],
                pc: 0x90,
                instruction: "LDG.E R0, [R2.64]".into(),
                source: Some(SourceLine { file: "k.cu".into(), line: 7 }),
                function: None,
            },
            printed: Vec::new(),
        };
        assert_eq!(
            fault.to_string(),
            "illegal address: global read of 4 bytes at 0x1010, 0 bytes past the end of argument 0 (16 bytes at 0x1000)\n  \
             in kernel k, block (1,0,0), thread (5,0,0)\n  at 0x0090: LDG.E R0, [R2.64]\n  from k.cu:7"
        );
    }

    #[test]
    fn kinds_have_the_names_that_are_listed() {
        let (space, access) = (Space::Global, Access::Read);
        let kinds = [
            FaultKind::IllegalAddress { space, access, address: 0, size: 1, nearest: None },
            FaultKind::Misaligned { space, access, address: 1, size: 2 },
            FaultKind::Trap,
            FaultKind::Assertion(String::new()),
            FaultKind::Deadlock(Vec::new()),
            FaultKind::InstructionLimit(1),
            FaultKind::TimeLimit(Duration::ZERO),
            FaultKind::OutputLimit(1),
            FaultKind::OutOfMemory(OutOfMemory::Limit(1)),
            FaultKind::Cancelled,
            FaultKind::UndeclaredRegister { register: String::new(), declared: 0 },
            FaultKind::BadJump(0),
            FaultKind::Unsupported(String::new()),
            FaultKind::Misuse(String::new()),
        ];
        assert_eq!(kinds.map(|kind| kind.name()), FaultKind::NAMES);
    }

    #[test]
    fn waiting_threads_are_drawn_together() {
        let waiting = WaitingThreads { at: "barrier 0".into(), threads: vec![0, 1, 2, 9, 30, 31] };
        let text = FaultKind::Deadlock(vec![waiting]).to_string();
        assert!(text.ends_with("at barrier 0: threads 0-2, 9, 30-31"), "{text}");
    }
}
