//! Limits of an evaluation, and who runs.

/// Limits of an evaluation, and which thread runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Instructions until [`FaultKind::Limit`](crate::FaultKind::Limit).
    pub steps: u64,
    /// Calls that may be open at once.
    pub depth: u32,
    /// `%tid`: the thread in its block.
    pub thread: [u32; 3],
    /// `%ntid`: threads of a block.
    pub threads: [u32; 3],
    /// `%ctaid`: the block in the grid.
    pub block: [u32; 3],
    /// `%nctaid`: blocks of the grid.
    pub blocks: [u32; 3],
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { steps: 1_000_000, depth: 100, thread: [0; 3], threads: [1; 3], block: [0; 3], blocks: [1; 3] }
    }
}
