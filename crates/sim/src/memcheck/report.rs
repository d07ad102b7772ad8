//! What the checks have found.

use oriole_device::SourceLine;
use std::fmt;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// Two threads access the same shared memory without synchronisation, one of them writing.
    Race,
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
}

impl FindingKind {
    /// A short name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::Race => "race",
            FindingKind::Uninitialised => "uninitialised",
            FindingKind::OutsideVariable => "outside-variable",
            FindingKind::OutsideFrame => "outside-frame",
            FindingKind::OutsideHeapBlock => "outside-heap-block",
            FindingKind::UseAfterFree => "use-after-free",
            FindingKind::Leak => "leak",
        }
    }

    /// Whether the program is wrong.
    pub fn is_error(self) -> bool {
        self != FindingKind::Leak
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
    /// What it does to the memory: read, write, atomic, copy.
    pub access: &'static str,
    /// The block.
    pub block: [u32; 3],
    /// The thread.
    pub thread: [u32; 3],
    /// The source line, where it is known.
    pub source: Option<SourceLine>,
}

/// One finding: the first of all with the same kind and the same instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub kind: FindingKind,
    /// The memory: address, and variable or allocation with offset.
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
        match &self.source {
            Some(source) => write!(f, "  ({}:{})", source.file, source.line),
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
        Ok(())
    }
}
