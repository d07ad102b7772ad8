//! What is asked of the clean-up.

/// What is asked of [`run`](super::run).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// `-O`: 0 only what selection needs, 1 simplification, 2 and 3 everything.
    pub level: u8,
    /// How many passes of [`PASSES`](super::PASSES) run, from the first: to find one that is wrong.
    pub passes: usize,
    /// Names of [`optional_passes`](super::optional_passes) that do not run.
    pub disabled: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options { level: 2, passes: usize::MAX, disabled: Vec::new() }
    }
}
