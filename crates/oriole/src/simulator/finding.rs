//! What checks of memory find.

use crate::compiled::Cubin;
use oriole_sim::Site;
use std::fmt;

/// One finding of the checks of memory: the first of all with the same kind and the same instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What is wrong, by a short name such as `race`, `uninitialised` or `outside-variable` (`docs/memcheck.md`).
    pub kind: &'static str,
    /// Whether the program is wrong; else it is a note.
    pub is_error: bool,
    /// The memory: address, and variable or allocation with offset.
    pub place: String,
    /// How often it happened: threads and executions.
    pub times: u64,
    /// The access at which it was found.
    pub access: MemoryAccess,
    /// The earlier access, where two belong to it.
    pub earlier: Option<MemoryAccess>,
    text: String,
}

/// An access that is part of a [`Finding`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryAccess {
    /// What it does to the memory: `read`, `write`, `atomic`, `copy`.
    pub access: &'static str,
    /// The function that the instruction is in.
    pub function: String,
    /// Coordinates of the block.
    pub block: [u32; 3],
    /// Coordinates of the thread.
    pub thread: [u32; 3],
    /// Byte offset of the instruction in its function.
    pub offset: u64,
    /// The instruction as text.
    pub instruction: String,
    /// File and line, as a [`Fault`](crate::Fault) has them.
    pub source: Option<(String, u32)>,
}

impl Finding {
    pub(super) fn new(mut found: oriole_sim::Finding, cubin: &Cubin) -> Finding {
        for site in found.earlier.iter_mut().chain([&mut found.later]).filter(|site| site.source.is_none()) {
            site.source = cubin.line(&site.function, site.pc);
        }
        Finding {
            kind: found.kind.name(),
            is_error: found.kind.is_error(),
            text: found.to_string(),
            place: found.place,
            times: found.times,
            access: MemoryAccess::new(found.later),
            earlier: found.earlier.map(MemoryAccess::new),
        }
    }
}

impl MemoryAccess {
    fn new(site: Site) -> MemoryAccess {
        MemoryAccess {
            access: site.access,
            function: site.function,
            block: site.block,
            thread: site.thread,
            offset: site.pc,
            instruction: site.instruction,
            source: site.source.map(|source| (source.file, source.line)),
        }
    }
}

impl fmt::Display for Finding {
    /// All of it, in several lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
