//! What the checker reports.

use oriole_isa::latency::Row;
use std::fmt;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A register is read before it is written.
    ReadAfterWrite,
    /// A register is written before an earlier write is done.
    WriteAfterWrite,
    /// A register is overwritten before it is read.
    WriteAfterRead,
    /// A register is still busy where control leaves to code that does not know of it.
    Unfinished,
    /// A slow unit gets an instruction before it takes one.
    Pace,
    /// A scoreboard is waited for before it has been set.
    EarlyWait,
    /// A register number beyond those that the kernel has.
    Undeclared,
    /// Uses of one barrier that do not fit each other.
    Barrier,
    /// A control word that its instruction must not have.
    ControlWord,
    /// Convergence barriers: a wait for one that is not set, one that is set twice or changed by a call.
    Convergence,
    /// A word that is no instruction.
    Unknown,
    /// A jump or call to where no instruction begins.
    Nowhere,
    /// What a driver would not load.
    Refused,
}

impl Kind {
    /// The word that begins a line of the report.
    pub fn name(self) -> &'static str {
        match self {
            Kind::ReadAfterWrite => "read after write",
            Kind::WriteAfterWrite => "write after write",
            Kind::WriteAfterRead => "write after read",
            Kind::Unfinished => "unfinished at a call",
            Kind::Pace => "slow unit",
            Kind::EarlyWait => "early wait",
            Kind::Undeclared => "undeclared register",
            Kind::Barrier => "barrier",
            Kind::ControlWord => "control word",
            Kind::Convergence => "convergence barrier",
            Kind::Unknown => "unknown instruction",
            Kind::Nowhere => "jump to nowhere",
            Kind::Refused => "refused by a driver",
        }
    }
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The function that it is in.
    pub function: String,
    /// Byte offset in its section.
    pub address: u64,
    /// Its text.
    pub text: String,
}

/// What is missing between two instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Cycles: at least `passed` have passed on every path, and on one no more; `needed` are needed.
    Cycles {
        /// Cycles from issue to issue, on the shortest path.
        passed: u8,
        /// Cycles that the latency tables ask for.
        needed: u8,
        /// Their row; `None` where the number stands in no table.
        row: Option<Row>,
    },
    /// A wait for one of these scoreboards, a bit each (6: `gsb0`); 0: the earlier instruction sets none.
    Wait {
        /// Scoreboards.
        scoreboards: u8,
    },
    /// What this says.
    Other(String),
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind of thing.
    pub kind: Kind,
    /// The earlier instruction, where there are two.
    pub earlier: Option<Place>,
    /// The instruction that comes too early, or is wrong.
    pub later: Place,
    /// Registers concerned, as printed, in order.
    pub registers: Vec<String>,
    /// What is missing.
    pub missing: Missing,
    /// Addresses of the blocks from the earlier instruction to the later one, on a path where it is missing.
    pub path: Vec<u64>,
}

impl Missing {
    /// How much, to compare: a wait is more than any number of cycles.
    pub(crate) fn lack(&self) -> u8 {
        match self {
            Missing::Cycles { passed, needed, .. } => needed.saturating_sub(*passed),
            Missing::Wait { .. } | Missing::Other(_) => u8::MAX,
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::Cycles { passed, needed, .. } => {
                let missing = needed.saturating_sub(*passed);
                write!(f, "{missing} cycle{} missing: {passed} of {needed}", if missing == 1 { "" } else { "s" })
            }
            Missing::Wait { scoreboards: 0 } => f.write_str("the earlier instruction sets no scoreboard to wait for"),
            Missing::Wait { scoreboards } => {
                let name = |at: u8| if at == 6 { "gsb0".to_owned() } else { format!("SB{at}") };
                let names: Vec<String> = (0..7).filter(|at| scoreboards >> at & 1 != 0).map(name).collect();
                write!(f, "no wait for {}", names.join(" or "))
            }
            Missing::Other(text) => f.write_str(text),
        }
    }
}

/// Registers as they are listed: the first, and how many more.
fn registers(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => format!(" {one}"),
        [first, rest @ ..] => format!(" {first} (and {} more)", rest.len()),
    }
}

/// One line that says what and where, then the instructions and the path.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { function, address, text } = &self.later;
        write!(f, "{function}+{address:#06x}: {}{}: {}", self.kind.name(), registers(&self.registers), self.missing)?;
        if let Some(earlier) = &self.earlier {
            write!(f, "\n    {:#06x}  {}", earlier.address, earlier.text)?;
        }
        if !text.is_empty() {
            write!(f, "\n    {address:#06x}  {text}")?;
        }
        if self.path.len() > 1 {
            let blocks: Vec<String> = self.path.iter().map(|block| format!("{block:#x}")).collect();
            write!(f, "\n    by the blocks at {}", blocks.join(", "))?;
        }
        Ok(())
    }
}
