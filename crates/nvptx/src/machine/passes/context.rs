//! What a pass works on, and what the caller wants.

use crate::machine::{Forms, Function};

/// What the caller wants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassOptions {
    /// 0 to 3: 0 runs only what emission needs.
    pub level: u8,
    /// Registers of 32 bits per thread that may be live at once, when there is a limit.
    pub max_reg: Option<u32>,
    /// Checks the function after each pass.
    pub verify: bool,
    /// Names of [`optional`](super::optional) passes that do not run.
    pub disabled: Vec<String>,
}

/// What a pass works on.
#[derive(Debug)]
pub struct Context<'a> {
    /// The function.
    pub function: &'a mut Function,
    /// The forms of its module.
    pub forms: &'a mut Forms,
    /// What the caller wants.
    pub options: &'a PassOptions,
}

impl Default for PassOptions {
    /// Level 2 without a limit; checks in debug builds.
    fn default() -> PassOptions {
        PassOptions { level: 2, max_reg: None, verify: cfg!(debug_assertions), disabled: Vec::new() }
    }
}
