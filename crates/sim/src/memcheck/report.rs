//! What the checks have found.

use oriole_device::SourceLine;
use std::fmt;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// Two threads access the same memory without synchronisation, one of them writing.
    Race,
    /// Two launches do that which may run at the same time.
    LaunchRace,
    /// Bytes are read that nobody has written.
    Uninitialised,
    /// Shared memory outside of the variables there.
    OutsideVariable,
    /// Local memory below the stack pointer, or above the stack.
    OutsideFrame,
    /// Memory of the device heap that has not been given out.
    OutsideHeapBlock,
    /// Memory of the device heap that has been given back.
    UseAfterFree,
    /// Memory of the device heap that was never given back; no error, since another kernel may do it.
    Leak,
    /// Threads of one warp come to a barrier of the block at different instructions.
    DivergentBarrier,
    /// The same where the code does not tell whether the barrier may be used so: from sm_90 on `barrier.sync` without `.aligned`
    /// and `bar.sync` are one instruction.
    PartedBarrier,
    /// A barrier has a number of threads that it cannot have.
    BarrierCount,
    /// A thread is not in its own mask.
    WrongMask,
    /// A shuffle reads the value of a lane that does not execute it.
    AbsentLane,
    /// A mask names threads that wait elsewhere.
    WaitsElsewhere,
    /// An asynchronous copy reads what was written without a fence between the proxies.
    MissingFence,
}

/// Short name and what mends it.
const NAMES: [(FindingKind, &str, &str); 15] = [
    (FindingKind::Race, "race", "a barrier, or a fence and an atomic, between the two accesses"),
    (
        FindingKind::LaunchRace,
        "launch-race",
        "one stream, an event or the host between the launches, or griddepcontrol.wait before the later access",
    ),
    (FindingKind::Uninitialised, "uninitialised", "a write before the read"),
    (FindingKind::OutsideVariable, "outside-variable", "an index below the variable's size"),
    (FindingKind::OutsideFrame, "outside-frame", "an index below the array's size"),
    (FindingKind::OutsideHeapBlock, "outside-heap-block", "an index below the size that malloc was asked for"),
    (FindingKind::UseAfterFree, "use-after-free", "free behind the last access"),
    (FindingKind::Leak, "leak", "free"),
    (
        FindingKind::DivergentBarrier,
        "divergent-barrier",
        "one barrier where the paths join, or barrier.sync without .aligned",
    ),
    (FindingKind::PartedBarrier, "parted-barrier", "one barrier where the paths join, if this is bar.sync"),
    (FindingKind::BarrierCount, "barrier-count", "a multiple of 32 that is no more than the block's threads"),
    (FindingKind::WrongMask, "wrong-mask", "a mask that names the thread itself"),
    (
        FindingKind::AbsentLane,
        "absent-lane",
        "a source lane that executes the shuffle: exit behind it, or a smaller mask and segment",
    ),
    (FindingKind::WaitsElsewhere, "waits-elsewhere", "a mask of the threads that come to the instruction"),
    (FindingKind::MissingFence, "missing-fence", "fence.proxy.async between the write and the copy"),
];

impl FindingKind {
    /// A short name, for machines.
    pub fn name(self) -> &'static str {
        self.row().map_or("", |row| row.1)
    }

    /// What mends it.
    pub fn remedy(self) -> &'static str {
        self.row().map_or("", |row| row.2)
    }

    fn row(self) -> Option<&'static (FindingKind, &'static str, &'static str)> {
        NAMES.iter().find(|row| row.0 == self)
    }

    /// Whether the program is wrong.
    pub fn is_error(self) -> bool {
        !matches!(self, FindingKind::Leak | FindingKind::PartedBarrier)
    }
}

/// An access that is part of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Byte offset of the instruction in its function.
    pub pc: u64,
    /// The function.
    pub function: String,
    /// The instruction.
    pub instruction: String,
    /// What it does: read, write, atomic, copy; wait, arrive, exit and others of threads that synchronise.
    pub access: &'static str,
    /// The block.
    pub block: [u32; 3],
    /// The thread.
    pub thread: [u32; 3],
    /// The launch, if it is not the one that is checked: its number, kernel and stream.
    pub launch: Option<String>,
    /// The source line, where it is known.
    pub source: Option<SourceLine>,
}

/// One finding: the first of all with the same kind and the same instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub kind: FindingKind,
    /// The memory: address, and variable or allocation with offset; else what is wrong.
    pub place: String,
    /// The earlier access, where two belong to it.
    pub earlier: Option<Site>,
    /// The access at which it was found.
    pub later: Site,
    /// How often it happened: lanes and executions.
    pub times: u64,
}

/// All findings of a launch, by kind and instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// The findings.
    pub findings: Vec<Finding>,
}

impl CheckReport {
    /// How many findings are errors.
    pub fn errors(&self) -> usize {
        self.findings.iter().filter(|finding| finding.kind.is_error()).count()
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([x, y, z], [i, j, k]) = (self.block, self.thread);
        let Site { access, function, pc, instruction, .. } = self;
        write!(f, "{access} by thread ({i},{j},{k}) of block ({x},{y},{z}) at {function}+{pc:#x}: {instruction}")?;
        if let Some(source) = &self.source {
            write!(f, "  ({}:{})", source.file, source.line)?;
        }
        match &self.launch {
            Some(launch) => write!(f, "  ({launch})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.kind.name(), self.place)?;
        writeln!(f, "    {}", self.later)?;
        if let Some(earlier) = &self.earlier {
            writeln!(f, "    and earlier {earlier}")?;
        }
        if self.times > 1 {
            writeln!(f, "    {} times", self.times)?;
        }
        writeln!(f, "    mended by: {}", self.kind.remedy())
    }
}
