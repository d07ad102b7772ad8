//! Control flow and what is live, for stages that come one after the other.

use super::{Cfg, Liveness};
use crate::function::Function;

/// Control flow with liveness. Both stay true as long as no instruction leaves its block and none is added that names
/// registers which live across blocks.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The control-flow graph.
    pub cfg: Cfg,
    /// What is live at the start and the end of each block.
    pub live: Liveness,
}

impl Flow {
    /// Work both out.
    pub fn new(func: &Function) -> Self {
        let cfg = Cfg::new(func);
        Flow { live: Liveness::new(func, &cfg), cfg }
    }
}
